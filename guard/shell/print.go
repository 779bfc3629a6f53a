package shell

import (
	"bytes"
	"reflect"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"handrail/guard"
)

// print returns the text to hand to bash: printed from the tree that was read.
// Where printing is not a fixpoint, the text could mean something else than
// what was judged, and that is an Unknown effect.
func (w *reading) print(tree *syntax.File, source string) string {
	out, err := w.printed(tree)
	// A line end more changes nothing, except where a here-document ends the source.
	if err == nil && (out == source || out == source+"\n" && !strings.Contains(source, "<<")) {
		return out
	}
	if err == nil && len(out) < 4*len(source)+4096 {
		if again, err := w.tree(out); err == nil {
			if twice, err := w.printed(again); err == nil && twice == out && bytes.Equal(outline(tree), outline(again)) {
				return out
			}
		}
	}
	w.emit(guard.Effect{Kind: guard.Unknown, Action: "unparsed", Command: -1,
		Target: "the source cannot be printed so that it reads the same again"})
	return ""
}

func (w *reading) printed(tree *syntax.File) (string, error) {
	printers := &w.spares().printers
	p, _ := printers.Get().(*syntax.Printer)
	if p == nil {
		p = syntax.NewPrinter()
	}
	var b bytes.Buffer
	err := p.Print(&b, tree)
	if err == nil {
		printers.Put(p)
	}
	return b.String(), err
}

// outline writes down a tree's nodes in order, without their places: two trees
// with one outline mean the same.
func outline(tree *syntax.File) []byte {
	b := make([]byte, 0, 256)
	depth, dash := 0, 0 // dash: the depth of a <<- around, whose leading tabs mean nothing
	lit := func(s string) {
		if dash > 0 && strings.IndexByte(s, '\t') >= 0 {
			lines := strings.Split(s, "\n")
			for i := range lines {
				lines[i] = strings.TrimLeft(lines[i], "\t")
			}
			s = strings.Join(lines, "\n")
		}
		b = append(strconv.AppendQuote(b, s), ' ')
	}
	num := func(kind byte, ns ...uint32) {
		b = append(b, kind)
		for _, n := range ns {
			b = append(strconv.AppendUint(b, uint64(n), 10), ' ')
		}
	}
	bit := func(on bool) uint32 {
		if on {
			return 1
		}
		return 0
	}
	syntax.Walk(tree, func(n syntax.Node) bool {
		if n == nil {
			if depth == dash {
				dash = 0
			}
			depth--
			b = append(b, ')')
			return true
		}
		depth++
		switch n := n.(type) {
		case *syntax.Comment:
		case *syntax.Lit:
			lit(n.Value)
		case *syntax.SglQuoted:
			num('\'', bit(n.Dollar))
			lit(n.Value)
		case *syntax.DblQuoted:
			num('"', bit(n.Dollar))
		case *syntax.Stmt:
			num('S', bit(n.Negated), bit(n.Background), bit(n.Coprocess), bit(n.Disown))
		case *syntax.Assign:
			num('=', bit(n.Append), bit(n.Naked))
		case *syntax.Redirect:
			num('>', uint32(n.Op))
			if n.Op == syntax.DashHdoc && dash == 0 {
				dash = depth
			}
		case *syntax.BinaryCmd:
			num('&', uint32(n.Op))
		case *syntax.BinaryArithm:
			num('a', uint32(n.Op))
		case *syntax.UnaryArithm:
			num('u', uint32(n.Op), bit(n.Post))
		case *syntax.BinaryTest:
			num('t', uint32(n.Op))
		case *syntax.UnaryTest:
			num('v', uint32(n.Op))
		case *syntax.WhileClause:
			num('W', bit(n.Until))
		case *syntax.ForClause:
			num('F', bit(n.Select))
		case *syntax.CaseItem:
			num('C', uint32(n.Op))
		case *syntax.ProcSubst:
			num('P', uint32(n.Op))
		case *syntax.ExtGlob:
			num('E', uint32(n.Op))
		case *syntax.ParamExp:
			num('$', bit(n.Excl), bit(n.Length), uint32(n.Names), bit(n.Repl != nil && n.Repl.All), bit(n.Slice != nil), bit(n.Index != nil))
			if n.Exp != nil {
				num('x', uint32(n.Exp.Op))
			}
		default:
			b = append(b, reflect.TypeOf(n).String()...)
		}
		b = append(b, '(')
		return true
	})
	return b
}
