package shell

import (
	"path"
	"strings"

	"handrail/guard"
	"handrail/guard/command"
	"handrail/guard/disk"
)

// hostOf returns the host[:port] of a URL, of user@host:path, or of a host.
func (k *work) hostOf(s string) string {
	if h, ok := command.Host(s); ok {
		return h
	}
	if i := strings.LastIndexByte(s, '@'); i >= 0 && !strings.Contains(s[:i], "/") {
		s = s[i+1:]
	}
	return s
}

// host emits an effect on a host.
func (k *work) host(kind guard.Kind, action string, p command.Part, target string) int {
	t := k.text(p)
	k.from = k.from.with(t.from)
	e := guard.Effect{Kind: kind, Action: action, Target: target, Written: k.typedOf(p), Command: k.index}
	// A URL whose host is complete is known well enough.
	e.Exact = t.class == exact || target != "" && !strings.HasSuffix(t.s, target) && strings.Contains(t.s, target)
	if target == "" && !e.Exact {
		k.hide(k.index, "which host is meant is not known", e.Written)
	}
	i := k.emit(e)
	if kind == guard.Network {
		if action == "" || action == "send" {
			k.net = k.net.with(taint{i})
		}
		if action == "send" || action == "shell" {
			k.puts = append(k.puts, i)
		}
	}
	return i
}

// url is what is fetched, or where data goes when the call sends any.
func (k *work) url(p command.Part) {
	t := k.text(p)
	if rest, ok := strings.CutPrefix(t.s, "file://"); ok {
		p.Word.Text = rest
		p.Index = -1
		k.path(p, guard.Read, "")
		return
	}
	action := ""
	if p.Role == command.SendURL || k.sends || len(t.from) > 0 && k.secret(t.from) {
		action = "send"
	}
	k.host(guard.Network, action, p, k.hostOf(t.s))
}

// secret reports whether data of files or secrets is in a text: in a URL it goes out.
func (k *work) secret(from taint) bool {
	for _, i := range from {
		if i < len(k.facts.Effects) {
			e := k.facts.Effects[i]
			if e.Kind == guard.Read && e.Action == "" || e.Kind == guard.System && e.Action == "secret" {
				return true
			}
		}
	}
	return false
}

// upload is data to be sent: "@path" and "name=@path" read a file.
func (k *work) upload(p command.Part) {
	t := k.text(p)
	k.from = k.from.with(t.from)
	s := t.s
	if i := strings.Index(s, "=@"); i >= 0 {
		s = s[i+1:]
	} else if i := strings.Index(s, "=<"); i >= 0 {
		s = "@" + s[i+2:]
	}
	file, ok := strings.CutPrefix(s, "@")
	if !ok {
		return
	}
	file, _, _ = strings.Cut(file, ";")
	if file == "-" {
		k.fed = true
		return
	}
	p.Word.Text = file
	k.reads = k.reads.with(k.path(p, guard.Read, ""))
}

// peer is a path, or a place on another machine.
func (k *work) peer(p command.Part, destination bool) {
	t := k.text(p)
	host, remote := remotePeer(t.s)
	switch {
	case remote && destination:
		k.host(guard.Network, "send", p, host)
	case remote:
		k.host(guard.Network, "", p, host)
	case destination:
		p.Deep = true
		k.puts = append(k.puts, k.path(p, guard.Write, "")...)
	default:
		k.path(p, guard.Read, "")
	}
}

// remotePeer returns the host of [user@]host:path or of a URL.
func remotePeer(s string) (host string, ok bool) {
	if h, isURL := command.Host(s); isURL && strings.Contains(s, "://") {
		return h, !strings.HasPrefix(s, "file:")
	}
	colon, slash := strings.IndexByte(s, ':'), strings.IndexByte(s, '/')
	if colon <= 0 || slash >= 0 && slash < colon {
		return "", false
	}
	host = s[:colon]
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:]
	}
	return host, true
}

// revision is a revision or a path: a path's uncommitted changes are lost.
func (k *work) revision(p command.Part) {
	t := k.text(p)
	if t.class == exact && !strings.ContainsAny(t.s, "*?[") {
		seen := false
		for _, pl := range k.places(k.st, t, false) {
			seen = seen || k.view.Stat(pl.path).Type != disk.Absent
		}
		if !seen {
			return
		}
	}
	k.path(p, guard.Delete, "discard")
}

