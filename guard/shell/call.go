package shell

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"

	"handrail/guard"
	"handrail/guard/disk"
)

// call is one simple command being read.
type call struct {
	name  string
	words []field // after the name
	args  []guard.Word
	typed string // the name as it stands in the source
	pos   syntax.Pos
	rs    []redirect
	index int // in Facts.Commands, or -1 before it is there
	via   []string
	child bool   // started by another program: no builtin, no function
	out   stream // what it writes
}

// simple reads a simple command: assignments, words, redirections.
func (w *reading) simple(st *state, x *syntax.CallExpr, redirs []*syntax.Redirect) (fail *state) {
	if len(x.Args) == 0 {
		w.assigns(st, x.Assigns, -1)
		rs := w.redirects(st, redirs)
		inner := st.clone()
		for i := range rs {
			w.open(inner, &rs[i], -1)
		}
		w.closeAll(inner, rs, -1)
		return nil
	}
	words := w.fields(st, x.Args)
	rs := w.redirects(st, redirs)
	c := &call{pos: x.Pos(), rs: rs, index: -1}
	if len(words) == 0 { // every word was empty
		w.assigns(st, x.Assigns, -1)
		words = []field{{text: known(":")}}
	} else if len(x.Assigns) > 0 {
		return w.assigned(st, x.Assigns, c, words)
	}
	return w.run(st, c, words)
}

// assigned runs a command with assignments before it: they hold for it alone.
func (w *reading) assigned(st *state, list []*syntax.Assign, c *call, words []field) (fail *state) {
	saved := make(map[string]*value, len(list))
	for _, a := range list {
		if a.Name != nil {
			saved[a.Name.Value] = st.lookup(a.Name.Value)
		}
	}
	w.assigns(st, list, w.next())
	for _, a := range list {
		if a.Name != nil {
			if v, ok := st.vars[a.Name.Value]; ok {
				v.exported = true
				st.set(a.Name.Value, v)
			}
		}
	}
	fail = w.run(st, c, words)
	for _, s := range []*state{st, fail} {
		if s == nil {
			continue
		}
		s.restore(saved)
	}
	return fail
}

// next is the index that the next command will have.
func (w *reading) next() int { return len(w.facts.Commands) }

// mostWords bounds the words of one command: what judges a word may look at all
// the others.
const mostWords = 4000

// started adds the command and its Exec effect, and opens its redirections.
func (w *reading) started(st *state, c *call, name, action, note string) {
	if len(w.facts.Commands) >= w.limits.Commands {
		w.limit("too many commands")
	}
	if len(c.words) > mostWords {
		w.limit("too many words for one command")
		c.words = c.words[:mostWords]
	}
	c.args = words(c.words)
	from := -1
	if st.in != nil {
		from = st.in.cmd
	}
	c.index = w.next()
	w.facts.Commands = append(w.facts.Commands, guard.Command{Name: name, Args: c.args, Via: c.via, From: from,
		Line: c.pos.Line(), Column: c.pos.Col()})
	if name != "" {
		w.emit(guard.Effect{Kind: guard.Exec, Action: action, Target: name, Written: c.typed, Note: note, Exact: true, Command: c.index})
	}
	c.out.cmd = c.index
	for i := range c.rs {
		w.open(st, &c.rs[i], c.index)
	}
}

// run reads the call of words[0] with the rest as arguments.
func (w *reading) run(st *state, c *call, words []field) (fail *state) {
	if !w.enter() {
		return nil
	}
	defer w.leave()
	c.via = st.via
	in, out, fds := st.in, st.out, st.fds
	head := words[0]
	c.words, c.typed = words[1:], head.typed
	if st.async > 0 && itself(words) && w.bare() {
		w.emit(guard.Effect{Kind: guard.System, Action: "fork-bomb", Target: head.s, Written: head.typed, Exact: true, Command: w.next(),
			Note: "starts itself again and again in the background"})
	}
	if head.class != exact || head.proc != nil {
		w.hidden(st, c, head)
	} else {
		c.name = head.s
		fail = w.named(st, c)
	}
	w.closeAll(st, c.rs, c.index)
	if c.name != "exec" || len(c.words) > 0 {
		st.in, st.out, st.fds, st.owned = in, out, fds, st.owned&^ownFds
	}
	if fail != nil {
		fail.in, fail.out, fail.fds, fail.owned = in, out, fds, fail.owned&^ownFds
	}
	return fail
}

// hidden is a call of a command whose name is not known.
func (w *reading) hidden(st *state, c *call, head field) {
	w.started(st, c, "", "", "")
	why := "which command runs is not known"
	if len(head.from) > 0 && head.from[0] < len(w.facts.Effects) && w.facts.Effects[head.from[0]].Kind == guard.Network {
		why = "which command runs comes from the network"
	}
	i := w.hide(c.index, why, head.typed)
	w.flow(i, head.from)
	w.changed = true
	st.out.add(stream{text: unknown(nil), cmd: c.index}, st.maybe)
}

