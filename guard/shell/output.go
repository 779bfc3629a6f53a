package shell

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"handrail/guard"
	"handrail/guard/disk"
)

// substitute reads a command substitution and returns its value.
func (w *reading) substitute(st *state, c *syntax.CmdSubst) text {
	if c.TempFile || c.ReplyVar {
		w.hide(w.next(), "a substitution that bash may read in another way", "")
	}
	if len(c.Stmts) == 1 && c.Stmts[0].Cmd == nil && len(c.Stmts[0].Redirs) == 1 && c.Stmts[0].Redirs[0].Op == syntax.RdrIn {
		return w.fileText(st, c.Stmts[0].Redirs[0]) // $(<file)
	}
	sub := st.clone()
	sub.maybe = 0
	sub.traps = nil
	sub.out = &stream{cmd: -1}
	sub.in = st.in
	w.stmts(sub, c.Stmts)
	w.finish(sub)
	return sub.out.substituted()
}

func (w *reading) fileText(st *state, r *syntax.Redirect) text {
	sub := st.clone()
	rs := w.redirects(sub, []*syntax.Redirect{r})
	w.open(sub, &rs[0], -1)
	if sub.in == nil {
		return text{}
	}
	return sub.in.substituted()
}

// process reads <( ) and >( ) and returns what is to be read from its path.
func (w *reading) process(st *state, p *syntax.ProcSubst) *stream {
	sub := st.clone()
	sub.async++
	sub.traps = nil
	out := &stream{cmd: -1, depth: st.maybe}
	if p.Op == syntax.CmdOut {
		sub.in = &stream{text: unknown(nil), cmd: -1}
		if st.in != nil {
			sub.in.from = st.in.from
		}
		out = sub.in
	} else {
		sub.out = out
	}
	w.stmts(sub, p.Stmts)
	w.finish(sub)
	return out
}

// result is what a bound call writes to its standard output.
func (w *reading) result(k *work) stream {
	from := k.from.with(k.reads).with(k.net)
	for i := len(w.facts.Effects) - 1; i >= 0 && w.facts.Effects[i].Command == k.index; i-- {
		if e := &w.facts.Effects[i]; e.Kind == guard.System && e.Action == "secret" {
			from = from.with(taint{i})
		}
	}
	if k.starts() && k.b.Spec.Wrapper {
		return stream{text: text{class: exact}, cmd: -1} // its command has written already
	}
	return w.outcome(k.st, k.call, from)
}

// outcome is what a command writes, where that is plain from its name and words.
func (w *reading) outcome(st *state, c *call, from taint) stream {
	if c.name != "echo" && c.name != "printf" && c.name != "pwd" && c.name != "dirname" && c.name != "basename" {
		for _, f := range c.words {
			from = from.with(f.from)
		}
	}
	t := unknown(from)
	switch c.name {
	case "echo":
		t = echo(c.words)
	case "printf":
		t = format(c.words)
	case "true", ":", "false", "cd", "mkdir", "touch", "rm", "cp", "mv", "sleep", "test", "[", "export", "set", "exit", "return", "wait",
		"chmod", "chown", "kill", "type", "umask", "ln", "break", "continue":
		t = text{from: from}
		if c.name == "type" {
			t.class = wild
		}
	case "pwd":
		t = w.get(st, "PWD").one
	case "date", "whoami", "hostname", "uname", "arch", "nproc", "id", "wc", "uuidgen", "tty", "getconf", "expr", "stat", "cksum", "sha256sum",
		"sha1sum", "md5sum", "shasum", "b2sum":
		t.class = name
		if c.name == "stat" || strings.HasSuffix(c.name, "sum") || c.name == "date" && hasSlash(c.words) {
			t.class = wild
		}
		if c.name == "wc" || c.name == "cksum" {
			t.from = nil
		}
	case "seq":
		t = sequence(c.words)
	case "dirname", "basename":
		t = pathPart(c)
	case "command", "which":
		if n := len(c.words); n > 0 && c.words[n-1].class == exact && w.Table != nil && w.Table.Lookup(c.words[n-1].s) != nil && !strings.Contains(c.words[n-1].s, "/") {
			t = known("/usr/bin/" + c.words[n-1].s + "\n")
		}
	case "mktemp":
		t = text{s: "/tmp/", class: name}
		if dir := w.get(st, "TMPDIR").one; dir.class == exact && strings.HasPrefix(dir.s, "/") {
			t.s = strings.TrimRight(dir.s, "/") + "/"
		}
		if len(operands(c.words)) > 0 || hasSlash(c.words) {
			t = unknown(nil)
		}
	case "go":
		t = packages(c, t)
	case "find", "fd", "fdfind", "ls", "rg", "grep", "git":
		t = w.listed(st, c, t)
	default:
		t = w.filtered(st, c, t)
	}
	out := stream{text: t, cmd: c.index}
	if c.name == "cat" && len(c.words) == 1 && c.words[0].proc == nil && t.class == wild {
		if ps := w.places(st, c.words[0].text, false); len(ps) == 1 && ps[0].exact && ps[0].odd == "" {
			out.file = ps[0].path
		}
	}
	return out
}

