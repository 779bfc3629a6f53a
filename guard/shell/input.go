package shell

import (
	"fmt"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"handrail/guard"
	"handrail/guard/command"
)

// read is the builtin read: its variables take a line of standard input.
func (w *reading) read(st *state, c *call) *state {
	w.started(st, c, c.name, "", "")
	in := st.in
	if in == nil {
		in = &stream{}
	}
	var names []string
	array, raw := "", false
	for i := 0; i < len(c.words); i++ {
		f := c.words[i]
		o := f.s
		if f.class == exact && len(o) > 1 && o[0] == '-' && len(names) == 0 {
			raw = raw || strings.Contains(o, "r")
			last := o[len(o)-1]
			if strings.IndexByte("adinNptu", last) >= 0 && i+1 < len(c.words) {
				i++
				if last == 'a' {
					array = c.words[i].s
				}
				if last != 'a' && last != 'p' && last != 't' {
					in = &stream{text: unknown(in.from), cmd: in.cmd} // another descriptor or delimiter
				}
			}
			continue
		}
		w.subscripted(st, f.text)
		n, _, _ := strings.Cut(o, "[")
		if f.class != exact || !syntax.ValidName(n) {
			continue
		}
		names = append(names, n)
	}
	line := in.text
	if line.class == exact {
		line.s, _, _ = strings.Cut(line.s, "\n")
		if !raw && strings.IndexByte(line.s, '\\') >= 0 {
			line = unknown(line.from)
		}
		if st.maybe > 0 && strings.Count(strings.TrimSuffix(in.s, "\n"), "\n") > 0 { // a loop reads line after line
			line = anyOf(in)
		}
	}
	if array != "" {
		w.assign(st, array, value{array: true, open: true, elems: []text{line.part()}}, false)
	}
	if len(names) == 0 && array == "" {
		names = []string{"REPLY"}
	}
	w.spreadLine(st, names, line)
	return nil
}

// anyOf returns what holds for every line of a known stream.
func anyOf(in *stream) text {
	t := text{}
	for i, l := range in.lines() {
		if i == 0 {
			t = text{s: l, from: in.from}
			continue
		}
		t = t.join(text{s: l, from: in.from})
	}
	return t
}

// part returns what may be told of a word of t.
func (t text) part() text {
	if t.class == exact {
		return text{class: wild, from: t.from}
	}
	return t
}

// spreadLine splits a line over variables.
func (w *reading) spreadLine(st *state, names []string, line text) {
	ifs, ok := w.ifs(st)
	if line.class != exact || !ok {
		for i, n := range names {
			t := line
			if len(names) > 1 || i > 0 {
				t = unknown(line.from)
			}
			w.assign(st, n, value{one: t}, false)
		}
		return
	}
	rest := strings.Trim(line.s, " \t")
	for i, n := range names {
		t := text{from: line.from}
		if i == len(names)-1 {
			t.s = rest
			if strings.Trim(ifs, " \t\n") == "" && ifs == "" {
				t.s = line.s
			}
		} else {
			pieces, _, _ := splitIFS(rest, ifs)
			if len(pieces) > 0 {
				t.s = pieces[0]
				j := strings.Index(rest, pieces[0]) + len(pieces[0])
				rest = rest[j:]
				if rest != "" {
					rest = strings.TrimLeft(rest[1:], " \t")
				}
			}
		}
		w.assign(st, n, value{one: t}, false)
	}
}

