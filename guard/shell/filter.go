package shell

import (
	"encoding/base64"
	"encoding/hex"
	"path"
	"strconv"
	"strings"
)

// filtered is the output of programs that pass on or change their input.
func (w *reading) filtered(st *state, c *call, t text) text {
	in := st.in
	switch c.name {
	case "cat", "tee", "base64", "tr", "rev", "xxd", "head", "tail", "sort", "uniq", "grep", "egrep", "fgrep", "shuf", "tac":
	default:
		return t
	}
	if c.name == "cat" {
		return w.concatenated(st, c, t)
	}
	if in == nil {
		return t
	}
	if in.class != exact {
		switch c.name {
		case "head", "tail", "sort", "uniq", "tac", "shuf", "tee":
			out := text{s: in.s, class: in.class, from: t.from}
			if c.name != "tail" {
				out.trait = in.trait
			}
			return out
		case "grep", "egrep", "fgrep":
			for _, f := range c.words {
				if strings.HasPrefix(f.s, "-") && strings.ContainsAny(f.s, "onbHcAB") && !strings.HasPrefix(f.s, "--inv") {
					return t
				}
			}
			return text{s: in.s, class: in.class, from: t.from, trait: in.trait}
		}
		return t
	}
	var opts string
	var ops []string
	for _, f := range c.words {
		if f.class != exact {
			return t
		}
		if strings.HasPrefix(f.s, "-") && len(f.s) > 1 {
			opts += f.s + " "
		} else {
			ops = append(ops, f.s)
		}
	}
	s, ok := transformed(c.name, opts, ops, in.s)
	if !ok {
		return t
	}
	return text{s: s, from: t.from}
}

// transformed applies a filter to a constant.
func transformed(n, opts string, ops []string, s string) (string, bool) {
	switch n {
	case "tee":
		return s, true
	case "rev":
		lines := strings.SplitAfter(s, "\n")
		for i, l := range lines {
			body := strings.TrimSuffix(l, "\n")
			r := []rune(body)
			for a, b := 0, len(r)-1; a < b; a, b = a+1, b-1 {
				r[a], r[b] = r[b], r[a]
			}
			lines[i] = string(r) + l[len(body):]
		}
		return strings.Join(lines, ""), len(ops) == 0
	case "base64":
		if len(ops) > 0 && ops[0] != "-" {
			return "", false
		}
		if strings.Contains(opts, "d") || strings.Contains(opts, "D") {
			b, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(s), ""))
			if err != nil {
				b, err = base64.RawStdEncoding.DecodeString(strings.Join(strings.Fields(s), ""))
			}
			return string(b), err == nil
		}
		return base64.StdEncoding.EncodeToString([]byte(s)) + "\n", len(s) < 57 || strings.Contains(opts, "-w0")
	case "xxd":
		if strings.Contains(opts, "r") && strings.Contains(opts, "p") && len(ops) == 0 {
			b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
			return string(b), err == nil
		}
	case "tr":
		return translate(opts, ops, s)
	}
	return "", false
}

// translate is tr on plain characters and ranges.
func translate(opts string, ops []string, s string) (string, bool) {
	if len(ops) == 0 || len(ops) > 2 || opts != "" && opts != "-d " {
		return "", false
	}
	a, ok := charset(ops[0])
	if !ok {
		return "", false
	}
	if opts != "" {
		if len(ops) != 1 {
			return "", false
		}
		return strings.Map(func(r rune) rune {
			if strings.ContainsRune(string(a), r) {
				return -1
			}
			return r
		}, s), true
	}
	if len(ops) != 2 {
		return "", false
	}
	b, ok := charset(ops[1])
	if !ok || len(b) == 0 {
		return "", false
	}
	return strings.Map(func(r rune) rune {
		for i := len(a) - 1; i >= 0; i-- {
			if a[i] == r {
				return b[min(i, len(b)-1)]
			}
		}
		return r
	}, s), true
}

