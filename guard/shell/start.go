package shell

import (
	"strings"

	"handrail/guard"
	"handrail/guard/command"
)

// start reads what the call itself starts: commands, scripts and code.
func (k *work) start() {
	source := false
	if k.name == "parallel" && len(k.kids) > 0 {
		k.parallel(k.kids[0])
		return
	}
	for _, p := range k.kids {
		if k.over {
			return
		}
		switch p.Role {
		case command.Exec:
			source = true
			k.exec(p)
		case command.Shell:
			source = true
			k.shell(p)
		case command.Inline:
			source = true
			k.inline(k.text(p), k.typedOf(p), "inline")
		case command.Script:
			source = true
			k.scriptFile(p)
		case command.Stdin:
			if k.b.Spec.Lang != "" { // else it is data
				source = true
				k.stdin(p)
			}
		}
	}
	if source || k.b.Harmless || k.b.Spec == nil {
		return
	}
	switch k.b.Spec.Reads {
	case "code":
		in := command.Part{Role: command.Stdin, Index: -1}
		for _, p := range k.b.Parts { // sh -s a b
			if p.Index >= 0 && p.Flag == "" && p.Role == command.Text {
				if len(in.Rest) == 0 {
					in.Index = p.Index - 1
				}
				in.Rest = append(in.Rest, p.Word)
			}
		}
		k.stdin(in)
	case "sql":
		if k.st.in != nil && !k.has(command.SQL) {
			k.sql(k.st.in.text)
		}
	}
}

func (k *work) has(r command.Role) bool {
	for _, p := range k.b.Parts {
		if p.Role == r {
			return true
		}
	}
	return false
}

// rest returns the fields of a part's words.
func (k *work) rest(p command.Part) []field {
	fs := make([]field, 0, len(p.Rest))
	at := p.Index
	if p.Role != command.Exec {
		at++
	}
	for i, word := range p.Rest {
		f := field{text: text{s: word.Text}, typed: word.Text}
		if !word.Exact {
			f.class = wild
		}
		if j := at + i; j >= 0 && j < len(k.words) && k.words[j].s == word.Text {
			f = k.words[j]
		}
		fs = append(fs, f)
	}
	return fs
}

// exec reads the command that a wrapper, or find -exec, starts.
func (k *work) exec(p command.Part) {
	fs := k.rest(p)
	if len(fs) == 0 {
		return
	}
	st := k.child()
	st.via = append(st.via[:len(st.via):len(st.via)], k.name)
	if k.b.Spec.Reads == "args" {
		k.withArgs(st, fs)
		return
	}
	if bases := k.found(); bases != nil {
		fs = fill(fs, "{}", text{s: bases[0].s, class: bases[0].class, from: bases[0].from})
	}
	k.run(st, &call{pos: k.pos, index: -1, child: true}, fs)
}

// child returns the state of a process that this one starts: it has the
// exported variables and the directory.
func (k *work) child() *state {
	st := k.st.clone()
	for n, v := range st.vars {
		if !v.exported {
			st.set(n, value{one: unknown(nil)})
		}
	}
	return st
}

// found returns what find and fd put in place of {}: paths below their
// starting points.
func (k *work) found() []text {
	if k.name != "find" && k.name != "fd" && k.name != "fdfind" {
		return nil
	}
	var bases []text
	for _, p := range k.b.Parts {
		kind, _, ok := p.Role.Kind()
		if !ok || kind != guard.Read || p.Flag != "" || p.Index < 0 {
			continue
		}
		t := k.text(p)
		if t.class == exact {
			t.class = below
			if !strings.HasSuffix(t.s, "/") {
				t.s += "/"
			}
		}
		if len(bases) > 0 {
			t = t.join(bases[0])
			bases = bases[:0]
		}
		bases = append(bases, t)
	}
	if len(bases) == 0 {
		bases = []text{{s: "./", class: below}}
	}
	return bases
}