func (w *reading) mapfile(st *state, c *call) *state {
	w.started(st, c, c.name, "", "")
	n := "MAPFILE"
	trim := false
	for i := 0; i < len(c.words); i++ {
		f := c.words[i]
		switch {
		case f.is("-C"):
			if i++; i < len(c.words) {
				if c.words[i].class == exact {
					w.source(st.clone(), c.words[i].s, "")
				} else {
					w.hide(c.index, "what mapfile calls is not known", c.words[i].typed)
				}
			}
		case f.is("-t"):
			trim = true
		case strings.HasPrefix(f.s, "-") && len(f.s) == 2:
			i++
		case !strings.HasPrefix(f.s, "-") && f.class == exact:
			n = f.s
		}
	}
	v := value{array: true, open: true, elems: []text{unknown(nil)}}
	if st.in != nil {
		v.elems[0] = st.in.text
		if st.in.class == exact {
			v = value{array: true}
			for _, l := range st.in.lines() {
				if !trim {
					l += "\n"
				}
				v.elems = append(v.elems, text{s: l, from: st.in.from})
			}
		}
	}
	if syntax.ValidName(n) {
		w.assign(st, n, v, false)
	}
	return nil
}

func (w *reading) printf(st *state, c *call) *state {
	w.started(st, c, c.name, "", "")
	words := c.words
	to := ""
	if len(words) > 1 && words[0].is("-v") {
		w.subscripted(st, words[1].text)
		to = words[1].s
		words = words[2:]
	} else if len(words) > 0 && strings.HasPrefix(words[0].s, "-v") && len(words[0].s) > 2 {
		w.subscripted(st, text{s: words[0].s[2:], class: words[0].class})
		to, words = words[0].s[2:], words[1:]
	}
	t := format(words)
	if to == "" {
		st.out.add(stream{text: t, cmd: c.index}, st.maybe)
		return nil
	}
	n, _, indexed := strings.Cut(to, "[")
	if syntax.ValidName(n) {
		v := value{one: t}
		if indexed {
			v = w.get(st, n).join(value{array: true, open: true, elems: []text{t}})
		}
		w.assign(st, n, v, false)
		w.environment(n, t, c.typed, c.index)
	}
	return nil
}

// format is printf's output.
func format(words []field) text {
	var from taint
	open := false
	for _, f := range words {
		from = from.with(f.from)
		open = open || f.class != exact || f.many
	}
	if len(words) > 0 && words[0].is("--") {
		words = words[1:]
	}
	if len(words) == 0 {
		return text{}
	}
	if open {
		f := words[0].s
		if len(words) == 2 && words[0].class == exact && (f == "%s" || f == "%s\\n") {
			t := words[1].text
			return t
		}
		return unknown(from)
	}
	f, args := words[0].s, words[1:]
	var b strings.Builder
	for first := true; first || len(args) > 0; first = false {
		n := len(args)
		ok := formatOnce(&b, f, &args)
		if !ok || b.Len() > 1<<16 {
			return unknown(from)
		}
		if len(args) == n {
			break
		}
	}
	return text{s: b.String(), from: from}
}

func formatOnce(b *strings.Builder, f string, args *[]field) bool {
	arg := func() string {
		if len(*args) == 0 {
			return ""
		}
		s := (*args)[0].s
		*args = (*args)[1:]
		return s
	}
	for i := 0; i < len(f); i++ {
		switch {
		case f[i] == '\\' && i+1 < len(f):
			j := i + 2
			for j < len(f) && j < i+10 && f[j] != '\\' && f[j] != '%' {
				j++
			}
			b.WriteString(ansiPrintf(f[i:j]))
			i = j - 1
		case f[i] != '%':
			b.WriteByte(f[i])
		default:
			j := i + 1
			for j < len(f) && strings.IndexByte("-+ #0123456789.*", f[j]) >= 0 {
				j++
			}
			if j >= len(f) || j-i > 5 || strings.Contains(f[i:j], "*") || b.Len() > 1<<16 {
				return false
			}
			switch f[j] {
			case '%':
				b.WriteByte('%')
			case 's':
				fmt.Fprintf(b, f[i:j]+"s", arg())
			case 'b':
				b.WriteString(ansiPrintf(arg()))
			case 'q':
				b.WriteString(shellQuote(arg()))
			case 'd', 'i', 'x', 'X', 'o', 'u':
				s := arg()
				n, err := strconv.ParseInt(s, 0, 64)
				if err != nil && s != "" {
					return false
				}
				verb := string(f[j])
				if verb == "i" || verb == "u" {
					verb = "d"
				}
				fmt.Fprintf(b, f[i:j]+verb, n)
			case 'c':
				if s := arg(); s != "" {
					b.WriteString(s[:1])
				}
			default:
				return false
			}
			i = j
		}
	}
	return true
}

