package shell

import (
	"path"
	"strings"

	"handrail/guard"
)

// script is a file that runs as code.
type script struct {
	lang  string // "" where the file itself says it
	args  []field
	zero  text
	typed string
	from  taint
	same  bool // in this very shell: source
}

// source reads text as shell source in st. What it leaves in st stays.
func (w *reading) source(st *state, src string) {
	if !w.enter() {
		return
	}
	defer w.leave()
	tree, ok := w.parse(src)
	if !ok {
		return
	}
	was := st.src
	st.src = src
	traps := st.traps
	st.traps = nil
	w.stmts(st, tree.Stmts)
	st.src = was
	st.traps = append(traps[:len(traps):len(traps)], st.traps...)
}

// script reads the call of a script file: the code is an effect, and shell
// source below a workspace root, or written by this same call, is read in place.
func (w *reading) script(st *state, c *call, p place, s script) {
	w.changed = true
	e := guard.Effect{Kind: guard.Code, Target: p.path, Written: s.typed, Exact: p.exact && !p.wild, Note: s.lang, Command: c.index}
	if e.Written == "" {
		e.Written = c.typed
	}
	i := w.emit(e)
	w.flow(i, s.from)
	if p.odd != "" || !p.exact || p.wild {
		w.hide(c.index, "which script runs is not known", e.Written)
		return
	}
	_, own := w.files[p.path]
	own = own || w.replaced(p.path, true)
	t, ok := w.content(p.path)
	if w.files[p.path].built && s.lang == "" {
		w.facts.Effects[i].Action = "project"
		return
	}
	if own {
		w.flow(i, t.from)
		if !ok {
			if f := w.facts.Effects[i].From; f >= 0 && w.facts.Effects[f].Kind == guard.Network {
				w.facts.Effects[i].Action = "downloaded"
			}
			w.hide(c.index, p.path+" is written by the same call", e.Written)
			return
		}
	} else if !w.inRoots(p.path) {
		return
	}
	if !ok {
		return // it is not there, or it is a program
	}
	if !own {
		w.record(p.path, []byte(t.s))
	}
	lang := s.lang
	if lang == "" {
		lang = shebang(t.s, p.path)
	}
	if lang != "shell" {
		w.calling(c, lang, t.s, st)
		return
	}
	s.from = s.from.with(taint{i})
	w.judge(st, c, p.path, t.s, s)
}

// judge reads a shell script in place.
func (w *reading) judge(st *state, c *call, at, src string, s script) {
	depth := 0
	for _, fr := range w.calls {
		if fr.name == at {
			depth++
			if st.async > fr.async {
				w.emit(guard.Effect{Kind: guard.System, Action: "fork-bomb", Target: at, Exact: true, Command: c.index,
					Note: at + " starts itself again and again in the background"})
				return
			}
		}
	}
	if depth > 1 {
		return
	}
	w.calls = append(w.calls, frame{name: at, async: st.async})
	defer func() { w.calls = w.calls[:len(w.calls)-1] }()
	sub := st
	if !s.same {
		sub = st.clone()
		for n, v := range sub.vars {
			if !v.exported {
				sub.set(n, value{one: unknown(nil)})
			}
		}
		sub.funcs, sub.aliases, sub.traps, sub.via, sub.errexit = exportedFuncs(sub.funcs), nil, nil, nil, false
	}
	args, open, zero := sub.args, sub.open, sub.zero
	if len(s.args) > 0 || !s.same {
		sub.args, sub.open = nil, false
		for _, f := range s.args {
			sub.args = append(sub.args, f.text)
			sub.open = sub.open || f.many
		}
	}
	if !s.same {
		sub.zero = s.zero
		if s.zero.class == exact && strings.IndexByte(s.zero.s, '/') < 0 {
			sub.zero = known(s.zero.s)
		}
	}
	before := sub.vars
	if s.same {
		sub.owned &^= ownVars // what is set from here on is seen beside before
	}
	w.source(sub, src)
	if !s.same {
		w.finish(sub)
	} else {
		w.told(sub, before, s.from)
	}
	sub.args, sub.open, sub.zero = args, open, zero
}

// told marks what a script that was read in this shell has set: it comes from
// that file.
func (w *reading) told(st *state, before map[string]value, from taint) {
	if !w.step(len(st.vars)) {
		return
	}
	for n, v := range st.vars {
		if old, ok := before[n]; !ok || !old.same(v) {
			v.one.from = v.one.from.with(from)
			st.set(n, v)
		}
	}
}

// shebang returns the language of a script by its first line or its name.
func shebang(src, at string) string {
	line, _, _ := strings.Cut(src, "\n")
	if rest, ok := strings.CutPrefix(line, "#!"); ok {
		for _, f := range strings.Fields(rest) {
			b := path.Base(f)
			switch {
			case b == "env" || strings.HasPrefix(f, "-"):
			case b == "sh" || b == "bash" || b == "dash" || b == "ksh" || b == "zsh" || b == "ash":
				return "shell"
			default:
				return strings.TrimRight(b, "0123456789.")
			}
		}
	}
	switch path.Ext(at) {
	case ".py":
		return "python"
	case ".js", ".mjs", ".cjs":
		return "js"
	case ".rb":
		return "ruby"
	case ".pl":
		return "perl"
	case ".php":
		return "php"
	}
	if strings.IndexByte(src, 0) >= 0 {
		return "binary"
	}
	return "shell" // as execve's ENOEXEC makes bash do
}
