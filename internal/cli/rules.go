package cli

import (
	"fmt"
	"text/tabwriter"

	"handrail/guard"
	"handrail/guard/plugin"
	"handrail/guard/text"
	"handrail/internal/config"
)

var rulesCommand = subcommand{
	name:  "rules",
	usage: "[ID]",
	short: "list the rules and guards, or print what one is for",
	run:   showRules,
}

func showRules(s streams, args []string) (int, error) {
	rest, err := newFlags("rules").operands(args, 0, 1)
	if err != nil {
		return 0, err
	}
	c, err := config.Load("", nil)
	if err != nil {
		return 0, err
	}
	j, err := c.Judge(nil)
	if err != nil {
		return 0, err
	}
	_ = c.UseDir(".") // where there is no workspace, there are no guards of one
	guards, faults := j.Guards.Guards(c.Roots)
	for _, err := range faultsOf(faults) {
		fmt.Fprintf(s.stderr, "broken: %v\n", err)
	}
	all := append(append([]guard.Rule{}, j.Rules...), j.Defaults...)
	if len(rest) == 1 {
		var ids []string
		for i, r := range all {
			if r.ID == rest[0] {
				fmt.Fprintf(s.stdout, "%s  (%s)\n\n%s\n", r.ID, standing(r, i >= len(j.Rules)), wrap(r.Doc, 80))
				return 0, nil
			}
			ids = append(ids, r.ID)
		}
		for _, g := range guards {
			if g.ID == rest[0] {
				fmt.Fprintf(s.stdout, "%s  (%s)\n%s\n\n%s\n", g.ID, ownerOf(g), text.Visible(g.File), wrap(text.Visible(g.Doc()), 80))
				return 0, nil
			}
			ids = append(ids, g.ID)
		}
		return 0, unknown("rule", rest[0], ids)
	}
	tw := tabwriter.NewWriter(s.stdout, 0, 0, 2, ' ', 0)
	for i, r := range all {
		fmt.Fprintf(tw, "%s\t%s\t%s\n", r.ID, standing(r, i >= len(j.Rules)), sentence(r.Doc))
	}
	for _, g := range guards {
		fmt.Fprintf(tw, "%s\t%s\t%s\n", g.ID, ownerOf(g), text.Visible(g.File)+": "+sentence(text.Visible(g.Doc())))
	}
	return 0, tw.Flush()
}

// ownerOf says whose guard it is, and what it may do.
func ownerOf(g *plugin.Guard) string {
	switch {
	case g.Off:
		return "off"
	case !g.Project:
		return "yours"
	case g.Trusted:
		return "project, trusted"
	}
	return "project, only tightens"
}

func standing(r guard.Rule, byDefault bool) string {
	switch {
	case r.Fixed:
		return "fixed"
	case byDefault:
		return "default policy"
	}
	return "built-in"
}
