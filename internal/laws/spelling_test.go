package laws

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"handrail/guard"
)

// Joining two commands gives the stricter of their verdicts, where the first
// leaves nothing behind; and never a looser one.
func TestJoiningIsTheMinimum(t *testing.T) {
	b := newBench(t)
	law := newOffences("joining is the minimum")
	var plain, all []judged
	for _, j := range b.judgeAll(corpus(t)) {
		tree := parse(j.Command)
		if tree == nil {
			continue
		}
		all = append(all, j)
		if program(tree) && !j.unknown() && !strings.Contains(j.Command, "#") {
			plain = append(plain, j)
		}
	}
	if len(plain) == 0 {
		t.Fatal("no plain rows")
	}
	for i, second := range all {
		for _, k := range []int{i * 7, i*13 + 5, i*31 + 11} { // spread over the rows, the same every time
			first := plain[k%len(plain)]
			for _, sep := range []string{"; ", "\n", " && "} {
				joined := first.Command + sep + second.Command
				if parse(joined) == nil {
					continue
				}
				law.tried++
				got := b.read(joined)
				want := min(first.verdict, second.verdict)
				switch {
				case got.verdict > want && !(got.unknown() && got.verdict < guard.VerdictAllow):
					law.add("looser: "+want.String()+" becomes "+got.verdict.String(), "%s %s %q", first.ID, second.ID, joined)
				case got.verdict < want && readsOnly(first.facts) && sep != " && ": // what follows && may not happen
					law.add("stricter: "+want.String()+" becomes "+got.verdict.String()+" by "+got.rule, "%s %s %q", first.ID, second.ID, joined)
				}
			}
		}
	}
	law.report(t, 5000)
}

// readsOnly reports whether a call leaves nothing behind that could matter to
// the next one.
func readsOnly(f *guard.Facts) bool {
	return !slices.ContainsFunc(f.Effects, func(e guard.Effect) bool {
		return !(e.Kind == guard.Read || e.Kind == guard.Exec && e.Action == "" || e.Kind == guard.Network && e.Action == "")
	})
}

// Renaming the variables of a script changes nothing.
func TestRenamingChangesNothing(t *testing.T) {
	b := newBench(t)
	law := newOffences("renaming variables changes nothing")
	for _, r := range corpus(t) {
		renamed, ok := rename(r.Command)
		if !ok {
			continue
		}
		law.tried++
		was, is := b.read(r.Command), b.read(renamed)
		if was.verdict != is.verdict {
			law.add(was.verdict.String()+" becomes "+is.verdict.String(), "%s %q as %q", r.ID, r.Command, renamed)
		}
	}
	law.report(t, 40)
}

var lowerName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// rename gives the variables of a script other names. It reports false where
// there are none, or where a name also stands in a text that it cannot see
// into.
func rename(command string) (string, bool) {
	tree := parse(command)
	if tree == nil {
		return "", false
	}
	names := map[string]bool{}
	syntax.Walk(tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			if n.Name != nil && lowerName.MatchString(n.Name.Value) {
				names[n.Name.Value] = true
			}
		case *syntax.WordIter:
			if lowerName.MatchString(n.Name.Value) {
				names[n.Name.Value] = true
			}
		}
		return true
	})
	if len(names) == 0 {
		return "", false
	}
	seen, other := map[*syntax.Lit]bool{}, false
	swap := func(l *syntax.Lit) {
		if l != nil && names[l.Value] && !seen[l] {
			seen[l] = true
			l.Value = "renamed_" + l.Value
		}
	}
	syntax.Walk(tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			swap(n.Name)
		case *syntax.WordIter:
			swap(n.Name)
		case *syntax.ParamExp:
			swap(n.Param)
		}
		return true
	})
	word := regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)
	mentions := func(text string) {
		for _, w := range word.FindAllString(text, -1) {
			other = other || names[w]
		}
	}
	syntax.Walk(tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lit:
			if !seen[n] {
				mentions(n.Value)
			}
		case *syntax.SglQuoted:
			mentions(n.Value)
		}
		return true
	})
	if other {
		return "", false
	}
	return printed(tree), true
}

func printed(tree *syntax.File) string {
	var s strings.Builder
	if err := syntax.NewPrinter().Print(&s, tree); err != nil {
		return ""
	}
	return s.String()
}

// The style of quoting changes nothing where the words stay the same.
func TestQuotingChangesNothing(t *testing.T) {
	b := newBench(t)
	law := newOffences("quoting style changes nothing")
	double := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`")
	styles := map[string]func(string) string{
		"single": func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" },
		"double": func(s string) string { return `"` + double.Replace(s) + `"` },
		"ansi":   func(s string) string { return "$'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'" },
		"split": func(s string) string { // r"m"
			if len(s) < 2 || s[0] >= 0x80 || s[1] >= 0x80 {
				return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
			}
			return "'" + strings.ReplaceAll(s[:1], "'", `'\''`) + `'"` + double.Replace(s[1:]) + `"`
		},
	}
	for _, r := range corpus(t) {
		tree := parse(r.Command)
		if tree == nil {
			continue
		}
		call := single(tree)
		words, ok := literals(call)
		if !ok {
			continue
		}
		was := b.read(r.Command)
		for style, quoted := range styles {
			spelt := make([]string, len(words))
			for i, w := range words {
				spelt[i] = quoted(w)
			}
			law.tried++
			other := strings.Join(spelt, " ")
			if is := b.read(other); is.verdict != was.verdict {
				law.add(style+": "+was.verdict.String()+" becomes "+is.verdict.String(), "%s %q as %q", r.ID, r.Command, other)
			}
		}
	}
	law.report(t, 1000)
}

// literals are the words of a call, where bash expands none of them.
func literals(call *syntax.CallExpr) ([]string, bool) {
	if call == nil {
		return nil, false
	}
	var words []string
	for _, w := range call.Args {
		text, ok := literal(w)
		if !ok {
			return nil, false
		}
		words = append(words, text)
	}
	return words, true
}
