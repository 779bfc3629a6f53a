package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// loop reads a body until one more time would tell nothing new.
func (w *reading) loop(st *state, body func(*state)) {
	st.maybe++
	defer func() { st.maybe-- }()
	for round := 0; !w.over; round++ {
		commands, effects := len(w.facts.Commands), len(w.facts.Effects)
		before := st.clone()
		body(st)
		after := *st
		w.merge(st, before)
		if st.same(before) {
			return
		}
		if round == 3 {
			w.forget(st, before, &after)
		}
		if round == 4 {
			return
		}
		w.rewind(st, commands, effects)
	}
}

// rewind takes back the facts of a round that is read again knowing less.
func (w *reading) rewind(st *state, commands, effects int) {
	if w.over {
		return
	}
	w.facts.Commands = w.facts.Commands[:commands]
	w.facts.Effects = w.facts.Effects[:effects]
	cut := func(t taint) taint {
		for _, i := range t {
			if i >= effects {
				return nil
			}
		}
		return t
	}
	for n, v := range st.vars {
		v.one.from = cut(v.one.from)
		elems := v.elems
		v.elems = nil
		for _, e := range elems {
			e.from = cut(e.from)
			v.elems = append(v.elems, e)
		}
		st.set(n, v)
	}
	for p, f := range w.files {
		f.from = cut(f.from)
		w.files[p] = f
	}
	for _, s := range []*stream{st.in, st.out} {
		if s != nil {
			s.from = cut(s.from)
			if s.cmd >= commands {
				s.cmd = -1
			}
		}
	}
}

// forget gives up on what a loop changes every time.
func (w *reading) forget(st, before, after *state) {
	for n, v := range after.vars {
		if old, ok := before.vars[n]; !ok || !old.same(v) {
			st.set(n, value{one: unknown(nil), array: v.array, open: v.array, elems: []text{unknown(nil)}})
		}
	}
	st.dirs = union(st.dirs, after.dirs)
	if len(before.dirs) != len(st.dirs) {
		st.dirs = nil
	}
}

func (w *reading) forClause(st *state, c *syntax.ForClause) {
	body := func(st *state) { w.stmts(st, c.Do) }
	if l, ok := c.Loop.(*syntax.CStyleLoop); ok {
		if l.Init != nil {
			w.arith(st, l.Init)
		}
		w.loop(st, func(st *state) {
			if l.Cond != nil {
				w.arith(st, l.Cond)
			}
			body(st)
			if l.Post != nil {
				w.arith(st, l.Post)
			}
		})
		return
	}
	l, ok := c.Loop.(*syntax.WordIter)
	if !ok {
		w.hide(-1, "a loop that the reader does not know", "")
		return
	}
	var items []field
	if l.InPos.IsValid() {
		items = w.fields(st, l.Items)
	} else {
		for _, a := range st.args {
			items = append(items, field{text: a})
		}
		if st.open {
			items = append(items, field{text: unknown(nil), many: true})
		}
	}
	w.iterate(st, l.Name.Value, items, c.Select, body)
}

// iterate reads a for loop over items: each in turn where they are few and
// known, else once for all.
func (w *reading) iterate(st *state, n string, items []field, choose bool, body func(*state)) {
	few := len(items) <= 16 && !choose
	for _, f := range items {
		few = few && !f.many
	}
	if few {
		for _, f := range items {
			w.assign(st, n, value{one: f.text}, false)
			before := st.clone()
			body(st)
			w.merge(st, before) // break, continue, and failing commands
		}
		return
	}
	all := text{}
	for i, f := range items {
		if i == 0 {
			all = f.text
		}
		all = all.join(f.text)
	}
	if strings.HasPrefix(all.s, "-") && all.class != exact {
		all.s = ""
	}
	w.assign(st, n, value{one: all}, false)
	start := st.clone()
	w.loop(st, func(st *state) {
		w.assign(st, n, value{one: all}, false)
		body(st)
	})
	w.merge(st, start)
}