// ansiPrintf decodes the escapes of printf and echo -e.
func ansiPrintf(s string) string {
	if strings.Contains(s, `\0`) && !strings.Contains(s, `\x`) { // \0NNN
		for i := 0; i+1 < len(s); i++ {
			if s[i] != '\\' {
				continue
			}
			if s[i+1] != '0' {
				i++
				continue
			}
			v, n := number(s[i+2:], 8, 3)
			return ansiPrintf(s[:i]) + string([]byte{v}) + ansiPrintf(s[i+2+n:])
		}
	}
	return escapes(s, false)
}

func (w *reading) getopts(st *state, c *call) *state {
	w.started(st, c, c.name, "", "")
	if len(c.words) > 1 && syntax.ValidName(c.words[1].s) {
		w.assign(st, c.words[1].s, value{one: text{class: name}}, false)
	}
	w.assign(st, "OPTARG", value{one: unknown(nil)}, false)
	return nil
}

func (w *reading) defineAlias(st *state, c *call) *state {
	w.started(st, c, c.name, "", "")
	for _, f := range c.words {
		n, v, ok := strings.Cut(f.s, "=")
		if ok {
			st.alias(n, text{v, f.class, f.from})
		}
	}
	if w.loose && len(c.words) > 0 {
		w.hide(c.index, "aliases may change what the words below mean", c.typed)
	}
	return nil
}

func (w *reading) shopt(st *state, c *call) *state {
	w.started(st, c, c.name, "", "")
	for _, f := range c.words {
		if f.class != exact || f.s == "expand_aliases" {
			w.loose = true
			if len(st.aliases) > 0 {
				w.hide(c.index, "aliases may change what the words below mean", c.typed)
			}
		}
		if f.class != exact || strings.HasSuffix(f.s, "glob") {
			w.changed = true // globs match otherwise from here on
		}
	}
	return nil
}

// hash is hash -p and enable -f: a name comes to mean another program.
func (w *reading) hash(st *state, c *call) *state {
	w.started(st, c, c.name, "", "")
	for i, f := range c.words {
		if f.class != exact || c.name == "hash" && strings.HasPrefix(f.s, "-") && strings.Contains(f.s, "p") ||
			c.name == "enable" && strings.HasPrefix(f.s, "-") && strings.Contains(f.s, "f") {
			target := c.words[len(c.words)-1]
			w.emit(guard.Effect{Kind: guard.System, Action: "environment", Target: target.s, Written: f.typed, Exact: target.class == exact,
				Note: "makes a name mean another program", Command: c.index})
			if c.name == "hash" && i+2 < len(c.words) && c.words[i+1].class == exact {
				st.alias(c.words[i+2].s, known(shellQuote(c.words[i+1].s)))
			}
			return nil
		}
	}
	return nil
}

// condition is test and [: a subscript in a variable's name is evaluated.
func (w *reading) condition(st *state, c *call) *state {
	for i, f := range c.words {
		if (f.is("-v") || f.is("-R")) && i+1 < len(c.words) {
			w.subscripted(st, c.words[i+1].text)
		}
	}
	b := w.bind(c.name, words(c.words))
	if b.Spec == nil {
		w.started(st, c, c.name, "", "")
		return nil
	}
	b.Unread = nil
	kept := b.Parts[:0]
	for _, p := range b.Parts {
		if k, _, ok := p.Role.Kind(); ok && k == guard.Read || p.Role == command.Text {
			kept = append(kept, p)
		}
	}
	b.Parts = kept
	w.binding(st, c, b)
	return nil
}
