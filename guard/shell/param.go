package shell

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// manyWords reports whether e makes several words even inside double quotes.
func manyWords(e *syntax.ParamExp) bool {
	if e.Length || e.Param == nil {
		return false
	}
	if e.Param.Value == "@" || e.Names == syntax.NamesPrefixWords {
		return true
	}
	return indexIs(e.Index, "@")
}

func indexIs(x syntax.ArithmExpr, s string) bool {
	word, ok := x.(*syntax.Word)
	return ok && word.Lit() == s
}

// param appends the value of a parameter expansion.
func (b *builder) param(e *syntax.ParamExp) {
	if !b.w.step(1) {
		return
	}
	if e.Param == nil {
		b.unknown(unknown(nil))
		return
	}
	if e.Exp != nil && b.alternative(e) {
		return
	}
	elems, list, open := b.w.values(b.st, e)
	star := e.Param.Value == "*" || indexIs(e.Index, "*") || e.Names == syntax.NamesPrefix
	if !list || e.Length {
		for _, t := range elems[:min(1, len(elems))] {
			b.unquoted(t)
		}
		return
	}
	if open {
		elems = append(slices.Clone(elems), text{class: wild})
	}
	if star && (b.quoted || !b.split) || !b.split {
		sep := " "
		if ifs, ok := b.w.ifs(b.st); ok && star {
			sep = ifs[:min(1, len(ifs))]
		}
		for i, t := range elems {
			if i > 0 {
				b.add(sep, true)
			}
			b.unquotedOne(t)
		}
		return
	}
	for i, t := range elems {
		if i > 0 {
			b.next()
		}
		if b.quoted {
			b.has = true
		}
		if open && i == len(elems)-1 {
			b.many = true
		}
		b.unquotedOne(t)
	}
}

func (b *builder) unquotedOne(t text) {
	if b.quoted {
		b.value(t)
		return
	}
	b.unquoted(t)
}

// values returns the texts that an expansion stands for. list says that they
// are elements of a list, open that there may be more.
func (w *reading) values(st *state, e *syntax.ParamExp) (elems []text, list, open bool) {
	n := e.Param.Value
	if e.Names != 0 { // ${!prefix*}
		return []text{{class: name}}, true, true
	}
	elems, list, open = w.base(st, n, e.Index)
	if e.Excl {
		elems, list, open = w.indirect(st, elems, list, e)
	}
	if e.Length {
		return []text{w.length(elems, list, open)}, false, false
	}
	if e.Slice != nil || e.Repl != nil || e.Exp != nil {
		elems = each(elems, func(t text) text { t.trait = 0; return t })
	}
	switch {
	case e.Slice != nil:
		return w.slice(st, n, elems, list, open, e.Slice)
	case e.Repl != nil:
		orig, with := w.pattern(st, e.Repl.Orig), w.single(st, e.Repl.With)
		return each(elems, func(t text) text { return replace(t, orig, with, e.Repl.All) }), list, open
	case e.Exp != nil:
		return w.operate(st, e, elems, list, open)
	}
	return elems, list, open
}

// base returns the parameter itself, before any operator.
func (w *reading) base(st *state, n string, index syntax.ArithmExpr) (elems []text, list, open bool) {
	one := func(t text) ([]text, bool, bool) { return []text{t}, false, false }
	switch n {
	case "@", "*":
		return st.args, true, st.open
	case "#":
		if st.open {
			return one(text{class: name})
		}
		return one(known(strconv.Itoa(len(st.args))))
	case "!":
		return one(text{class: name, trait: ownID})
	case "?", "$", "-":
		return one(text{class: name})
	case "0":
		return one(st.zero)
	case "_":
		return one(unknown(nil))
	}
	if i, err := strconv.Atoi(n); err == nil {
		switch {
		case i <= 0:
			return one(st.zero)
		case i <= len(st.args):
			return one(st.args[i-1])
		case st.open:
			return one(unknown(nil))
		}
		return one(text{})
	}
	v := w.get(st, n)
	switch {
	case index == nil:
		if v.array {
			return one(w.element(v, "0"))
		}
		return one(v.one)
	case indexIs(index, "@"), indexIs(index, "*"):
		if !v.array {
			if v.unset {
				return nil, true, false
			}
			return []text{v.one}, true, v.one.class == wild
		}
		return v.elems, true, v.open
	}
	return one(w.element(v, w.subscript(st, v, index)))
}

// subscript returns the key that an index means, or "" where it is not known.
func (w *reading) subscript(st *state, v value, index syntax.ArithmExpr) string {
	if v.keys != nil {
		if word, ok := index.(*syntax.Word); ok {
			if t := w.single(st, word); t.class == exact {
				return t.s
			}
		}
		w.arith(st, index)
		return ""
	}
	if i, ok := w.arith(st, index); ok {
		return strconv.Itoa(i)
	}
	return ""
}

// element returns one element of an array; key "" is one that is not known.
func (w *reading) element(v value, key string) text {
	if !v.array {
		if key == "0" || key == "" {
			return v.one
		}
		return text{}
	}
	if v.keys != nil {
		if i := slices.Index(v.keys, key); i >= 0 && !v.open {
			return v.elems[i]
		}
	} else if i, err := strconv.Atoi(key); err == nil && !v.open {
		if i < 0 {
			i += len(v.elems)
		}
		if i >= 0 && i < len(v.elems) {
			return v.elems[i]
		}
		return text{}
	}
	t := text{}
	for i, e := range v.elems {
		if i == 0 {
			t = e
		}
		t = t.join(e)
	}
	return t
}

// indirect is ${!n}: the variable that n names, or the keys of an array.
func (w *reading) indirect(st *state, elems []text, list bool, e *syntax.ParamExp) ([]text, bool, bool) {
	if list {
		v := w.get(st, e.Param.Value)
		if v.open {
			return []text{unknown(nil)}, true, true
		}
		keys := make([]text, len(v.elems))
		for i := range keys {
			keys[i] = known(strconv.Itoa(i))
			if v.keys != nil {
				keys[i] = known(v.keys[i])
			}
		}
		return keys, true, false
	}
	if len(elems) == 0 || elems[0].class != exact {
		return []text{unknown(nil)}, false, false
	}
	n := elems[0].s
	w.embedded(st, n)
	if i := strings.IndexByte(n, '['); i > 0 || !syntax.ValidName(n) && strings.Trim(n, "0123456789@*#?$!-") != "" {
		return []text{unknown(nil)}, false, false
	}
	return w.base(st, n, nil)
}

func (w *reading) length(elems []text, list, open bool) text {
	if list {
		if open {
			return text{class: name}
		}
		return known(strconv.Itoa(len(elems)))
	}
	if len(elems) == 0 || elems[0].class != exact {
		return text{class: name}
	}
	return known(strconv.Itoa(utf8.RuneCountInString(elems[0].s)))
}

func each(elems []text, f func(text) text) []text {
	out := make([]text, len(elems))
	for i, t := range elems {
		out[i] = f(t)
	}
	return out
}
