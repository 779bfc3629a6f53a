package cli

import (
	"fmt"
	"text/tabwriter"

	"handrail/internal/config"
)

var skillsCommand = subcommand{
	name:  "skills",
	usage: "[--root DIR]... [NAME]",
	short: "list the guard skills, or print one",
	doc: `Guard skills are what the Guard Agent's model is taught, by language or when it
asks. Yours go into guard-skills/NAME.md under ~/.agents, ~/.claude or ~/.handrail;
later ones replace earlier ones of the same name. Those of a project (--root, else the
working directory) count once you trust them (handrail trust).`,
	run: showSkills,
}

func showSkills(s streams, args []string) (int, error) {
	var roots list
	f := newFlags("skills")
	f.Var(&roots, "root", "")
	rest, err := f.operands(args, 0, 1)
	if err != nil {
		return 0, err
	}
	c, err := config.Load("", roots)
	if err != nil {
		return 0, err
	}
	_ = c.UseDir(".") // where there is no workspace, there are no skills of one
	all, faults := c.Skills(c.Roots)
	if faults != nil {
		fmt.Fprintf(s.stderr, "left out: %v\n", faults)
	}
	var names []string
	tw := tabwriter.NewWriter(s.stdout, 0, 0, 2, ' ', 0)
	for _, k := range all {
		when, from := "on demand", "built in"
		if k.Auto {
			when = "for " + k.Language
		}
		if k.File != "" {
			from = k.File
		}
		if len(rest) == 1 && k.Name == rest[0] {
			fmt.Fprintf(s.stdout, "%s  (%s, %s)\n%s\n\n%s\n", k.Name, when, from, k.Description, k.Body)
			return 0, nil
		}
		names = append(names, k.Name)
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", k.Name, when, from, k.Description)
	}
	if len(rest) == 1 {
		return 0, unknown("skill", rest[0], names)
	}
	return 0, tw.Flush()
}
