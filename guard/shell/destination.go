package shell

import (
	"path"
	"strings"

	"handrail/guard"
	"handrail/guard/command"
	"handrail/guard/disk"
)

// finish places what goes into destinations, starts what the call starts, and
// lets the data flow.
func (k *work) finish() {
	for _, p := range k.b.Parts {
		if p.Role == command.Into {
			k.destination(p)
		}
	}
	if k.name == "ln" {
		k.linked()
	}
	if k.name == "git" && len(k.b.Path) > 1 && k.b.Path[1] == "clone" {
		k.cloned()
	}
	k.betrayed()
	k.start()
	from := k.from.with(k.reads).with(k.net)
	for _, i := range k.puts {
		if k.facts.Effects[i].From < 0 {
			k.flow(i, from)
		}
	}
	for _, i := range k.net {
		if k.facts.Effects[i].From < 0 {
			k.flow(i, k.from)
		}
	}
	k.fetched(from)
}

// cloned remembers the tree that git clone brings: named, or by the repository.
func (k *work) cloned() {
	dir := text{}
	for _, p := range k.b.Parts {
		if p.Index < 0 || p.Flag != "" || !p.Word.Exact {
			continue
		}
		if kind, _, ok := p.Role.Kind(); ok && kind == guard.Write {
			dir = k.text(p)
			break
		}
		if p.Role == command.Peer || p.Role == command.URL {
			dir = known(strings.TrimSuffix(path.Base(strings.TrimRight(p.Word.Text[strings.LastIndexByte(p.Word.Text, ':')+1:], "/")), ".git"))
		}
	}
	if dir.s == "" {
		return
	}
	for _, pl := range k.places(k.st, dir, false) {
		k.brought(pl, k.net)
	}
}

// fetched gives what was downloaded or copied to the files that hold it.
func (k *work) fetched(from taint) {
	for _, i := range k.puts {
		e := k.facts.Effects[i]
		if f, ok := k.files[e.Target]; ok && e.Kind == guard.Write {
			f.from = f.from.with(from)
			k.files[e.Target] = f
		}
	}
}

// destination is the path itself, or a directory into which the sources go.
func (k *work) destination(p command.Part) {
	t := k.text(p)
	if k.name == "ln" && len(k.into) == 0 && p.Flag == "" && t.class == exact { // one name: the link is made here
		t = known(path.Base(t.s))
	}
	e := guard.Effect{Kind: guard.Write, Command: k.index, Written: k.typedOf(p), Deep: p.Deep}
	for _, pl := range k.places(k.st, t, false) {
		if device(pl.path) && pl.exact && !k.replaces() {
			continue
		}
		dir := k.isDir(pl.path)
		inside := dir || len(k.into) > 1 || strings.HasSuffix(t.s, "/") || p.Flag != ""
		if !inside || !pl.exact || len(k.into) == 0 {
			k.put(pl, e, t, k.into)
			if k.view.Stat(pl.path).Type != disk.Unknown {
				continue
			}
		}
		for _, s := range k.into {
			in := pl
			if s.base == "" {
				in.exact = false
			} else {
				in = k.resolve(pl, pl.path+"/"+s.base, false)
			}
			k.put(in, e, t, []source{s})
		}
	}
}

// replaces reports whether the call puts a new file in the place of what stands
// at its destination: even a device goes, and what moves there is lost.
func (k *work) replaces() bool {
	return k.has(command.Move) || k.name == "ln" || k.name == "install" || k.name == "rsync"
}

// put writes sources to one place.
func (k *work) put(pl place, e guard.Effect, t text, from []source) {
	i := k.touch(pl, e, t)
	k.puts = append(k.puts, i)
	content := unknown(nil)
	moved, of := false, ""
	deep := e.Deep
	for _, s := range from {
		deep = deep || s.deep
		if s.effect >= 0 && k.facts.Effects[i].From < 0 {
			k.facts.Effects[i].From = s.effect
		}
		if len(from) == 1 && len(s.places) == 1 && s.places[0].exact {
			src := s.places[0].path
			if to, ok := k.links[src]; ok && pl.exact {
				k.link(pl.path, to)
				moved = true
			} else if f, ok := k.files[src]; ok {
				content, of = f.text, f.of
			} else if to, ok := k.view.Resolve(src); k.name == "mv" && ok && to != src && pl.exact {
				k.link(pl.path, known(to)) // a link moves as what it is
				moved = true
			} else if k.name == "mv" && k.view.Stat(src).Type == disk.Dir {
				deep = true
			} else if k.view.Stat(src).Type == disk.File && !k.replaced(src, true) {
				content, of = text{}, src
			}
		}
	}
	switch {
	case moved:
		return
	case deep:
		k.brought(pl, content.from)
		return
	}
	k.wrote(pl, content, false, k.st.maybe > 0)
	if f, ok := k.files[pl.path]; ok && f.class == exact {
		f.of = of
		k.files[pl.path] = f
	}
}

// linked remembers the links that ln makes.
func (k *work) linked() {
	if k.b.Spec == nil || len(k.words) == 0 {
		return
	}
	var ops []field
	soft := false
	for _, f := range k.words {
		if strings.HasPrefix(f.s, "-") {
			soft = soft || strings.HasPrefix(f.s, "--s") || !strings.HasPrefix(f.s, "--") && strings.Contains(f.s, "s")
			continue
		}
		ops = append(ops, f)
	}
	if len(ops) == 0 {
		return
	}
	dest := ops[len(ops)-1].text
	targets := ops[:len(ops)-1]
	if len(ops) == 1 {
		targets, dest = ops, known(".")
	}
	for _, pl := range k.places(k.st, dest, true) {
		for _, t := range targets {
			to := t.text
			if dir, ok := k.st.dir(); ok && !soft && to.class == exact && !strings.HasPrefix(to.s, "/") {
				to.s = path.Join(dir, to.s)
			}
			at := pl.path
			if k.isDir(at) {
				at = path.Join(at, path.Base(to.s))
			}
			if !pl.exact {
				to = unknown(nil)
			}
			k.link(at, to)
		}
	}
}

func (w *reading) link(at string, to text) {
	if w.links == nil {
		w.links = map[string]text{}
	}
	w.links[at] = to
	delete(w.files, at)
}