func hasSlash(fs []field) bool {
	for _, f := range fs {
		if strings.Contains(f.s, "/") || f.class != exact {
			return true
		}
	}
	return false
}

// listed is the output of programs that list paths below known places.
func (w *reading) listed(st *state, c *call, t text) text {
	k := &work{reading: w, call: c, st: st, b: w.bind(c.name, words(c.words))}
	flags := " "
	sub := ""
	var ops []field
	for _, f := range c.words {
		if strings.HasPrefix(f.s, "-") {
			flags += f.s + " "
			continue
		}
		if sub == "" {
			sub = f.s
		}
		ops = append(ops, f)
	}
	here := text{s: "./", class: below}
	switch c.name {
	case "find":
		if strings.Contains(flags, "printf") || strings.Contains(flags, "-exec") {
			return t
		}
		if bs := k.found(); len(bs) > 0 {
			return bs[0]
		}
	case "fd", "fdfind":
		return here
	case "ls":
		if len(ops) == 0 {
			return text{s: "./", class: name}
		}
		if len(ops) == 1 && ops[0].class != exact && ops[0].class != wild {
			return ops[0].text
		}
		if len(ops) == 1 && ops[0].class == exact && !strings.Contains(flags, "l") {
			return text{class: name}
		}
	case "rg", "grep":
		if c.name == "rg" && strings.Contains(flags, "--files ") || strings.Contains(flags, "-l") || strings.Contains(flags, "l ") {
			all := here
			for i, f := range ops[min(1, len(ops)):] {
				at := f.text
				if at.class == exact {
					at.s, at.class = strings.TrimSuffix(at.s, "/")+"/", below
				}
				if all = all.join(at); i == 0 {
					all = at
				}
			}
			if c.name == "rg" && strings.Contains(flags, "--files ") {
				return here
			}
			return all
		}
		return w.filtered(st, c, t)
	case "git":
		t = gitOutput(w, st, sub, ops, flags, t)
		if hashes(sub, c.words) {
			t.class, t.trait = min(t.class, below), plain
		}
		return t
	}
	return t
}

// gitOutput is the output of git's own commands where it is tame.
func gitOutput(w *reading, st *state, sub string, ops []field, flags string, t text) text {
	switch sub {
	case "ls-files", "diff", "status", "ls-tree", "diff-tree":
		if sub == "ls-files" || strings.Contains(flags, "name-only") {
			return text{s: "./", class: below}
		}
	case "rev-parse":
		if strings.Contains(flags, "--show-toplevel") {
			for d, ok := st.dir(); ok; d = path.Dir(d) {
				if w.view.Stat(d+"/.git").Type != disk.Absent {
					return known(d + "\n")
				}
				if d == "/" {
					break
				}
			}
			return t
		}
		if strings.Contains(flags, "dir ") || strings.Contains(flags, "path") || strings.Contains(flags, "cdup") || strings.Contains(flags, "prefix") {
			return t
		}
		return text{class: below}
	case "branch", "describe", "merge-base", "rev-list", "symbolic-ref", "stash":
		return text{class: below}
	}
	return t
}
