package shell

import (
	"path"
	"slices"
	"strings"

	"handrail/guard"
	"handrail/guard/disk"
)

func (w *reading) cd(st *state, c *call) *state {
	w.started(st, c, c.name, "", "")
	ops := operands(c.words)
	if len(c.words) > 0 && c.words[len(c.words)-1].is("-") {
		ops = c.words[len(c.words)-1:]
	}
	to := w.get(st, "HOME").one
	switch {
	case len(ops) == 1 && ops[0].is("-"):
		st.dirs, st.old = st.old, st.dirs
		return nil
	case len(ops) == 1 && ops[0].is(""):
		return nil
	case len(ops) > 0:
		to = ops[0].text
	}
	physical := false
	for _, f := range c.words {
		physical = physical || f.is("-P")
	}
	return w.change(st, to, physical)
}

// change goes to a directory. It returns the state in which that failed. As
// in bash ".." takes away a name, unless physical; the state keeps the names of
// links, and what is resolved is the path that is made of them.
func (w *reading) change(st *state, to text, physical bool) (fail *state) {
	stay := st.clone()
	if _, ok := st.vars["CDPATH"]; ok && to.class == exact && !strings.HasPrefix(to.s, "/") && !strings.HasPrefix(to.s, ".") {
		to = unknown(nil)
	}
	var dirs []string
	there := true
	places := w.places(st, to, false)
	for i, p := range places {
		if !p.exact || p.wild || p.odd != "" {
			dirs, there = enters(places), false
			break
		}
		at := path.Clean(to.s)
		if at[0] != '/' {
			at = path.Join(stay.dirs[i], to.s)
		}
		if !physical {
			p = w.resolve(p, at, false)
		} else {
			at = p.path
		}
		dirs = append(dirs, at)
		there = there && (w.view.Stat(p.path).Type == disk.Dir || w.made(p.path))
	}
	st.dirs, st.old = dirs, stay.dirs
	if there {
		return nil
	}
	return stay
}

// made reports whether this call made a directory at p.
func (w *reading) made(p string) bool {
	if w.files[p].deep {
		return true
	}
	for i := range w.facts.Effects {
		e := &w.facts.Effects[i]
		if e.Kind == guard.Write && e.Action == "create" && e.Target == p && e.Exact {
			return true
		}
	}
	return false
}

func (w *reading) pushd(st *state, c *call) *state {
	w.started(st, c, c.name, "", "")
	ops := operands(c.words)
	was := st.dirs
	if len(ops) == 0 || strings.HasPrefix(ops[0].s, "+") {
		if len(st.stack) == 0 || len(ops) > 0 {
			st.dirs = nil
			return nil
		}
		top := len(st.stack) - 1
		st.dirs = st.stack[top]
		st.stack = append(slices.Clone(st.stack[:top]), was)
		return nil
	}
	fail := w.change(st, ops[0].text, false)
	st.stack = append(slices.Clone(st.stack), was)
	return fail
}

func (w *reading) popd(st *state, c *call) *state {
	w.started(st, c, c.name, "", "")
	if len(st.stack) == 0 || len(c.words) > 0 {
		if len(c.words) > 0 {
			st.dirs = nil
		}
		return nil
	}
	top := len(st.stack) - 1
	st.old, st.dirs, st.stack = st.dirs, st.stack[top], slices.Clone(st.stack[:top])
	return nil
}
