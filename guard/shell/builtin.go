package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// builtin returns how a builtin of bash is read. The ones that act on the
// world as programs do (kill, test) are left to the command table.
func builtin(n string) (func(*reading, *state, *call) *state, bool) {
	switch n {
	case "cd":
		return (*reading).cd, true
	case "pushd":
		return (*reading).pushd, true
	case "popd":
		return (*reading).popd, true
	case "eval":
		return (*reading).eval, true
	case "source", ".":
		return (*reading).dot, true
	case "exec":
		return (*reading).exec, true
	case "command", "builtin":
		return (*reading).prefix, true
	case "trap":
		return (*reading).trap, true
	case "set":
		return (*reading).setArgs, true
	case "shift":
		return (*reading).shift, true
	case "export", "declare", "typeset", "local", "readonly":
		return (*reading).declareWords, true
	case "unset":
		return (*reading).unset, true
	case "read":
		return (*reading).read, true
	case "mapfile", "readarray":
		return (*reading).mapfile, true
	case "printf":
		return (*reading).printf, true
	case "getopts":
		return (*reading).getopts, true
	case "alias":
		return (*reading).defineAlias, true
	case "let":
		return (*reading).let, true
	case "hash", "enable":
		return (*reading).hash, true
	case "shopt":
		return (*reading).shopt, true
	case "test", "[":
		return (*reading).condition, true
	case "echo", "pwd", ":", "true", "false", "return", "exit", "break", "continue", "wait", "times", "type", "umask", "jobs",
		"bg", "fg", "disown", "complete", "compgen", "compopt", "bind", "caller", "dirs", "help", "logout", "suspend", "ulimit",
		"unalias":
		return (*reading).plain, true
	}
	return nil, false
}

// plain is a builtin that does nothing but print or change the shell itself.
func (w *reading) plain(st *state, c *call) *state {
	w.started(st, c, c.name, "", "")
	switch c.name {
	case "unalias":
		st.aliases = nil
	case "wait":
		for _, f := range c.words {
			w.subscripted(st, f.text)
		}
	case "complete", "compgen", "bind":
		w.completing(st, c)
	}
	st.out.add(w.outcome(st, c, nil), st.maybe)
	return nil
}

// operands returns the words after the options.
func operands(fs []field) []field {
	for i, f := range fs {
		if f.is("--") {
			return fs[i+1:]
		}
		if f.class == exact && (len(f.s) < 2 || f.s[0] != '-') || f.class != exact && !strings.HasPrefix(f.s, "-") {
			return fs[i:]
		}
	}
	return nil
}

func (w *reading) eval(st *state, c *call) *state {
	w.started(st, c, c.name, "", "")
	words := c.words
	if len(words) > 0 && words[0].is("--") {
		words = words[1:]
	}
	src := text{}
	for i, f := range words {
		if i > 0 && src.class == exact {
			src.s += " "
		}
		src = concat(src, f.text)
		if f.many && f.class != exact {
			src.class = wild
		}
	}
	if src.class != exact {
		w.shellCode(st, c, src.from, "what is evaluated is not known")
		return nil
	}
	w.source(st, src.s)
	return nil
}

// concat appends u to t.
func concat(t, u text) text {
	from := t.from.with(u.from)
	if t.class != exact {
		return text{s: t.s, class: max(t.class, tail(t.class, u.s), u.class), from: from}
	}
	j := text{s: t.s + u.s, class: u.class, from: from}
	if t.s == "" {
		j.trait = u.trait
	}
	return j
}

// shellCode says that this very shell runs text that is not known.
func (w *reading) shellCode(st *state, c *call, from taint, why string) {
	k := &work{reading: w, call: c, st: st}
	k.unknownCode(from, why, c.typed, "shell")
	st.dirs = nil
}

func (w *reading) dot(st *state, c *call) *state {
	w.started(st, c, c.name, "", "")
	ops := operands(c.words)
	if len(ops) == 0 {
		return nil
	}
	f := ops[0]
	if f.proc != nil || f.class == exact && device(path.Clean(f.s)) {
		in := f.proc
		if in == nil {
			in = w.descriptor(st, path.Clean(f.s))
		}
		if in == nil {
			return nil
		}
		if in.class != exact {
			w.shellCode(st, c, in.from, "what is sourced is not known")
			return nil
		}
		w.source(st, in.s)
		return nil
	}
	ps := w.places(st, f.text, false)
	before := st.clone()
	for i, p := range ps {
		s := script{lang: "shell", args: ops[1:], zero: st.zero, typed: f.typed, from: f.from, same: true}
		if i == 0 {
			w.script(st, c, p, s)
			continue
		}
		other := before.clone()
		w.script(other, c, p, s)
		w.merge(st, other)
	}
	return nil
}