// fill puts a text in the place of a mark inside words.
func fill(fs []field, mark string, t text) []field {
	out := make([]field, 0, len(fs))
	for _, f := range fs {
		if i := strings.Index(f.s, mark); i >= 0 && f.class == exact {
			if t.class == exact {
				f.s = strings.ReplaceAll(f.s, mark, t.s)
			} else {
				rest := f.s[i+len(mark):]
				if i > 0 && t.class == below && strings.HasPrefix(t.s, "/") {
					t.s = t.s[1:]
				}
				f.s, f.class = f.s[:i]+t.s, t.class
				if strings.Contains(rest, "..") {
					f.class = wild
				}
			}
			f.from = f.from.with(t.from)
		}
		out = append(out, f)
	}
	return out
}

// withArgs reads what xargs and its kin start: the words that come in by the
// pipe are more arguments, or stand in the place of a mark.
func (k *work) withArgs(st *state, fs []field) {
	st.in = nil
	mark := ""
	for _, p := range k.b.Parts {
		switch p.Flag {
		case "-I", "-i", "--replace", "-J":
			mark = p.Word.Text
			if mark == "" {
				mark = "{}"
			}
		}
	}
	if mark == "" && k.name != "xargs" {
		mark = "{}"
	}
	words := k.fedWords(k.in(), mark != "")
	marked := false
	for _, f := range fs {
		marked = marked || mark != "" && strings.Contains(f.s, mark)
	}
	if !marked {
		k.run(st, &call{pos: k.pos, index: -1, child: true}, append(fs[:len(fs):len(fs)], words...))
		return
	}
	if len(words) > 8 {
		t := words[0].text
		for _, f := range words[1:] {
			t = t.join(f.text)
		}
		words = []field{{text: t}}
	}
	for _, f := range words {
		k.run(st, &call{pos: k.pos, index: -1, child: true}, fill(fs, mark, f.text))
	}
}

// parallel reads GNU parallel: a command, and after ":::" or from standard
// input the arguments that complete it. A shell runs each.
func (k *work) parallel(p command.Part) {
	fs := k.words[min(max(p.Index, 0), len(k.words)):]
	end := len(fs)
	var args []field
	for i, f := range fs {
		if !strings.HasPrefix(f.s, ":::") {
			continue
		}
		end = min(end, i)
		if f.is(":::") {
			args = append(args, fs[i+1:]...)
		} else {
			args = append(args, field{text: unknown(nil)})
		}
	}
	if end == len(fs) {
		args = k.fedWords(k.in(), true)
	}
	if len(args) > 16 {
		args = []field{{text: unknown(nil)}}
	}
	for _, arg := range args {
		src := text{}
		marked := false
		for i, f := range fs[:end] {
			if i > 0 {
				src = concat(src, known(" "))
			}
			marked = marked || strings.Contains(f.s, "{")
			src = concat(src, f.text)
		}
		if strings.Contains(src.s, "{") && !strings.Contains(src.s, "{}") {
			src = unknown(src.from) // {.}, {/} and the like
		}
		if arg.class == exact && src.class == exact {
			if marked {
				src.s = strings.ReplaceAll(src.s, "{}", shellQuote(arg.s))
			} else {
				src.s = strings.TrimLeft(src.s+" "+shellQuote(arg.s), " ")
			}
			st := k.child()
			st.in = nil
			k.inShell(st, src, "")
			continue
		}
		if end == 0 || src.class != exact {
			k.unknownCode(arg.from, "a command that is not known", k.typedOf(p), "shell")
			continue
		}
		st := k.child()
		st.in = nil
		st.args, st.open = []text{arg.text}, false
		if marked {
			src.s = strings.ReplaceAll(src.s, "{}", `"$1"`)
		} else {
			src.s += ` "$1"`
		}
		k.inShell(st, src, "")
	}
}

// in returns standard input, empty where there is none.
func (k *work) in() *stream {
	if k.st.in == nil {
		return &stream{cmd: -1}
	}
	return k.st.in
}

