package shell

import (
	"fmt"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

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