// named finds what a name means: alias, function, builtin, program.
func (w *reading) named(st *state, c *call) (fail *state) {
	if strings.ContainsFunc(c.name, blank) {
		w.hide(w.next(), "the command's name holds a space or a character that is not seen", c.typed)
	}
	if c.child {
		w.program(st, c)
		return nil
	}
	if a, ok := st.aliases[c.name]; ok && c.typed == c.name {
		if c.name != firstWord(a.s) {
			w.aliased(st, c, a)
		}
	}
	if f, ok := st.funcs[c.name]; ok {
		fail = w.function(st, c, f)
		if !f.maybe {
			return fail
		}
		c = &call{name: c.name, words: c.words, typed: c.typed, pos: c.pos, rs: nil, index: -1, via: c.via}
	}
	if b, ok := builtin(c.name); ok {
		return b(w, st, c)
	}
	w.program(st, c)
	return nil
}

// blank reports whether r looks like the space between words, or like nothing.
func blank(r rune) bool {
	return r > unicode.MaxASCII && (unicode.IsSpace(r) || unicode.In(r, unicode.Cf, unicode.Zs))
}

func firstWord(s string) string {
	f := strings.Fields(s)
	if len(f) == 0 {
		return ""
	}
	return f[0]
}

// function reads the body of a function with the call's arguments.
func (w *reading) function(st *state, c *call, f function) (fail *state) {
	w.started(st, c, c.name, "", "")
	var key strings.Builder
	for _, a := range c.words {
		key.WriteString(a.s)
		key.WriteByte(0)
		key.WriteByte(byte('0' + a.class))
	}
	depth := 0
	for _, fr := range w.calls {
		if fr.name != c.name {
			continue
		}
		if depth++; st.async > fr.async && !w.over {
			w.emit(guard.Effect{Kind: guard.System, Action: "fork-bomb", Target: c.name, Exact: true, Command: c.index,
				Note: c.name + " starts itself again and again in the background"})
			return nil
		}
		if fr.args == key.String() {
			return nil // the same once more
		}
	}
	if depth > 4 {
		w.hide(c.index, "a function calls itself too deep to be followed", c.typed)
		return nil
	}
	w.calls = append(w.calls, frame{name: c.name, args: key.String(), async: st.async, locals: map[string]*value{}})
	args, open, src := st.args, st.open, st.src
	st.args, st.open, st.src = nil, false, f.src
	for _, a := range c.words {
		st.args = append(st.args, a.text)
		st.open = st.open || a.many
	}
	before := st.clone()
	for i, body := range f.bodies {
		if i == 0 {
			fail = w.stmt(st, body)
			continue
		}
		other := before.clone()
		w.stmt(other, body)
		w.merge(st, other)
	}
	locals := w.calls[len(w.calls)-1].locals
	w.calls = w.calls[:len(w.calls)-1]
	for _, s := range []*state{st, fail} {
		if s != nil {
			s.args, s.open, s.src = args, open, src
			s.restore(locals)
		}
	}
	return fail
}

// restore gives variables that were local to a function their old values.
func (st *state) restore(locals map[string]*value) {
	for n, v := range locals {
		if v != nil {
			st.set(n, *v)
			continue
		}
		st.set(n, value{})
		delete(st.vars, n)
	}
}

// systemDirs hold installed programs, known by their base names.
var systemDirs = []string{"/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin",
	"/opt/homebrew/bin", "/snap/bin", "/usr/games", "/usr/local/go/bin"}

// program reads the call of a program by its name or path.
func (w *reading) program(st *state, c *call) {
	if strings.IndexByte(c.name, '/') < 0 {
		w.bound(st, c, c.name)
		return
	}
	ps := w.places(st, known(c.name), false)
	link := w.places(st, known(c.name), true)
	for i, p := range ps {
		for _, at := range []place{link[i], p} { // a link among the programs is named as it is called
			if p.exact && slices.Contains(systemDirs, path.Dir(at.path)) && len(ps) == 1 && !w.inRoots(p.path) {
				w.bound(st, c, path.Base(at.path))
				return
			}
		}
	}
	w.execute(st, c, ps)
}

// execute reads the call of a program file that is not installed.
func (w *reading) execute(st *state, c *call, ps []place) {
	base := path.Base(c.name)
	if w.Table != nil && w.Table.Lookup(base) != nil && !strings.HasSuffix(base, ".sh") {
		w.bound(st, c, base)
	} else {
		w.started(st, c, base, "", "")
		st.out.add(stream{text: unknown(nil), cmd: c.index}, st.maybe)
	}
	w.changed = true
	for _, p := range ps {
		w.script(st, c, p, script{lang: "", args: c.words, zero: known(c.name)})
	}
}

// bound reads the call of an installed program by what the table knows.
func (w *reading) bound(st *state, c *call, name string) {
	c.name = name
	b := w.bind(name, words(c.words))
	if b.Spec == nil {
		w.started(st, c, name, "unlisted", "")
		w.changed = true
		st.out.add(w.outcome(st, c, taint(nil).with(w.incoming(st))), st.maybe)
		return
	}
	w.binding(st, c, b)
}

// incoming are the effects whose data comes in by the pipe.
func (w *reading) incoming(st *state) taint {
	if st.in == nil {
		return nil
	}
	return st.in.from
}

// isDir reports whether a directory stands at p, or will when this is reached.
func (w *reading) isDir(p string) bool {
	if w.files[p].deep {
		return true
	}
	return w.view.Stat(p).Type == disk.Dir
}