// fedWords returns the words that standard input gives to xargs.
func (k *work) fedWords(in *stream, whole bool) []field {
	if in.class != exact {
		t := in.text
		if t.class == wild {
			t.s = ""
		} else if t.s == "" {
			t.s = "./"
		}
		return []field{{text: t, many: true}}
	}
	var fs []field
	var items []string
	switch {
	case strings.Contains(in.s, "\x00"):
		items = strings.Split(strings.TrimSuffix(in.s, "\x00"), "\x00")
	case whole:
		items = in.lines()
	default:
		items = strings.Fields(strings.NewReplacer(`"`, "", `'`, "", `\`, "").Replace(in.s))
	}
	for _, s := range items {
		if !k.step(1) {
			break
		}
		fs = append(fs, field{text: text{s: s, from: in.from}, typed: s})
	}
	return fs
}

// shell reads shell source in an argument, with the words after it as $0, $1 ...
func (k *work) shell(p command.Part) {
	t := k.text(p)
	if k.name == "zsh" && strings.Contains(t.s, "(") && strings.ContainsAny(t.s, "*?") {
		k.hide(k.index, "a pattern of zsh may run code", k.typedOf(p))
	}
	st := k.child()
	st.via = nil
	st.funcs = exportedFuncs(st.funcs)
	st.aliases, st.traps = nil, nil
	st.zero, st.args, st.open = known(k.name), nil, false
	for i, f := range k.words[min(max(p.Index+1, 0), len(k.words)):] {
		if i == 0 {
			st.zero = f.text
		} else {
			st.args = append(st.args, f.text)
		}
		st.open = st.open || f.many
	}
	k.inShell(st, t, k.typedOf(p))
}

// inShell reads a text as shell source in a state of its own.
func (k *work) inShell(st *state, t text, typed string) {
	if t.class != exact {
		k.unknownCode(t.from, "shell source that is not known", typed, "")
		return
	}
	st.via = append(k.via[:len(k.via):len(k.via)], k.name)
	k.source(st, t.s, "")
}

func exportedFuncs(m map[string]function) map[string]function {
	var out map[string]function
	for n, f := range m {
		if f.exported {
			if out == nil {
				out = map[string]function{}
			}
			out[n] = f
		}
	}
	return out
}

// unknownCode says that code runs which is not known: downloaded, or hidden.
func (k *work) unknownCode(from taint, why, typed, lang string) {
	from = from.with(k.from)
	e := guard.Effect{Kind: guard.Code, Action: "stdin", Target: k.name, Written: typed, Note: lang, Exact: true, Command: k.index}
	for _, f := range from {
		if f < len(k.facts.Effects) && k.facts.Effects[f].Kind == guard.Network {
			e.Action = "downloaded"
		}
	}
	i := k.emit(e)
	k.changed = true
	k.flow(i, from)
	if e.Action != "downloaded" {
		j := k.hide(k.index, why, typed)
		k.flow(j, from)
	}
}

// stdin reads code that comes in by standard input.
func (k *work) stdin(p command.Part) {
	in := k.st.in
	if in == nil {
		return
	}
	lang := k.b.Spec.Lang
	if in.file != "" {
		if pl := (place{path: in.file, exact: true}); in.class != exact {
			st := k.st.clone()
			st.in = nil
			k.script(st, k.call, pl, script{lang: lang, args: k.rest(p), zero: known(k.name), from: in.from})
			return
		}
	}
	if in.class == exact && in.s == "" {
		return
	}
	if lang != "shell" {
		k.inline(in.text, "", "stdin")
		return
	}
	if in.class != exact {
		k.unknownCode(in.from, "shell source that is not known is read from standard input", "", "")
		return
	}
	st := k.child()
	st.funcs, st.aliases, st.traps, st.in = exportedFuncs(st.funcs), nil, nil, nil
	st.zero, st.args, st.open = known(k.name), nil, false
	for _, f := range k.rest(p) {
		st.args = append(st.args, f.text)
		st.open = st.open || f.many
	}
	k.inShell(st, in.text, "")
}

// scriptFile reads a file that is run as code.
func (k *work) scriptFile(p command.Part) {
	lang := k.b.Spec.Lang
	if proc := k.proc(p); proc != nil {
		in := *k.st
		in.in = proc
		k.st = &in
		k.stdin(p)
		return
	}
	t := k.text(p)
	for _, pl := range k.places(k.st, t, false) {
		if device(pl.path) && pl.exact {
			k.stdin(p)
			continue
		}
		k.script(k.st, k.call, pl, script{lang: lang, args: k.rest(p), zero: t, typed: k.typedOf(p), from: t.from})
	}
}
