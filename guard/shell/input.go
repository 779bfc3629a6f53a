package shell

import (
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
	t.trait = 0
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
					w.source(st.clone(), c.words[i].s)
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

func (w *reading) getopts(st *state, c *call) *state {
	w.started(st, c, c.name, "", "")
	if len(c.words) > 1 && syntax.ValidName(c.words[1].s) {
		w.assign(st, c.words[1].s, value{one: text{class: name}}, false)
	}
	w.assign(st, "OPTARG", value{one: unknown(nil)}, false)
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
