package shell

import (
	"fmt"
	"path"
	"strings"

	"handrail/guard"
	"handrail/guard/command"
	"handrail/guard/disk"
)

func (w *reading) bind(name string, args []guard.Word) *command.Binding {
	if w.Table == nil {
		return &command.Binding{Path: []string{name}}
	}
	return w.Table.Bind(name, args)
}

// work is a binding being turned into effects.
type work struct {
	*reading
	*call
	st    *state
	b     *command.Binding
	from  taint // the data that comes in: standard input, and words that hold data
	net   taint // hosts that this command reads
	reads taint // files that this command reads
	puts  []int // effects that take the data: writes, sends
	into  []source
	sends bool
	fed   bool // standard input has been used
	peers int
	kids  []command.Part // commands, scripts and code that it starts
	fresh []string       // paths that it is the first in this call to write
}

// source is an operand that goes into a destination.
type source struct {
	places []place
	base   string // its last name; "" where it is not known
	deep   bool
	effect int
}

// binding turns a bound call into effects.
func (w *reading) binding(st *state, c *call, b *command.Binding) {
	k := &work{reading: w, call: c, st: st, b: b}
	if b.Spec.Wrapper && k.starts() {
		k.index = w.next() // of the command that it starts
		inner := st.clone()
		k.st = inner
		for i := range c.rs {
			w.open(inner, &c.rs[i], k.index)
		}
	} else if len(b.Unread) > 0 {
		w.started(st, c, c.name, "unread", "not in the table: "+strings.Join(b.Unread, " "))
	} else {
		w.started(st, c, c.name, "", "")
	}
	if b.Spec.Wrapper && len(b.Unread) > 0 && k.starts() {
		w.emit(guard.Effect{Kind: guard.Exec, Action: "unread", Target: c.name, Written: c.typed, Exact: true, Command: k.index,
			Note: "not in the table: " + strings.Join(b.Unread, " ")})
	}
	if b.Blind {
		w.hide(k.index, "which subcommand runs is not known", c.typed)
	}
	k.st = k.st.clone() // a Chdir holds for this call alone
	k.parts()
	k.finish()
	k.built()
	k.pushes()
	k.beside()
	st.out.add(w.result(k), st.maybe)
}

// starts reports whether the call has a command of its own to start.
func (k *work) starts() bool {
	for _, p := range k.b.Parts {
		if p.Role == command.Exec {
			return true
		}
	}
	return false
}

// parts goes over the words with their roles.
func (k *work) parts() {
	if k.st.in != nil {
		k.from = k.from.with(k.st.in.from)
	}
	for _, p := range k.b.Parts {
		switch p.Role {
		case command.Upload, command.SendURL:
			k.sends = true
		case command.Mention:
			k.sends = k.sends || strings.HasPrefix(p.Word.Text, "@")
		case command.Method:
			switch strings.ToUpper(p.Word.Text) {
			case "GET", "HEAD", "OPTIONS":
			default:
				k.sends = true
			}
		case command.Peer:
			k.peers++
		case "write": // curl -o: "#1" stands for what a glob of the URL came to
			if k.name == "curl" && strings.Contains(p.Word.Text, "#") {
				k.hide(k.index, "the name of the file depends on the URL", p.Word.Text)
			}
		}
	}
	last := k.peers
	for _, p := range k.b.Parts {
		if k.over {
			return
		}
		if p.Role == command.Peer {
			last--
			k.peer(p, last == 0 && k.peers > 1)
			continue
		}
		k.part(p)
	}
}

// text returns what is known of a part's word.
func (k *work) text(p command.Part) text {
	t := text{s: p.Word.Text}
	if p.Index >= 0 && p.Index < len(k.words) {
		f := k.words[p.Index]
		t.class, t.from = f.class, f.from
		if f.s == t.s {
			t.trait = f.trait
		}
	} else if !p.Word.Exact { // a template: what is not known in it comes from a word, or stays below
		t.class = below
		for _, f := range k.words {
			t.class = max(t.class, f.class)
		}
	}
	if !p.Word.Exact && t.class == exact {
		t.class = wild
	}
	return t
}

func (k *work) typedOf(p command.Part) string {
	if p.Index >= 0 && p.Index < len(k.words) && k.words[p.Index].s == p.Word.Text && k.words[p.Index].typed != "" {
		return k.words[p.Index].typed
	}
	return p.Word.Text
}

func (k *work) proc(p command.Part) *stream {
	if p.Index >= 0 && p.Index < len(k.words) {
		return k.words[p.Index].proc
	}
	return nil
}

