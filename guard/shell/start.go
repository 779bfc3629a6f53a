package shell

import (
	"path"
	"slices"
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
	if k.name == "parallel" && k.st.in != nil && !k.b.Harmless { // its input is commands
		st := k.child()
		st.in = nil
		k.inShell(st, k.st.in.text, "")
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
			if words := k.joined(p); len(words) > 1 {
				if words[0] == p.Index {
					k.join(words)
				}
				continue
			}
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
	if len(fs) > 1 && fs[0].is("--") { // after an option that ends the options
		fs = fs[1:]
	}
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
		if k.name != "find" {
			fs = placed(fs)
		}
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

// filters are options that name a program which gets data of the call.
var filters = []string{"-I", "--to-command", "--use-compress-program", "--compress-program", "--compress-prog", "--filter", "-F", "--info-script", "--new-volume-script", "--rsh-command"}

// shell reads shell source in an argument, with the words after it as $0, $1 ...
func (k *work) shell(p command.Part) {
	t := k.text(p)
	if k.name == "zsh" && strings.Contains(t.s, "(") && strings.ContainsAny(t.s, "*?") {
		k.hide(k.index, "a pattern of zsh may run code", k.typedOf(p))
	}
	st := k.child()
	st.via = nil
	if p.Index < 0 || slices.Contains(filters, p.Flag) { // the program feeds it
		st.in = &stream{text: unknown(k.from.with(k.reads)), cmd: -1}
	}
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
	st.traps = nil
	k.source(st, t.s)
	k.reading.finish(st)
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
		action := "stdin"
		if in.cmd < 0 && in.class == exact { // a here-document: it stands in the call like -c
			action = "inline"
		}
		k.inline(in.text, "", action)
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
	if t.class == exact && remote(t.s) {
		k.code(p, "downloaded")
		return
	}
	for _, pl := range k.places(k.st, t, false) {
		if device(pl.path) && pl.exact {
			in := *k.st
			in.in = k.descriptor(k.st, pl.path)
			was := k.st
			k.st = &in
			k.stdin(p)
			k.st = was
			continue
		}
		k.script(k.st, k.call, pl, script{lang: lang, args: k.rest(p), zero: t, typed: k.typedOf(p), from: t.from})
	}
	if base := path.Base(t.s); t.class == exact && lang != "shell" && k.Table != nil && k.Table.Lookup(base) != nil {
		k.run(k.child(), &call{pos: k.pos, index: -1, child: true}, append([]field{{text: known(base), typed: base}}, k.rest(p)...))
	}
}