// assigned is NAME=VALUE for the environment of what follows.
func (k *work) assigned(p command.Part) {
	t := k.text(p)
	n, v, ok := strings.Cut(t.s, "=")
	if !ok {
		if t.class != exact {
			k.hide(k.index, "an environment variable that is not known", k.typedOf(p))
		}
		return
	}
	t.s = v
	k.environment(n, t, k.typedOf(p), k.index)
	k.st.set(n, value{one: t, exported: true})
}

// config is KEY=VALUE of the program's own configuration.
func (k *work) config(p command.Part) {
	t := k.text(p)
	key, v, _ := strings.Cut(t.s, "=")
	if t.class == exact && harmlessConfig(strings.ToLower(key), v) {
		return
	}
	k.emit(guard.Effect{Kind: guard.System, Action: "environment", Target: key, Written: k.typedOf(p), Exact: t.class == exact,
		Note: "can make " + k.name + " run other code", Command: k.index})
}

// harmlessConfig reports whether a git setting can make git run nothing.
func harmlessConfig(key, v string) bool {
	if v == "" || v == "cat" || v == "true" || v == "false" {
		return !strings.HasPrefix(key, "include") && !strings.HasPrefix(key, "core.fsmonitor") || v == "false"
	}
	for _, part := range [...]string{"sshcommand", "pager", "editor", "askpass", "fsmonitor", "hookspath", "external", "textconv",
		"clean", "smudge", "process", "helper", "driver", "cmd", "program", "proxy", "command", "uploadpack", "receivepack",
		"alias.", "include", "templatedir", "attributesfile", "excludesfile", "worktree", "vcs", "insteadof", "cookiefile",
		"protocol.", "sslverify", "safe.", "credential", "difftool", "mergetool", "gpg", "http.", "remote.", "url."} {
		if strings.Contains(key, part) {
			if v == "/dev/null" && part == "hookspath" || part == "http." && strings.Contains(key, "postbuffer") {
				return true
			}
			return false
		}
	}
	return true
}

// sql reads statements for a database.
func (k *work) sql(t text) {
	k.from = k.from.with(t.from)
	if t.class != exact {
		k.hide(k.index, "statements that are not known", t.s)
		return
	}
	role := command.SQLRole(t.s)
	if role == command.Text || role == "" {
		return
	}
	kind, action, ok := role.Kind()
	if !ok {
		return
	}
	k.emit(guard.Effect{Kind: kind, Action: action, Target: k.name, Written: t.s, Exact: true, Command: k.index})
}

// program adds the parts of a sed or awk program.
func (k *work) program(p command.Part, parts []command.Part) {
	t := k.text(p)
	k.from = k.from.with(t.from)
	if t.class != exact {
		if t.class == wild {
			k.hide(k.index, "a "+k.name+" program that is not known", k.typedOf(p))
		}
		return
	}
	for _, q := range parts {
		q.Index = -1
		k.part(q)
	}
}

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
	k.start()
	from := k.from.with(k.reads).with(k.net)
	for _, i := range k.puts {
		if k.facts.Effects[i].From < 0 {
			k.flow(i, from)
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
	e := guard.Effect{Kind: guard.Write, Command: k.index, Written: k.typedOf(p), Deep: p.Deep}
	for _, pl := range k.places(k.st, t, false) {
		if device(pl.path) && pl.exact && !k.moves() {
			continue // what moves there is lost
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

// moves reports whether the call moves files.
func (k *work) moves() bool { return k.has(command.Move) }

// put writes sources to one place.
func (k *work) put(pl place, e guard.Effect, t text, from []source) {
	i := k.touch(pl, e, t)
	k.puts = append(k.puts, i)
	content := unknown(nil)
	moved := false
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
				content = f.text
			} else if to, ok := k.view.Resolve(src); k.name == "mv" && ok && to != src && pl.exact {
				k.link(pl.path, known(to)) // a link moves as what it is
				moved = true
			} else if k.name == "mv" && k.view.Stat(src).Type == disk.Dir {
				deep = true
			} else if f, ok := k.content(src); ok && k.view.Stat(src).Size < 1<<16 {
				content = f
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
			if !soft && to.class == exact && !strings.HasPrefix(to.s, "/") && len(k.st.dirs) == 1 {
				to.s = path.Join(k.st.dirs[0], to.s)
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
