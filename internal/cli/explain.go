package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"handrail/guard"
	"handrail/guard/text"
)

// explain prints a decision for people: the verdict with its reason, then the
// facts as a tree.
func explain(w io.Writer, facts *guard.Facts, d *guard.Decision) {
	fmt.Fprintf(w, "%s  %s\n", d.Verdict, d.Rule+where(d.Findings, d.Rule))
	fmt.Fprintf(w, "  %s\n", text.Visible(d.Reason))
	if d.Instead != "" {
		fmt.Fprintf(w, "  instead: %s\n", text.Visible(d.Instead))
	}
	fmt.Fprintf(w, "\nin %s\n", text.Visible(facts.Dir))
	said := about(d.Findings)
	for i, c := range facts.Commands {
		fmt.Fprintf(w, "%s %d:%d  %s\n", branch(i == len(facts.Commands)-1 && !loose(facts)), c.Line, c.Column, commandLine(facts, i))
		var lines []string
		for e, effect := range facts.Effects {
			if effect.Command == i {
				lines = append(lines, effectLine(effect, said[e]))
			}
		}
		bar := "│  "
		if i == len(facts.Commands)-1 && !loose(facts) {
			bar = "   "
		}
		tree(w, bar, lines)
	}
	var lines []string
	for e, effect := range facts.Effects {
		if effect.Command < 0 || effect.Command >= len(facts.Commands) {
			lines = append(lines, effectLine(effect, said[e]))
		}
	}
	tree(w, "", lines)
	for _, s := range facts.Sources {
		fmt.Fprintf(w, "read %s (sha256 %.12s…)\n", text.Visible(s.Path), s.SHA256)
	}
	for _, f := range d.Findings {
		if f.Effect < 0 {
			fmt.Fprintf(w, "the call as a whole: %s  %s  %s\n", f.Verdict, ruleName(f), text.Visible(f.Reason))
		}
	}
	var silent []string
	for _, f := range d.Overruled {
		line := fmt.Sprintf("  %s  %s: %s; but %s", f.Verdict, ruleName(f), text.Visible(f.Reason), text.Visible(f.Overruled))
		if !slices.Contains(silent, line) {
			silent = append(silent, line)
		}
	}
	if len(silent) > 0 {
		fmt.Fprintf(w, "\nwould have spoken:\n%s\n", strings.Join(silent, "\n"))
	}
}

// ruleName is the rule of a finding, with the place of a user's one.
func ruleName(f guard.Finding) string {
	if f.Source == "" {
		return f.Rule
	}
	return f.Rule + " (" + text.Visible(f.Source) + ")"
}

// where is the place of a user's rule that spoke, or empty.
func where(findings []guard.Finding, rule string) string {
	for _, f := range findings {
		if f.Rule == rule {
			return strings.TrimPrefix(ruleName(f), rule)
		}
	}
	return ""
}

// loose reports whether there are effects that belong to no command.
func loose(facts *guard.Facts) bool {
	for _, e := range facts.Effects {
		if e.Command < 0 || e.Command >= len(facts.Commands) {
			return true
		}
	}
	return false
}

// about sorts findings by their effect; they stay in order, strictest first.
func about(findings []guard.Finding) map[int][]guard.Finding {
	said := map[int][]guard.Finding{}
	for _, f := range findings {
		said[f.Effect] = append(said[f.Effect], f)
	}
	return said
}

func branch(last bool) string {
	if last {
		return "└─"
	}
	return "├─"
}

// tree prints lines as the leaves of a branch, their columns aligned.
func tree(w io.Writer, bar string, lines []string) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, l := range lines {
		fmt.Fprintf(tw, "%s%s %s\n", bar, branch(i == len(lines)-1), l)
	}
	tw.Flush()
}

// commandLine shows a command as it was resolved: wrappers, name, words; … marks
// what could not be told.
func commandLine(facts *guard.Facts, i int) string {
	c := facts.Commands[i]
	words := append([]string{}, c.Via...)
	if c.Name == "" {
		words = append(words, "…")
	} else {
		words = append(words, c.Name)
	}
	for _, a := range c.Args {
		word := text.Quote(a.Text)
		if !a.Exact {
			word = strings.TrimSuffix(a.Text, "…") + "…"
		}
		words = append(words, word)
	}
	line := text.Visible(strings.Join(words, " "))
	if n := 160; len(line) > n {
		line = strings.ToValidUTF8(line[:n], "") + " …"
	}
	if c.From >= 0 && c.From < len(facts.Commands) {
		line += "   ← " + facts.Commands[c.From].Name
	}
	return strings.ReplaceAll(line, "\n", " ")
}

// effectLine shows an effect and what was said about it, in columns: the
// strictest finding, and the others that are no allow.
func effectLine(e guard.Effect, said []guard.Finding) string {
	kind := e.Kind.String()
	if e.Action != "" {
		kind += "/" + e.Action
	}
	target := e.Target
	switch {
	case e.Deep:
		target += "  (and all below)"
	case !e.Exact && e.Kind != guard.Unknown:
		target += "  (or somewhere below)"
	}
	if e.Loss != nil {
		target += "  (" + e.Loss.String() + ")"
	}
	line := kind + "\t" + oneLine(target) + "\t"
	for i, f := range said {
		switch {
		case i == 0 && f.Verdict == guard.VerdictAllow:
			return line + f.Verdict.String() + " " + ruleName(f)
		case f.Verdict == guard.VerdictAllow:
			return line
		case i > 0:
			line += "; "
		}
		line += f.Verdict.String() + " " + ruleName(f) + ": " + oneLine(f.Reason)
	}
	return line
}

func oneLine(s string) string {
	return strings.ReplaceAll(text.Line(s), "\t", " ")
}
