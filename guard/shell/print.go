package shell

import (
	"bytes"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"handrail/guard"
)

// print returns the text to hand to bash: printed from the tree that was read.
// Where printing is not a fixpoint, the text could mean something else than
// what was judged, and that is an Unknown effect.
func (w *reading) print(tree *syntax.File, source string) string {
	out, err := w.printed(tree)
	if err == nil && (out == source || out == source+"\n") {
		return out
	}
	if err == nil && len(out) < 4*len(source)+4096 {
		p, _ := w.parsers.Get().(*syntax.Parser)
		if p == nil {
			p = syntax.NewParser(syntax.Variant(syntax.LangBash))
		}
		again, perr := p.Parse(strings.NewReader(out), "")
		w.parsers.Put(p)
		if perr == nil {
			if twice, err := w.printed(again); err == nil && twice == out {
				return out
			}
		}
	}
	w.emit(guard.Effect{Kind: guard.Unknown, Action: "unparsed", Command: -1,
		Target: "the source cannot be printed so that it reads the same again"})
	return ""
}

func (w *reading) printed(tree *syntax.File) (string, error) {
	p, _ := w.printers.Get().(*syntax.Printer)
	if p == nil {
		p = syntax.NewPrinter()
	}
	var b bytes.Buffer
	err := p.Print(&b, tree)
	w.printers.Put(p)
	return b.String(), err
}
