package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"handrail/guard"
)

// declare reads declare, export, local, readonly, typeset, nameref.
func (w *reading) declare(st *state, d *syntax.DeclClause) {
	c := &call{name: d.Variant.Value, typed: d.Variant.Value, pos: d.Pos(), index: -1}
	var decls []*syntax.Assign
	var opts string
	for _, a := range d.Args {
		switch {
		case a.Naked && a.Name == nil:
			for _, f := range w.expand(st, a.Value, nil) {
				c.words = append(c.words, f)
				if f.class == exact && len(f.s) > 1 && (f.s[0] == '-' || f.s[0] == '+') {
					opts += f.s
				}
			}
		case a.Name != nil:
			decls = append(decls, a)
			c.words = append(c.words, field{text: known(st.typed(a)), typed: st.typed(a)})
		}
	}
	w.started(st, c, c.name, "", "")
	for _, f := range c.words {
		if f.class != exact || strings.Contains(f.s, "=") && len(decls) == 0 {
			w.declareText(st, c, f, opts)
		}
	}
	for _, a := range decls {
		n := a.Name.Value
		if strings.Contains(opts, "A") && a.Array != nil {
			st.set(n, value{array: true, keys: []string{}})
		}
		v, ok := w.assignment(st, a)
		w.declared(st, c, n, v, ok, opts, st.typed(a))
	}
}

// declared gives a variable its value and attributes.
func (w *reading) declared(st *state, c *call, n string, v value, given bool, opts, typed string) {
	if strings.Contains(opts, "f") || strings.Contains(opts, "F") {
		if f, ok := st.funcs[n]; ok && (c.name == "export" || strings.Contains(opts, "x")) {
			f.exported = true
			st.define(n, f)
		}
		return
	}
	if c.name == "local" || (c.name == "declare" || c.name == "typeset") && !strings.Contains(opts, "g") {
		if i := len(w.calls) - 1; i >= 0 && w.calls[i].locals != nil {
			if _, ok := w.calls[i].locals[n]; !ok {
				w.calls[i].locals[n] = st.lookup(n)
			}
		}
	}
	switch {
	case strings.Contains(opts, "n") && c.name != "export":
		if !given || v.one.class != exact {
			v = value{one: unknown(nil)}
		} else {
			v = value{ref: v.one.s}
		}
	case strings.Contains(opts, "-") && strings.Contains(opts, "i"):
		if given {
			w.expression(st, v.one)
		}
		v = value{one: text{class: name}, integer: true}
	case !given:
		old, ok := st.vars[n]
		switch {
		case ok && c.name != "local":
			v = old
		case ok, c.name == "local":
			v = value{}
		case strings.ContainsAny(opts, "aA"):
			v = value{array: true}
			if strings.Contains(opts, "A") {
				v.keys = []string{}
			}
		case c.name == "export" || c.name == "readonly":
			v = w.ambient(st, n)
			if _, env := w.Env[n]; !env {
				return // exporting what is not set changes nothing
			}
		default:
			v = value{unset: true}
		}
	}
	if c.name == "export" && !strings.Contains(opts, "n") || strings.Contains(opts, "x") {
		v.exported = true
	}
	if given && strings.ContainsAny(opts, "aA") && !v.array && strings.HasPrefix(v.one.s, "(") { // read as a list, and expanded once more
		w.source(st.clone(), "_="+v.one.s)
		v = value{array: true, open: true, elems: []text{unknown(v.one.from)}}
	}
	w.assign(st, n, v, true)
	if given {
		w.environment(n, v.one, typed, c.index)
	}
}

// declareText reads one word of declare that is an assignment only after
// expansion.
func (w *reading) declareText(st *state, c *call, f field, opts string) {
	n, v, ok := strings.Cut(f.s, "=")
	if i := strings.IndexByte(n, '['); i >= 0 {
		w.subscripted(st, known(n))
		n = n[:i]
	}
	n = strings.TrimSuffix(n, "+")
	if !ok || !syntax.ValidName(n) {
		if f.class != exact && !strings.HasPrefix(f.s, "-") {
			w.emit(guard.Effect{Kind: guard.System, Action: "environment", Target: n, Written: f.typed, Command: c.index,
				Note: "which variable is set is not known"})
		} else if ok || syntax.ValidName(n) {
			w.declared(st, c, n, value{}, false, opts, f.typed)
		}
		return
	}
	w.declared(st, c, n, value{one: text{s: v, class: f.class, from: f.from, trait: f.trait}}, true, opts, f.typed)
}

// declareWords is declare and its kin where they are not written plainly.
func (w *reading) declareWords(st *state, c *call) *state {
	w.started(st, c, c.name, "", "")
	opts := ""
	for _, f := range c.words {
		if f.class == exact && len(f.s) > 1 && (f.s[0] == '-' || f.s[0] == '+') {
			opts += f.s
			continue
		}
		w.declareText(st, c, f, opts)
	}
	return nil
}
