package shell

import (
	"strings"

	"handrail/guard"
	"handrail/guard/command"
)

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

// placed writes the marks of fd as {}: its other marks are parts of the same
// path, and without any the path comes last.
func placed(fs []field) []field {
	out, some := make([]field, 0, len(fs)+1), false
	for _, f := range fs {
		for _, mark := range [...]string{"{/}", "{//}", "{.}", "{/.}"} {
			f.s = strings.ReplaceAll(f.s, mark, "{}")
		}
		some = some || strings.Contains(f.s, "{}")
		out = append(out, f)
	}
	if !some {
		out = append(out, field{text: known("{}"), typed: "{}"})
	}
	return out
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
	named := mark != ""
	if !named && k.name != "xargs" {
		mark = "{}"
	}
	in := k.in()
	if k.has(command.Filelist) {
		in = &stream{text: unknown(k.reads), cmd: -1}
	}
	words := k.fedWords(in, mark != "" || k.b.Has("-d", "--delimiter"))
	marked := false
	for _, f := range fs {
		marked = marked || mark != "" && strings.Contains(f.s, mark)
	}
	if !marked && named && k.name == "xargs" { // no word is added
		k.run(st, &call{pos: k.pos, index: -1, child: true}, fs)
		return
	}
	if !marked {
		k.chosen(fs, words)
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
		if strings.Contains(strings.ReplaceAll(src.s, "{}", ""), "{") {
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

// chosen hides where the input says which script an interpreter runs.
func (k *work) chosen(fs, more []field) {
	if len(more) == 0 || fs[0].class != exact {
		return
	}
	b := k.bind(fs[0].s, words(append(fs[1:len(fs):len(fs)], more...)))
	for _, p := range b.Parts {
		if (p.Role == command.Script || p.Role == command.Inline) && p.Index >= len(fs)-1 {
			k.hide(k.next(), "which script runs is said by the input", fs[0].typed)
			return
		}
	}
}
