package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"handrail/guard"
)

// redirect is one redirection whose words are expanded.
type redirect struct {
	op     syntax.RedirOperator
	n      int // the descriptor, or -1 for the default of op
	name   string
	word   field
	doc    text
	sink   *stream
	paths  []place
	effect int // the effect of the file that is written, or -1
}

// redirects expands the words of redirections; nothing is opened yet.
func (w *reading) redirects(st *state, list []*syntax.Redirect) []redirect {
	if len(list) == 0 {
		return nil
	}
	rs := make([]redirect, 0, len(list))
	for _, r := range list {
		one := redirect{op: r.Op, n: -1, effect: -1}
		if r.N != nil {
			if n, err := strconv.Atoi(r.N.Value); err == nil {
				one.n = n
			} else {
				one.name = strings.Trim(r.N.Value, "{}")
			}
		}
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			one.doc = w.hereDoc(st, r)
		case syntax.WordHdoc:
			one.doc = w.single(st, r.Word)
			if one.doc.class == exact {
				one.doc.s += "\n"
			} else {
				one.doc.s = ""
			}
		default:
			one.word = w.target(st, r.Word)
		}
		rs = append(rs, one)
	}
	return rs
}

// target expands the word of a redirection: to one word, globs included.
func (w *reading) target(st *state, word *syntax.Word) field {
	fs := w.expand(st, word, nil)
	if len(fs) == 1 {
		return fs[0]
	}
	f := w.singleField(st, word, false)
	if len(fs) > 1 { // an ambiguous redirect is an error in bash
		f.class = wild
	}
	return f
}

