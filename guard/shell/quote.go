package shell

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// ansiC returns the text of $'s'. A NUL ends it, as in bash.
func ansiC(s string) string { return escapes(s, true) }

// escapes decodes backslash escapes. With stop, a NUL ends the text.
func escapes(s string, stop bool) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 >= len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		n, c := 0, byte(0)
		switch s[i] {
		case 'a':
			c = 7
		case 'b':
			c = 8
		case 'e', 'E':
			c = 27
		case 'f':
			c = 12
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'v':
			c = 11
		case '\\', '\'', '"', '?':
			c = s[i]
		case 'c':
			if i+1 < len(s) {
				i++
				c = s[i] & 0x1f
			}
		case 'x':
			c, n = number(s[i+1:], 16, 2)
			if n == 0 {
				b.WriteString(`\x`)
				continue
			}
		case 'u', 'U':
			width := 4
			if s[i] == 'U' {
				width = 8
			}
			r, n := code(s[i+1:], 16, width)
			if n == 0 {
				b.WriteByte('\\')
				b.WriteByte(s[i])
				continue
			}
			i += n
			if r == 0 && stop {
				return b.String()
			}
			b.WriteString(string(utf8.AppendRune(nil, rune(r))))
			continue
		case '0', '1', '2', '3', '4', '5', '6', '7':
			c, n = number(s[i:], 8, 3)
			n--
		default:
			b.WriteByte('\\')
			c = s[i]
		}
		i += n
		if c == 0 && stop {
			return b.String()
		}
		b.WriteByte(c)
	}
	return b.String()
}

// number reads at most width digits and returns them as a byte.
func number(s string, base, width int) (byte, int) {
	v, n := code(s, base, width)
	return byte(v), n
}

func code(s string, base, width int) (uint64, int) {
	n := 0
	for n < len(s) && n < width {
		if _, err := strconv.ParseUint(s[n:n+1], base, 64); err != nil {
			break
		}
		n++
	}
	v, _ := strconv.ParseUint(s[:n], base, 64)
	return v, n
}

// splitIFS splits s as bash splits an unquoted expansion. lead and trail say
// that s begins or ends with separators.
func splitIFS(s, ifs string) (pieces []string, lead, trail bool) {
	if s == "" {
		return nil, false, false
	}
	if ifs == "" {
		return []string{s}, false, false
	}
	isIFS := func(c byte) bool { return strings.IndexByte(ifs, c) >= 0 }
	isSpace := func(c byte) bool { return (c == ' ' || c == '\t' || c == '\n') && isIFS(c) }
	i := 0
	for i < len(s) && isSpace(s[i]) {
		i++
	}
	lead = i > 0
	for i < len(s) {
		j := i
		for j < len(s) && !isIFS(s[j]) {
			j++
		}
		pieces = append(pieces, s[i:j])
		trail = false
		i = j
		for i < len(s) && isSpace(s[i]) {
			i, trail = i+1, true
		}
		if i < len(s) && isIFS(s[i]) {
			i, trail = i+1, true
			for i < len(s) && isSpace(s[i]) {
				i++
			}
		}
	}
	return pieces, lead, trail
}

// braces returns the words that brace expansion makes of word.
func (w *reading) braces(word *syntax.Word) []*syntax.Word {
	found := false
	for _, p := range word.Parts {
		if l, ok := p.(*syntax.Lit); ok && strings.IndexByte(l.Value, '{') >= 0 {
			found = true
		}
	}
	one := []*syntax.Word{word}
	if !found {
		return one
	}
	c := &syntax.Word{Parts: word.Parts}
	if !syntax.SplitBraces(c) {
		return one
	}
	return w.spread(c)
}

// spread expands the brace expressions of a word that SplitBraces made.
func (w *reading) spread(word *syntax.Word) []*syntax.Word {
	for i, p := range word.Parts {
		br, ok := p.(*syntax.BraceExp)
		if !ok {
			continue
		}
		var out []*syntax.Word
		for _, elem := range w.elements(br) {
			if !w.step(1 + len(word.Parts)) {
				return out
			}
			parts := make([]syntax.WordPart, 0, len(word.Parts)+len(elem.Parts))
			parts = append(append(append(parts, word.Parts[:i]...), elem.Parts...), word.Parts[i+1:]...)
			out = append(out, w.spread(&syntax.Word{Parts: parts})...)
		}
		return out
	}
	return []*syntax.Word{word}
}

func (w *reading) elements(br *syntax.BraceExp) []*syntax.Word {
	if !br.Sequence {
		return br.Elems
	}
	from, to := br.Elems[0].Lit(), br.Elems[1].Lit()
	step := 1
	if len(br.Elems) > 2 {
		step, _ = strconv.Atoi(br.Elems[2].Lit())
	}
	if step = max(step, -step); step == 0 {
		step = 1
	}
	a, err1 := strconv.Atoi(from)
	z, err2 := strconv.Atoi(to)
	chars := err1 != nil || err2 != nil
	if chars {
		a, z = int(from[0]), int(to[0])
	}
	width := 0
	for _, s := range [...]string{from, to} {
		if t := strings.TrimPrefix(s, "-"); !chars && len(t) > 1 && t[0] == '0' {
			width = max(len(from), len(to))
		}
	}
	var out []*syntax.Word
	for n := a; a <= z && n <= z || a > z && n >= z; {
		if !w.step(4) {
			break
		}
		v := ""
		if chars {
			v = string(rune(n))
			if v == "\\" {
				v = `\\`
			}
		} else if v = strconv.Itoa(n); len(v) < width {
			neg := strings.HasPrefix(v, "-")
			v = strings.Repeat("0", width-len(v)) + strings.TrimPrefix(v, "-")
			if neg {
				v = "-" + v
			}
		}
		out = append(out, &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: v}}})
		if a <= z {
			n += step
		} else {
			n -= step
		}
	}
	return out
}
