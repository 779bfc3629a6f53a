package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// alternative appends the word of ${n-word}, ${n:-word}, ${n+word} and
// ${n:+word} where it takes the place of the parameter: its parts are quoted,
// split and expanded as they stand. It reports false for anything else.
func (b *builder) alternative(e *syntax.ParamExp) bool {
	op := e.Exp.Op
	plus := op == syntax.AlternateUnset || op == syntax.AlternateUnsetOrNull
	switch op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
	case syntax.AssignUnset, syntax.AssignUnsetOrNull, syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		b.w.singles(b.st, e.Exp.Word)
		return false
	default:
		return false
	}
	elems, list, open := b.w.base(b.st, e.Param.Value, e.Index)
	if e.Excl {
		elems, list, open = b.w.indirect(b.st, elems, list, e)
	}
	full, ok := b.w.filled(b.st, e, elems, list, open)
	if !ok || full != plus || e.Exp.Word == nil {
		if !ok {
			b.w.singles(b.st, e.Exp.Word)
		}
		return false
	}
	for i, p := range e.Exp.Word.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.splitLit(p.Value, i == 0)
		case *syntax.SglQuoted:
			if b.quoted && !p.Dollar { // single quotes are text between double quotes
				b.add("'", true)
				b.document(p.Value)
				b.add("'", true)
				continue
			}
			b.part(p, false)
		default:
			b.part(p, false)
		}
	}
	return true
}

// splitLit appends literal text that is split where it is not quoted.
func (b *builder) splitLit(s string, first bool) {
	if b.quoted || !b.split {
		b.lit(s, first)
		return
	}
	if first && strings.HasPrefix(s, "~") {
		s = b.tilde(s)
	}
	for s != "" {
		i := strings.IndexByte(s, '\\')
		if i < 0 || i+1 >= len(s) {
			b.unquoted(known(s))
			return
		}
		b.unquoted(known(s[:i]))
		if s[i+1] != '\n' {
			b.add(s[i+1:i+2], true)
		}
		s = s[i+2:]
	}
}

// document appends text that is expanded as in double quotes.
func (b *builder) document(s string) {
	if !strings.ContainsAny(s, "$`") {
		b.add(s, true)
		return
	}
	b.w.embedded(b.st, s)
	b.unknown(unknown(nil))
}

// singles reads what bash expands inside single quotes that stand in an
// expansion between double quotes.
func (w *reading) singles(st *state, word *syntax.Word) {
	if word == nil {
		return
	}
	for _, p := range word.Parts {
		if q, ok := p.(*syntax.SglQuoted); ok && !q.Dollar {
			w.embedded(st, q.Value)
		}
	}
}

// filled reports whether a parameter counts as set for its operator.
func (w *reading) filled(st *state, e *syntax.ParamExp, elems []text, list, open bool) (full, ok bool) {
	null := e.Exp.Op == syntax.DefaultUnsetOrNull || e.Exp.Op == syntax.AssignUnsetOrNull || e.Exp.Op == syntax.AlternateUnsetOrNull
	if open {
		return len(elems) > 0, len(elems) > 0 && !null
	}
	if list && len(elems) == 0 {
		return false, true
	}
	n := e.Param.Value
	if syntax.ValidName(n) && e.Index == nil && !e.Excl {
		set, ok := w.isSet(st, n)
		if !set || !ok {
			return set, ok
		}
	} else if i := strings.Trim(n, "0123456789"); i == "" && n != "0" {
		if k := len(n); k == 1 && int(n[0]-'0') > len(st.args) {
			return false, !st.open
		}
	}
	if !null {
		return true, true
	}
	if len(elems) == 0 {
		return false, true
	}
	t := elems[0]
	if len(elems) > 1 || t.s != "" {
		return true, true
	}
	return false, t.class == exact
}

// fallback is ${n-word}, ${n:-word}, ${n=word} and ${n:=word}.
func (w *reading) fallback(st *state, e *syntax.ParamExp, elems []text, list, open bool) ([]text, bool, bool) {
	full, ok := w.filled(st, e, elems, list, open)
	if ok && full {
		return elems, list, open
	}
	def := w.single(st, e.Exp.Word)
	if !ok && len(elems) > 0 {
		def = def.join(elems[0])
	}
	if op := e.Exp.Op; op == syntax.AssignUnset || op == syntax.AssignUnsetOrNull {
		w.assign(st, e.Param.Value, value{one: def}, false)
	}
	return []text{def}, false, false
}
