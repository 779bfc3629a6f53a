package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// test reads [[ x ]]: its words are expanded, and arithmetic comparisons
// evaluate theirs.
func (w *reading) test(st *state, x syntax.TestExpr) {
	if !w.step(1) || !w.enter() {
		return
	}
	defer w.leave()
	switch x := x.(type) {
	case *syntax.Word:
		w.single(st, x)
	case *syntax.ParenTest:
		w.test(st, x.X)
	case *syntax.UnaryTest:
		if word, ok := x.X.(*syntax.Word); ok {
			t := w.single(st, word)
			if x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar {
				w.subscripted(st, t)
			}
			return
		}
		w.test(st, x.X)
	case *syntax.BinaryTest:
		a, ok1 := x.X.(*syntax.Word)
		b, ok2 := x.Y.(*syntax.Word)
		if !ok1 || !ok2 {
			w.test(st, x.X)
			other := st.clone()
			w.test(st, x.Y)
			w.merge(st, other)
			return
		}
		ta := w.single(st, a)
		switch x.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			w.number(st, ta, 0)
			w.number(st, w.single(st, b), 0)
		default:
			w.pattern(st, b)
		}
	}
}

// subscripted reads a variable's name given as text: a subscript in it is
// evaluated.
func (w *reading) subscripted(st *state, t text) {
	if t.class != exact {
		if t.class == wild && strings.IndexByte(t.s, '[') >= 0 {
			w.hide(w.next(), "a subscript that is not known", "")
		}
		return
	}
	if strings.IndexByte(t.s, '[') >= 0 {
		w.embedded(st, t.s)
	}
}

// embedded reads the substitutions in text that bash will expand once more.
func (w *reading) embedded(st *state, s string) {
	if !strings.ContainsAny(s, "$`<>") || !w.enter() {
		return
	}
	defer w.leave()
	if unreadable(s) == "" && !crowded(s) && len(s) <= w.limits.Bytes {
		p := syntax.NewParser(syntax.Variant(syntax.LangBash))
		if word, err := p.Document(strings.NewReader(s)); err == nil {
			sub := st.clone()
			sub.src = s
			w.singleField(sub, word, true)
			return
		}
	}
	w.hide(w.next(), "text that is expanded once more and cannot be read", s)
}
