package laws

import (
	"path"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"handrail/guard"
)

func parseAs(command string, lang syntax.LangVariant) *syntax.File {
	f, err := syntax.NewParser(syntax.Variant(lang)).Parse(strings.NewReader(command), "")
	if err != nil {
		return nil
	}
	return f
}

// builtins cannot be started by a program, and some change what follows.
var builtins = strings.Fields(`. : [ alias bg bind break builtin caller cd command compgen complete compopt continue
	coproc declare dirs disown enable eval exec exit export false fc fg getopts hash help history jobs kill let local
	logout mapfile popd printf pushd pwd read readarray readonly return set shift shopt source suspend test times trap
	true type typeset ulimit umask unalias unset wait echo`)

// single returns the call of a row that is one plain command: no list, no
// redirection, no assignment.
func single(f *syntax.File) *syntax.CallExpr {
	if len(f.Stmts) != 1 {
		return nil
	}
	s := f.Stmts[0]
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(s.Redirs) > 0 || s.Background || s.Negated || s.Coprocess || len(call.Assigns) > 0 || len(call.Args) == 0 {
		return nil
	}
	return call
}

// program reports whether a row is one program with its arguments, which other
// programs can start.
func program(f *syntax.File) bool {
	call := single(f)
	if call == nil {
		return false
	}
	name, ok := literal(call.Args[0])
	return ok && !slices.Contains(builtins, name)
}

// literal returns the text of a word in which bash expands nothing.
func literal(w *syntax.Word) (string, bool) {
	var s strings.Builder
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(p.Value, `~*?[]{}\+@!`) {
				return "", false
			}
			s.WriteString(p.Value)
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			s.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				lit, ok := q.(*syntax.Lit)
				if !ok || p.Dollar || strings.ContainsAny(lit.Value, "\\!") {
					return "", false
				}
				s.WriteString(lit.Value)
			}
		default:
			return "", false
		}
	}
	return s.String(), true
}

// Every call in the syntax tree is in the facts: as a command, as what starts
// one, or the facts say that something is hidden.
func TestEveryCallIsInTheFacts(t *testing.T) {
	b := newBench(t)
	law := newOffences("every call in the tree is in the facts")
	for _, r := range corpus(t) {
		tree := parse(r.Command)
		if tree == nil {
			continue
		}
		want := calls(tree)
		if len(want) == 0 {
			continue
		}
		law.tried++
		j := b.read(r.Command)
		if whole(j.facts) {
			continue
		}
		got := map[string]int{}
		for _, c := range j.facts.Commands {
			got[c.Name]++
			for _, v := range c.Via {
				got[path.Base(v)]++
			}
		}
		for name, n := range want {
			if got[name] < n {
				law.add("missing "+name, "%s: %d of %d in %q", r.ID, got[name], n, r.Command)
			}
		}
	}
	law.report(t, 1000)
}

// whole reports whether the facts say that the script as a whole could not be
// read: past the limits, or not bash.
func whole(f *guard.Facts) bool {
	return slices.ContainsFunc(f.Effects, func(e guard.Effect) bool {
		return e.Kind == guard.Unknown && e.Action != ""
	})
}

// transparent builtins only start what follows them.
var transparent = []string{"command", "builtin", "exec"}

// calls counts the calls of programs by name, those in functions that nothing
// calls left out. Names that are not plain text, functions and aliases of the
// script are not counted.
func calls(f *syntax.File) map[string]int {
	funcs, used := map[string]*syntax.FuncDecl{}, map[string]bool{}
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.FuncDecl:
			funcs[n.Name.Value] = n
		case *syntax.CallExpr:
			for _, w := range n.Args { // f, but also trap f EXIT
				if name, ok := literal(w); ok {
					used[name] = true
				}
			}
		}
		return true
	})
	count := map[string]int{}
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.FuncDecl:
			return used[n.Name.Value]
		case *syntax.CallExpr:
			if len(n.Args) == 0 {
				return true
			}
			name, ok := literal(n.Args[0])
			switch base := path.Base(name); {
			case !ok || name == "" || funcs[name] != nil:
			case slices.Contains(transparent, name) && len(n.Args) > 1:
				// what it starts is in the facts in its place
			default:
				count[base]++
			}
		}
		return true
	})
	for _, shadowed := range []string{"alias", "hash", "enable"} { // these rename what follows
		if count[shadowed] > 0 {
			return map[string]int{shadowed: count[shadowed]}
		}
	}
	return count
}
