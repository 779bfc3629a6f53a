package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// assigns reads assignments; those that are dangerous are effects of cmd.
func (w *reading) assigns(st *state, list []*syntax.Assign, cmd int) {
	for _, a := range list {
		if a.Name == nil {
			continue
		}
		n := a.Name.Value
		v, ok := w.assignment(st, a)
		if !ok {
			continue
		}
		w.assign(st, n, v, true)
		w.environment(n, v.one, st.typed(a), cmd)
		w.carry(st, n, v, st.typed(a))
	}
}

// assignment returns the value that an assignment gives to its variable.
func (w *reading) assignment(st *state, a *syntax.Assign) (value, bool) {
	n := a.Name.Value
	old, had := st.vars[n]
	if a.Append && !had {
		old = w.ambient(st, n)
	}
	switch {
	case a.Array != nil:
		v := w.array(st, a.Array, had && old.keys != nil)
		v.exported = old.exported
		if a.Append {
			v.elems = append(slices.Clone(old.elems), v.elems...)
			if old.keys != nil {
				v.keys = append(slices.Clone(old.keys), v.keys...)
			}
			v.open = v.open || old.open || had && !old.array
		}
		return v, true
	case a.Naked && a.Value == nil:
		return old, false
	}
	t := w.assigned1(st, a.Value)
	if a.Index != nil {
		return w.setElement(st, n, a, t), true
	}
	if old.integer {
		w.expression(st, t)
		t = text{class: name}
	}
	if a.Append {
		t = concat(old.one, t)
	}
	v := value{one: t, exported: old.exported, integer: old.integer}
	if old.array {
		if strings.HasPrefix(t.s, "(") { // declare -a would expand it once more
			w.source(st.clone(), "_="+t.s)
		}
		v = old.join(value{array: true, open: true, elems: []text{t}})
	}
	return v, true
}

// assigned1 expands the value of an assignment: tildes stand after colons too.
func (w *reading) assigned1(st *state, word *syntax.Word) text {
	if word == nil {
		return text{}
	}
	for i, p := range word.Parts {
		l, ok := p.(*syntax.Lit)
		if !ok || !strings.Contains(l.Value, ":~") {
			continue
		}
		parts := slices.Clone(word.Parts[:i])
		for j, piece := range strings.SplitAfter(l.Value, ":") {
			if j > 0 && strings.HasPrefix(piece, "~") {
				t := w.single(st, &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: strings.TrimSuffix(piece, ":")}}})
				if t.class != exact {
					return unknown(nil)
				}
				piece = t.s + piece[len(strings.TrimSuffix(piece, ":")):]
			}
			parts = append(parts, &syntax.SglQuoted{Value: piece})
		}
		return w.single(st, &syntax.Word{Parts: append(parts, word.Parts[i+1:]...)})
	}
	return w.single(st, word)
}

// setElement is n[index]=t.
func (w *reading) setElement(st *state, n string, a *syntax.Assign, t text) value {
	v := w.get(st, n)
	if !v.array {
		old := v
		v = value{array: true, exported: v.exported}
		if _, had := st.vars[n]; had && !old.unset {
			v.elems = []text{old.one}
		}
	}
	v.elems = slices.Clone(v.elems)
	key := w.subscript(st, v, a.Index)
	i := -1
	if v.keys != nil {
		i = slices.Index(v.keys, key)
		if i < 0 && key != "" {
			v.keys = append(slices.Clone(v.keys), key)
			v.elems = append(v.elems, t)
			return v
		}
	} else if k, ok := w.number(st, known(key), 0); ok && key != "" {
		i = k
		if i == len(v.elems) {
			v.elems = append(v.elems, t)
			return v
		}
	}
	if i < 0 || i >= len(v.elems) {
		v.open, v.elems = true, append(v.elems, t)
		return v
	}
	if a.Append {
		t = concat(v.elems[i], t)
	}
	v.elems[i] = t
	return v
}

// array reads ( ... ).
func (w *reading) array(st *state, x *syntax.ArrayExpr, assoc bool) value {
	v := value{array: true}
	for _, e := range x.Elems {
		if e.Index != nil {
			if !assoc {
				if i, ok := w.arith(st, e.Index); !ok || i != len(v.elems) {
					v.open = true
				}
			}
			t := w.single(st, e.Value)
			key := ""
			if word, ok := e.Index.(*syntax.Word); ok && assoc {
				k := w.single(st, word)
				key = k.s
				v.open = v.open || k.class != exact
			}
			if assoc {
				v.keys = append(v.keys, key)
			}
			v.elems = append(v.elems, t)
			continue
		}
		for _, f := range w.expand(st, e.Value, nil) {
			v.elems = append(v.elems, f.text)
			v.open = v.open || f.many
		}
	}
	if assoc && len(v.keys) != len(v.elems) {
		v.keys, v.open = nil, true
	}
	return v
}

// assign sets a variable, through namerefs.
func (w *reading) assign(st *state, n string, v value, keep bool) {
	written := n
	for range 8 {
		old, ok := st.vars[n]
		if !ok {
			if _, env := w.Env[n]; env {
				v.exported = true
			}
			break
		}
		if old.perhaps != "" {
			w.environment(old.perhaps, v.one, written, w.next()-1)
			st.set(old.perhaps, value{one: unknown(v.one.from)})
		}
		if old.ref == "" {
			v.exported = v.exported || old.exported
			v.integer = v.integer || old.integer
			if old.integer && !keep {
				v.one = text{class: name}
			}
			break
		}
		n = old.ref
	}
	if n == "PWD" || n == "OLDPWD" {
		v.exported = true
	}
	st.set(n, v)
	if !keep || n != written { // by read, for, printf, or through a reference
		w.environment(n, v.one, written, w.next()-1)
	}
}

func (w *reading) unset(st *state, c *call) *state {
	w.started(st, c, c.name, "", "")
	opts := ""
	for _, f := range c.words {
		switch {
		case f.class != exact:
			w.subscripted(st, f.text)
			for n := range st.vars {
				st.set(n, value{one: unknown(nil)})
			}
		case strings.HasPrefix(f.s, "-"):
			opts += f.s
		case strings.IndexByte(f.s, '[') >= 0:
			w.subscripted(st, f.text)
			n, _, _ := strings.Cut(f.s, "[")
			v := w.get(st, n)
			v.open = true
			st.set(n, v)
		default:
			if !strings.Contains(opts, "f") {
				st.set(f.s, value{unset: true})
			}
			if _, ok := st.funcs[f.s]; ok && !strings.Contains(opts, "v") {
				st.define(f.s, function{})
			}
		}
	}
	return nil
}