func charset(s string) ([]rune, bool) {
	switch s {
	case "[:upper:]":
		s = "A-Z"
	case "[:lower:]":
		s = "a-z"
	}
	if strings.ContainsAny(s, "[") {
		return nil, false
	}
	r := []rune(escapes(s, false))
	var out []rune
	for i := 0; i < len(r); i++ {
		if i+2 < len(r) && r[i+1] == '-' {
			for c := r[i]; c <= r[i+2] && len(out) < 1024; c++ {
				out = append(out, c)
			}
			i += 2
			continue
		}
		out = append(out, r[i])
	}
	return out, true
}

// concatenated is cat's output.
func (w *reading) concatenated(st *state, c *call, t text) text {
	var out stream
	if len(c.words) == 0 && st.in != nil {
		return text{s: st.in.s, class: st.in.class, from: t.from, trait: st.in.trait}
	}
	for _, f := range c.words {
		switch {
		case f.is("-") && st.in != nil:
			out.add(stream{text: st.in.text, cmd: -1}, 0)
		case f.proc != nil:
			out.add(stream{text: f.proc.text, cmd: -1}, 0)
		case f.class == exact && !strings.HasPrefix(f.s, "-"):
			ps := w.places(st, f.text, false)
			if len(ps) != 1 || !ps[0].exact {
				return t
			}
			if in := w.descriptor(st, ps[0].path); in != nil {
				out.add(stream{text: in.text, cmd: -1}, 0)
				continue
			}
			own, ok := w.files[ps[0].path]
			if !ok || own.class != exact || own.of != "" {
				return t
			}
			out.add(stream{text: own.text, cmd: -1}, 0)
		default:
			return t
		}
	}
	out.text.from = out.text.from.with(t.from)
	return out.text
}

func echo(fs []field) text {
	newline, escaped := "\n", false
	for len(fs) > 0 && fs[0].class == exact && len(fs[0].s) > 1 && fs[0].s[0] == '-' && strings.Trim(fs[0].s[1:], "neE") == "" {
		if strings.Contains(fs[0].s, "n") {
			newline = ""
		}
		escaped = escaped || strings.Contains(fs[0].s, "e")
		fs = fs[1:]
	}
	t := text{}
	for i, f := range fs {
		if i > 0 && t.class == exact {
			t.s += " "
		}
		t = concat(t, f.text)
		if i > 0 && t.class != exact {
			t.class = wild
		}
	}
	if t.class != exact {
		if t.class == wild {
			t.s = ""
		}
		return t
	}
	if escaped {
		t.s = ansiPrintf(t.s)
	}
	t.s += newline
	return t
}

func sequence(fs []field) text {
	n := []int{}
	for _, f := range fs {
		v, err := strconv.Atoi(f.s)
		if err != nil || f.class != exact {
			return text{class: name}
		}
		n = append(n, v)
	}
	first, step, last := 1, 1, 0
	switch len(n) {
	case 1:
		last = n[0]
	case 2:
		first, last = n[0], n[1]
	case 3:
		first, step, last = n[0], n[1], n[2]
	default:
		return text{class: name}
	}
	if step <= 0 || max(first, last, -first, -last) > 1<<32 || last-first > 1000 || step > 1<<32 {
		return text{class: name}
	}
	var b strings.Builder
	for i := first; i <= last; i += step {
		b.WriteString(strconv.Itoa(i))
		b.WriteByte('\n')
	}
	return known(b.String())
}

// pathPart is dirname and basename.
func pathPart(c *call) text {
	ops := operands(c.words)
	if len(ops) == 0 || len(ops) > 1 && c.name == "dirname" {
		return unknown(nil)
	}
	t := ops[0].text
	switch {
	case t.class == exact && c.name == "dirname":
		return text{s: path.Dir(strings.TrimRight(t.s, "/")) + "\n", from: t.from}
	case t.class == exact && len(ops) == 1:
		return text{s: path.Base(t.s) + "\n", from: t.from}
	case t.class == exact && ops[1].class == exact:
		return text{s: strings.TrimSuffix(path.Base(t.s), ops[1].s) + "\n", from: t.from}
	case c.name == "basename":
		return text{class: name, from: t.from}
	}
	return text{s: t.s[:strings.LastIndexByte(t.s, '/')+1], class: t.class, from: t.from}
}