func (w *reading) hereDoc(st *state, r *syntax.Redirect) text {
	if r.Hdoc == nil {
		return text{}
	}
	quoted := false
	for _, p := range r.Word.Parts {
		if l, ok := p.(*syntax.Lit); !ok || strings.Contains(l.Value, `\`) {
			quoted = true
		}
	}
	var t text
	if quoted {
		for _, p := range r.Hdoc.Parts {
			if l, ok := p.(*syntax.Lit); ok {
				t.s += l.Value
			} else {
				return unknown(nil)
			}
		}
	} else {
		t = w.singleField(st, r.Hdoc, true).text
	}
	if t.class != exact {
		t.s = ""
		t.class = wild
	}
	if r.Op == syntax.DashHdoc && t.class == exact {
		lines := strings.SplitAfter(t.s, "\n")
		for i := range lines {
			lines[i] = strings.TrimLeft(lines[i], "\t")
		}
		t.s = strings.Join(lines, "")
	}
	return t
}

// open lets a redirection take hold in st; its effects belong to cmd.
func (w *reading) open(st *state, r *redirect, cmd int) {
	n := r.n
	if r.name != "" { // exec {name}<>file
		w.assign(st, r.name, value{one: text{class: name}}, false)
		n = 10
	}
	switch r.op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		w.setFd(st, max(n, 0), fd{in: &stream{text: r.doc, cmd: -1}})
		return
	case syntax.DplIn, syntax.DplOut:
		if w.duplicate(st, r, n) {
			return
		}
	}
	reads := r.op == syntax.RdrIn || r.op == syntax.RdrInOut
	writes := r.op != syntax.RdrIn
	if n < 0 {
		n = 1
		if reads {
			n = 0
		}
	}
	var f fd
	if s := w.socket(r, cmd, writes); s != nil {
		f = fd{in: s, out: s}
		if writes {
			r.sink, r.effect = &stream{cmd: -1}, s.from[0]
			f.out = r.sink
		}
		w.setFd(st, n, f)
		if r.op == syntax.RdrAll || r.op == syntax.AppAll || r.op == syntax.DplOut && r.n < 0 {
			w.setFd(st, 2, f)
		}
		return
	}
	if reads {
		f.in = w.openRead(st, r, cmd)
	}
	if writes {
		f.out = w.openWrite(st, r, cmd)
	}
	w.setFd(st, n, f)
	if r.op == syntax.RdrAll || r.op == syntax.AppAll || r.op == syntax.DplOut && r.n < 0 {
		w.setFd(st, 2, f)
	}
}

func (w *reading) setFd(st *state, n int, f fd) {
	switch n {
	case 0:
		if f.in == nil {
			f.in = &stream{text: unknown(nil), cmd: -1}
		}
		st.in = f.in
	case 1:
		if f.out != nil {
			st.out = f.out
		}
	}
	if n != 0 && n != 1 || f.in != nil && f.out != nil {
		st.openFd(n, f)
	}
}

// duplicate is <&n, >&n and their closing forms. It reports false where the
// word is a file name.
func (w *reading) duplicate(st *state, r *redirect, n int) bool {
	word := strings.TrimSuffix(r.word.s, "-")
	m, err := strconv.Atoi(word)
	if r.word.class == exact && word != "" && err != nil {
		return r.op == syntax.DplIn || r.n >= 0 && r.n != 1
	}
	if n < 0 {
		n = 1
		if r.op == syntax.DplIn {
			n = 0
		}
	}
	var f fd
	switch {
	case r.word.class == exact && word == "": // closed
		f = fd{in: &stream{cmd: -1}, out: &stream{cmd: -1}}
	case r.word.class != exact:
		f, _ = st.fds[10]
		if f.in == nil {
			f.in = &stream{text: unknown(r.word.from), cmd: -1}
		}
	default:
		f = st.fds[m]
		switch m {
		case 0:
			f.in = st.in
		case 1:
			f.out = st.out
		case 2:
			if f.out == nil {
				f.out = &stream{cmd: -1}
			}
		}
	}
	w.setFd(st, n, f)
	return true
}

// descriptor returns what is read from a path that names an open descriptor:
// nil where it names none, or nothing is to be read.
func (w *reading) descriptor(st *state, p string) *stream {
	n, ok := strings.CutPrefix(p, "/dev/fd/")
	if p == "/dev/stdin" || n == "0" {
		return st.in
	}
	if !ok {
		return nil
	}
	if i, err := strconv.Atoi(n); err == nil && st.fds[i].in != nil {
		return st.fds[i].in
	}
	return &stream{text: unknown(nil), cmd: -1}
}

// openRead opens a file for reading.
func (w *reading) openRead(st *state, r *redirect, cmd int) *stream {
	if r.word.proc != nil {
		return r.word.proc
	}
	s := &stream{text: unknown(r.word.from), cmd: -1}
	for _, p := range w.places(st, r.word.text, false) {
		if device(p.path) {
			if p.path == "/dev/null" {
				s.text = text{}
			} else if in := w.descriptor(st, p.path); in != nil {
				return in
			}
			continue
		}
		i := w.touch(p, guard.Effect{Kind: guard.Read, Command: cmd, Written: r.word.typed}, r.word.text)
		s.from = s.from.with(taint{i})
		if p.exact {
			s.file = p.path
			if f, ok := w.files[p.path]; ok {
				s.text = f.text
				if f.of != "" {
					s.text = unknown(f.from)
				}
				s.from = s.from.with(taint{i})
				s.file = p.path
			}
		}
	}
	return s
}

// openWrite opens a file for writing.
func (w *reading) openWrite(st *state, r *redirect, cmd int) *stream {
	out := &stream{cmd: -1, depth: st.maybe}
	r.sink = out
	if r.word.proc != nil {
		return out
	}
	e := guard.Effect{Kind: guard.Write, Command: cmd, Written: r.word.typed}
	if r.op == syntax.AppOut || r.op == syntax.AppAll {
		e.Action = "append"
	}
	r.paths = w.places(st, r.word.text, false)
	for _, p := range r.paths {
		if !device(p.path) {
			r.effect = w.touch(p, e, r.word.text)
		}
	}
	return out
}

// socket opens bash's /dev/tcp/host/port.
func (w *reading) socket(r *redirect, cmd int, writes bool) *stream {
	action := ""
	if writes {
		action = "send"
	}
	rest, ok := strings.CutPrefix(r.word.s, "/dev/tcp/")
	if !ok {
		rest, ok = strings.CutPrefix(r.word.s, "/dev/udp/")
	}
	if !ok {
		return nil
	}
	host, port, _ := strings.Cut(rest, "/")
	if port != "" {
		host += ":" + port
	}
	i := w.emit(guard.Effect{Kind: guard.Network, Action: action, Target: host, Written: r.word.typed,
		Exact: r.word.class == exact, Command: cmd})
	if r.word.class != exact {
		w.hide(cmd, "a host that is not known", r.word.typed)
	}
	return &stream{text: unknown(taint{i}), cmd: -1}
}

// closeAll ends redirections: what was written is now in the files.
func (w *reading) closeAll(st *state, rs []redirect, cmd int) {
	for i := range rs {
		r := &rs[i]
		if r.sink == nil {
			continue
		}
		if r.effect >= 0 {
			w.flow(r.effect, r.sink.from)
		}
		add := r.op == syntax.AppOut || r.op == syntax.AppAll
		for _, p := range r.paths {
			w.wrote(p, r.sink.text, add, st.maybe > 0 || len(r.paths) > 1)
		}
	}
}
