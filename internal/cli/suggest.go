package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"handrail/elicit"
	"handrail/guard"
	"handrail/internal/store"
	"handrail/tools"
)

var suggestCommand = subcommand{
	name:  "suggest",
	usage: "[--since DURATION] [--min N] [--config FILE] [--json]",
	short: "propose narrow rules for what is always approved",
	doc: `Looks through your history for calls that were asked about at least --min times
(default 3), approved every time there was an answer, and whose words fix what
happens. For each it prints a guard: put it into .handrail/guards/ of the project
(it then needs ` + "`handrail trust`" + `) or into ~/.handrail/guards/ for all projects.

Nothing is proposed for interpreters and wrappers, deletions, secrets, rights, and
whatever else is to be asked about every time. --since takes 12h or 7d.`,
	run: suggest,
}

// suggestion is one narrow rule that is proposed; the form of --json.
type suggestion struct {
	Call     string   `json:"call"` // the commands
	Dir      string   `json:"dir"`
	Asked    int      `json:"asked"`
	Approved int      `json:"approved"`
	Rules    []string `json:"rules"` // that asked
	Guard    string   `json:"guard"` // YAML
}

func suggest(s streams, args []string) (int, error) {
	f := newFlags("suggest")
	since, least := f.String("since", "", ""), f.Int("min", 3, "")
	file, asJSON := f.String("config", "", ""), f.Bool("json", false, "")
	if _, err := f.operands(args, 0, 0); err != nil {
		return 0, err
	}
	if *least < 1 {
		return 0, usagef("--min %d: want 1 or more", *least)
	}
	from, err := sinceOf(*since)
	if err != nil {
		return 0, err
	}
	_, list, err := pastOf(*file, from)
	if err != nil {
		return 0, err
	}
	proposed := suggestions(list, *least)
	if *asJSON {
		return 0, printJSON(s.stdout, append([]suggestion{}, proposed...))
	}
	if len(proposed) == 0 {
		fmt.Fprintf(s.stdout, "nothing to propose: no call of a fixed meaning was asked about %d times and always approved\n", *least)
		return 0, nil
	}
	for _, p := range proposed {
		fmt.Fprintf(s.stdout, "# asked about %d times, approved %d times: %s in %s\n%s\n", p.Asked, p.Approved, oneLine(p.Call), oneLine(p.Dir), p.Guard)
	}
	return 0, nil
}

// tally counts what became of the questions about one call.
type tally struct {
	pattern                  *guard.Pattern
	past                     store.Past
	asked, approved, refused int
}

// suggestions are the rules that the history speaks for, the most asked first.
func suggestions(list []store.Past, least int) (proposed []suggestion) {
	counts := map[string]*tally{}
	var order []string
	for _, p := range list {
		if !p.Whole || p.Call == nil || p.Call.ToolName != tools.Bash || p.Judged == guard.VerdictAllow || p.Judged == guard.VerdictDeny || p.Approval == "" && !p.Granted {
			continue
		}
		pattern, err := guard.PatternOf(p.Call, p.Asked())
		if err != nil || pattern.Script != "" {
			continue
		}
		key, err := json.Marshal(pattern)
		if err != nil {
			continue
		}
		t := counts[string(key)]
		if t == nil {
			t = &tally{pattern: pattern, past: p}
			counts[string(key)] = t
			order = append(order, string(key))
		}
		t.asked++
		switch {
		case p.Granted || p.Approval == elicit.Approved:
			t.approved++
		case p.Approval == elicit.Declined || p.Approval == elicit.Dismissed:
			t.refused++
		}
	}
	for _, key := range order {
		t := counts[key]
		if t.refused > 0 || t.approved < least {
			continue
		}
		if yaml, ok := guardOf(t); ok {
			var words []string
			for _, c := range t.pattern.Commands {
				words = append(words, strings.Join(c, " "))
			}
			proposed = append(proposed, suggestion{strings.Join(words, "; "), t.pattern.Dir, t.asked, t.approved, t.pattern.Rules, yaml})
		}
	}
	slices.SortStableFunc(proposed, func(a, b suggestion) int { return cmp.Compare(b.Approved, a.Approved) })
	return proposed
}

var noName = regexp.MustCompile(`[^A-Za-z0-9]+`)

// guardOf writes the guard that would let the call run: a pattern for each effect
// that was asked about, with the exact words. ok is false where a guard cannot
// say it.
func guardOf(t *tally) (yaml string, ok bool) {
	facts := t.past.Call.Facts
	var b strings.Builder
	name := "allow"
	for _, c := range t.pattern.Commands {
		name += "-" + strings.Join(c, "-")
	}
	name = strings.Trim(noName.ReplaceAllString(name, "-"), "-")
	fmt.Fprintf(&b, "id: %s\ntool: Bash\npatterns:\n", strings.TrimRight(name[:min(len(name), 60)], "-"))
	written := map[string]bool{}
	for _, f := range t.past.Findings {
		if f.Verdict == guard.VerdictAllow || f.Overruled != "" {
			continue
		}
		if f.Effect < 0 || f.Effect >= len(facts.Effects) || f.Source != "" { // about the call as a whole, or a guard of somebody's
			return "", false
		}
		e := facts.Effects[f.Effect]
		if e.Command < 0 || e.Command >= len(facts.Commands) {
			return "", false
		}
		c := facts.Commands[e.Command]
		if len(c.Args) == 0 { // without words a guard would cover any
			return "", false
		}
		var words []string
		for _, w := range c.Args {
			words = append(words, w.Text)
		}
		kind := e.Kind.String()
		if e.Action != "" {
			kind += "/" + e.Action
		}
		target := ""
		switch {
		case strings.ContainsAny(e.Target, "*?[]{}\\!"):
			return "", false
		case e.Kind == guard.Network:
			target = ", host: " + inYAML(e.Target)
		case filepath.IsAbs(e.Target):
			target = ", path: " + inYAML(e.Target)
		}
		row := fmt.Sprintf("  - when: {command: %s, args: %s, effect: %s%s}\n    verdict: allow\n", inYAML(c.Name), inYAML(words), inYAML(kind), target)
		if !strings.HasPrefix(f.Rule, "default/") {
			row += fmt.Sprintf("    instead_of: %s\n", inYAML(f.Rule))
		}
		if row += fmt.Sprintf("    reason: %s\n", inYAML(fmt.Sprintf("approved %d times until %s", t.approved, t.past.At.Format(time.DateOnly)))); !written[row] {
			b.WriteString(row)
		}
		written[row] = true
	}
	return b.String(), len(written) > 0
}

// inYAML writes a value in the flow style, which is that of JSON.
func inYAML(v any) string {
	b, err := json.Marshal(v)
	if err != nil { // strings always marshal
		return `""`
	}
	return strings.ReplaceAll(string(b), `","`, `", "`)
}
