package shell

import (
	"strings"

	"handrail/guard"
	"handrail/guard/command"
)

// inline reads code of another language that is given on the command line or
// on standard input.
func (k *work) inline(t text, typed, action string) {
	lang := k.b.Spec.Lang
	if lang == "shell" {
		k.inShell(k.child(), t, typed)
		return
	}
	if t.class != exact {
		k.unknownCode(t.from, lang+" code that is not known", typed, lang)
		return
	}
	i := k.emit(guard.Effect{Kind: guard.Code, Action: action, Target: k.name, Written: typed, Note: lang, Exact: true, Command: k.index})
	k.changed = true
	k.flow(i, t.from)
	k.calling(k.call, lang, t.s, k.st)
	k.removing(lang, t.s)
}

// code is a word that names code: a file, a target, a directory.
func (k *work) code(p command.Part, action string) {
	t := k.text(p)
	k.changed = true
	if t.class == exact && (strings.HasPrefix(t.s, "data:") || strings.HasPrefix(t.s, "{") || t.s == "-") { // the code itself, or standard input
		how := "inline"
		if t.s == "-" {
			how = "stdin"
		}
		i := k.emit(guard.Effect{Kind: guard.Code, Action: how, Target: k.name, Written: k.typedOf(p), Note: k.b.Spec.Lang, Exact: true, Command: k.index})
		k.flow(i, k.from)
		return
	}
	if t.class == exact && remote(t.s) {
		i := k.emit(guard.Effect{Kind: guard.Code, Action: "downloaded", Target: t.s, Written: k.typedOf(p), Note: k.b.Spec.Lang, Exact: true, Command: k.index})
		k.flow(i, k.from)
		return
	}
	note := ""
	if action == "project" && t.class == exact && !strings.ContainsAny(t.s, "./") { // "build", "git hooks": what the project defines here
		note, t.s = t.s, ""
	}
	for _, pl := range k.places(k.st, t, false) {
		i := k.emit(guard.Effect{Kind: guard.Code, Action: action, Target: pl.path, Written: k.typedOf(p), Exact: pl.exact && !pl.wild,
			Note: note, Deep: p.Deep, Command: k.index})
		if pl.odd != "" || pl.wild || k.replaced(pl.path, false) {
			k.hide(k.index, "which code runs is not known", k.typedOf(p))
		}
		if f, ok := k.files[pl.path]; ok && f.class != exact && !f.built {
			k.flow(i, f.from)
			k.hide(k.index, pl.path+" is written by the same call", k.typedOf(p))
		}
	}
}

// remote reports whether code is named by a URL.
func remote(s string) bool {
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "ftp://")
}

// callers are the functions of other languages that run a shell command or a
// program given as text.
var callers = []string{"system", "popen", "exec", "execSync", "execFile", "execFileSync", "spawn", "spawnSync", "run", "call",
	"check_call", "check_output", "Popen", "getoutput", "getstatusoutput", "shell_exec", "passthru", "proc_open", "capture3",
	"capture2", "open3", "os.execute", "cmd", "IO.popen", "$"}

// calling reads the shell commands that stand as constants in code of another
// language. It finds what is plain to see and no more: the code is an effect
// of its own anyway.
func (w *reading) calling(c *call, lang, code string, st *state) {
	if len(code) > 16<<10 || !w.enter() {
		return
	}
	defer w.leave()
	for i := 0; i < len(code) && w.step(1); i++ {
		switch ch := code[i]; {
		case ch == '`' && (lang == "ruby" || lang == "perl" || lang == "php"):
			if j := strings.IndexByte(code[i+1:], '`'); j >= 0 {
				w.spoken(c, st, code[i+1:i+1+j])
				i += j + 1
			}
		case ch == '(' || ch == ' ' && lang != "python" && lang != "js":
			if called(code[:i]) {
				if cmd, ok := literal(code[i+1:]); ok {
					w.spoken(c, st, cmd)
				}
			}
		}
	}
}

// called reports whether s ends in the name of a caller.
func called(s string) bool {
	s = strings.TrimRight(s, " ")
	for _, n := range callers {
		if rest, ok := strings.CutSuffix(s, n); ok && (rest == "" || !identifier(rest[len(rest)-1])) {
			return true
		}
	}
	return false
}

func identifier(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// literal returns the shell command in a leading string or list of strings.
func literal(s string) (cmd string, ok bool) {
	s = strings.TrimLeft(s, " \t\n([")
	var ws []string
	for len(s) > 0 && len(ws) < 64 {
		s = strings.TrimLeft(s, "fbru")
		if s == "" || s[0] != '"' && s[0] != '\'' && s[0] != '`' {
			break
		}
		q := s[:1]
		if strings.HasPrefix(s, q+q+q) {
			q = s[:3]
		}
		end := len(q)
		for end < len(s) && !strings.HasPrefix(s[end:], q) {
			if s[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(s) {
			break
		}
		ws = append(ws, unescape(s[len(q):end]))
		s = strings.TrimLeft(s[end+len(q):], " \t\n")
		rest, more := strings.CutPrefix(s, ",")
		if !more {
			break
		}
		s = strings.TrimLeft(rest, " \t\n[")
	}
	if len(ws) == 0 {
		return "", false
	}
	if len(ws) == 1 {
		return ws[0], true
	}
	for i := range ws {
		ws[i] = shellQuote(ws[i])
	}
	return strings.Join(ws, " "), true
}

func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	return ansiC(s)
}

// spoken reads a command that stands in code of another language.
func (w *reading) spoken(c *call, st *state, cmd string) {
	if strings.TrimSpace(cmd) == "" {
		return
	}
	sub := st.clone()
	sub.funcs, sub.aliases, sub.in = nil, nil, nil
	sub.out = &stream{cmd: -1}
	sub.maybe++
	sub.via = append(c.via[:len(c.via):len(c.via)], c.name)
	effects := len(w.facts.Effects)
	sub.traps = nil
	w.source(sub, cmd)
	w.finish(sub)
	for i := effects; i < len(w.facts.Effects); i++ { // a string that is no command says nothing
		if e := &w.facts.Effects[i]; e.Kind == guard.Unknown && e.Action == "unparsed" && e.Command < 0 {
			e.Command = c.index
		}
	}
}

// linker looks at the flags that go gives its linker: which program links, and
// what that loads, is another program's code.
func (k *work) linker(p command.Part) {
	s := k.text(p).s
	for _, part := range [...]string{"-extld=", "-extld ", "-extar=", "-extar ", "plugin", "-wrapper", "-specs", "-fuse-ld=/", "-B/", "-B."} {
		if strings.Contains(s, part) {
			k.emit(guard.Effect{Kind: guard.Exec, Action: "unread", Target: k.name, Written: k.typedOf(p), Exact: true, Command: k.index,
				Note: "the linker's flags name another program"})
			return
		}
	}
}