// part turns one word into its effects.
func (k *work) part(p command.Part) {
	switch p.Role {
	case command.Text, command.Method:
		if p.Flag == "-ldflags" {
			k.linker(p)
		}
		k.from = k.from.with(k.text(p).from)
	case command.Exec, command.Shell, command.Script, command.Inline, command.Stdin:
		k.kids = append(k.kids, p)
	case command.Move:
		k.goes(p, k.path(p, guard.Read, ""), k.path(p, guard.Delete, ""))
	case command.Into:
		// Its place depends on the sources; see finish.
	case command.Chdir:
		k.chdir(p)
	case command.Sed:
		k.program(p, command.SedParts(p.Word))
	case command.Awk:
		k.program(p, command.AwkParts(p.Word))
	case command.SQL:
		k.sql(k.text(p))
	case command.URL, command.SendURL:
		k.url(p)
	case command.Upload, command.Mention:
		k.upload(p)
	case command.RevPath:
		k.revision(p)
	case command.Assign:
		k.assigned(p)
	case command.Config:
		k.config(p)
	case command.Dest:
		k.host(guard.Network, "shell", p, k.hostOf(p.Word.Text))
	case command.Process:
		k.effect(guard.System, "process", p)
	case command.Filelist:
		k.path(p, guard.Read, "")
		k.hide(k.index, "arguments that are read from a file", k.typedOf(p))
	default:
		kind, action, ok := p.Role.Kind()
		if !ok {
			k.hide(k.index, fmt.Sprintf("role %s", p.Role), p.Word.Text)
			return
		}
		k.kind(p, kind, action)
	}
}

// kind turns a word whose role is an effect into it.
func (k *work) kind(p command.Part, kind guard.Kind, action string) {
	switch kind {
	case guard.Read:
		is := k.path(p, kind, action)
		if action == "" {
			k.goes(p, is, nil)
		}
	case guard.Write:
		k.puts = append(k.puts, k.path(p, kind, action)...)
	case guard.Delete:
		k.path(p, kind, action)
	case guard.Network:
		k.host(kind, action, p, k.hostOf(p.Word.Text))
	case guard.Code:
		k.code(p, action)
	default:
		k.effect(kind, action, p)
	}
}

// path turns a word into an effect on a path: one for each directory that the
// call may run in.
func (k *work) path(p command.Part, kind guard.Kind, action string) (is []int) {
	if proc := k.proc(p); proc != nil {
		k.from = k.from.with(proc.from)
		return nil
	}
	t := k.text(p)
	if t.class == exact && t.s == "" && p.Index >= 0 {
		return nil // no file has an empty name
	}
	link := kind == guard.Delete || p.Role == command.Move
	e := guard.Effect{Kind: kind, Action: action, Command: k.index, Written: k.typedOf(p), Deep: p.Deep}
	if p.Index >= 0 && p.Index < len(k.words) && k.words[p.Index].many && t.class == wild {
		e.Deep = e.Deep || kind == guard.Delete // it may be an option too
	}
	for _, pl := range k.places(k.st, t, link) {
		if device(pl.path) && pl.exact && kind != guard.Delete && (action != "metadata" || k.name == "touch") {
			if in := k.descriptor(k.st, pl.path); in != nil {
				k.from = k.from.with(in.from)
			}
			continue
		}
		i := k.touch(pl, e, t)
		is = append(is, i)
		switch {
		case kind == guard.Read && action == "":
			k.reads = k.reads.with(taint{i})
			if f, ok := k.files[pl.path]; ok {
				k.reads = k.reads.with(f.from)
			}
		case kind == guard.Write && action != "metadata":
			k.written(pl, e, p.Index < 0)
		case kind == guard.Delete:
			delete(k.links, pl.path)
			delete(k.files, pl.path)
		}
	}
	return is
}

// written remembers that a path no longer holds what the disk shows.
func (k *work) written(pl place, e guard.Effect, template bool) {
	switch {
	case template && !pl.exact && e.Action == "": // an archive is unpacked there
		k.brought(pl, nil)
	case !e.Deep && k.view.Stat(pl.path).Type == disk.Dir: // files in it
	case e.Action == "create":
		if k.name == "mkdir" {
			return
		}
		k.wrote(pl, text{}, true, k.st.maybe > 0)
	case e.Deep:
		k.brought(pl, nil)
	case k.name == "tee" && k.st.in != nil:
		k.wrote(pl, k.st.in.text, k.b.Has("-a"), k.st.maybe > 0)
	default:
		if f, had := k.files[pl.path]; !had || f.built {
			k.fresh = append(k.fresh, pl.path)
		}
		k.wrote(pl, unknown(nil), false, true)
	}
}

// effect emits an effect whose target is not a path.
func (k *work) effect(kind guard.Kind, action string, p command.Part) int {
	t := k.text(p)
	k.from = k.from.with(t.from)
	target := t.s
	switch {
	case t.trait == ownID:
		target = "$!"
	case target == "" && t.class == exact:
		target = k.name
	}
	return k.emit(guard.Effect{Kind: kind, Action: action, Target: target, Written: k.typedOf(p), Exact: t.class == exact,
		Deep: p.Deep, Command: k.index})
}

// source notes an operand that may go into a destination.
func (k *work) goes(p command.Part, is, gone []int) {
	t := k.text(p)
	s := source{deep: p.Deep, effect: -1}
	if len(is) > 0 {
		s.effect = is[0]
	}
	if len(is) > 0 || len(gone) > 0 {
		s.places = k.places(k.st, t, true)
	}
	if t.class == exact {
		s.base = path.Base(strings.TrimRight(t.s, "/"))
		if s.base == "." || s.base == ".." || s.base == "/" {
			s.base = ""
		}
	}
	k.into = append(k.into, s)
}

// chdir changes the directory for the rest of the call.
func (k *work) chdir(p command.Part) {
	k.st.dirs = enters(k.places(k.st, k.text(p), false))
}