func (w *reading) exec(st *state, c *call) *state {
	words := c.words
	for len(words) > 0 && words[0].class == exact && strings.HasPrefix(words[0].s, "-") && words[0].s != "-" {
		n := 1
		if words[0].s == "-a" {
			n = 2
		}
		if words[0].is("--") {
			words = words[1:]
			break
		}
		words = words[min(n, len(words)):]
	}
	if len(words) == 0 { // its redirections stay
		c.words = nil
		w.started(st, c, c.name, "", "")
		return nil
	}
	in, out, fds := st.in, st.out, st.fds
	c.index = w.next()
	for i := range c.rs {
		w.open(st, &c.rs[i], c.index)
	}
	w.run(st, &call{pos: c.pos, index: -1, child: true}, words)
	st.in, st.out, st.fds, st.owned = in, out, fds, st.owned&^ownFds
	return nil
}

// prefix is command and builtin: no function is meant.
func (w *reading) prefix(st *state, c *call) *state {
	words := c.words
	for len(words) > 0 && words[0].class == exact && strings.HasPrefix(words[0].s, "-") {
		if o := words[0].s; c.name == "command" && strings.ContainsAny(o, "vV") {
			w.started(st, c, c.name, "", "")
			st.out.add(w.outcome(st, c, nil), st.maybe)
			return nil
		}
		words = words[1:]
	}
	if len(words) == 0 {
		w.started(st, c, c.name, "", "")
		return nil
	}
	inner := &call{pos: c.pos, index: -1, rs: c.rs}
	c.rs = nil
	funcs, aliases := st.funcs, st.aliases
	st.funcs, st.aliases, st.owned = nil, nil, st.owned&^(ownFuncs|ownAliases)
	fail := w.run(st, inner, words)
	if len(st.funcs) == 0 {
		st.funcs = funcs
	}
	if len(st.aliases) == 0 {
		st.aliases = aliases
	}
	return fail
}

func (w *reading) trap(st *state, c *call) *state {
	w.started(st, c, c.name, "", "")
	ops := operands(c.words)
	if len(ops) < 2 || ops[0].is("-") || ops[0].is("") {
		return nil
	}
	if ops[0].class != exact {
		w.shellCode(st, c, ops[0].from, "what a trap runs is not known")
		return nil
	}
	st.traps = append(slices.Clone(st.traps), ops[0].s)
	for _, f := range ops[1:] {
		if !f.is("EXIT") && !f.is("0") { // it may come at any time
			sub := st.clone()
			sub.traps = nil
			sub.maybe++
			w.source(sub, ops[0].s)
			break
		}
	}
	return nil
}

func (w *reading) let(st *state, c *call) *state {
	w.started(st, c, c.name, "", "")
	for _, f := range c.words {
		w.expression(st, f.text)
	}
	return nil
}

// expression evaluates text as arithmetic.
func (w *reading) expression(st *state, t text) {
	if t.class != exact {
		w.number(st, t, 0)
		return
	}
	if unreadable(t.s) != "" || crowded(t.s) {
		w.hide(w.next(), "an arithmetic expression that cannot be read", t.s)
		return
	}
	x, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Arithmetic(strings.NewReader(t.s))
	if err != nil || x == nil {
		w.embedded(st, t.s)
		return
	}
	w.arith(st, x)
}

// completing reads the commands in arguments of complete, compgen and bind:
// what -C and -F name runs, -W is expanded, and -x ties keys to commands.
func (w *reading) completing(st *state, c *call) {
	for i, f := range c.words[:max(0, len(c.words)-1)] {
		arg := c.words[i+1]
		src := arg.s
		switch {
		case f.is("-C"), f.is("-F"):
		case f.is("-W"):
			src = "echo " + src
		case f.is("-x") && c.name == "bind":
			_, src, _ = strings.Cut(src, ":")
			src = strings.Trim(src, "\"' ")
		default:
			continue
		}
		if arg.class != exact {
			w.hide(c.index, "what "+c.name+" runs is not known", arg.typed)
			continue
		}
		w.source(st.clone(), src)
	}
}
