package shell

import (
	"strings"
	"unicode/utf8"
)

// match reports whether the whole of s matches a shell pattern (*, ?, [..],
// backslash). It takes time in proportion to len(pat)*len(s).
func match(pat, s string) bool {
	p, i := 0, 0
	star, mark := -1, 0
	for i < len(s) {
		if p < len(pat) {
			if pat[p] == '*' {
				star, mark = p, i
				p++
				continue
			}
			if np, ni, ok := one(pat, p, s, i); ok {
				p, i = np, ni
				continue
			}
		}
		if star < 0 {
			return false
		}
		_, n := utf8.DecodeRuneInString(s[mark:])
		mark += n
		p, i = star+1, mark
	}
	for p < len(pat) && pat[p] == '*' {
		p++
	}
	return p == len(pat)
}

// one matches one pattern element against one character.
func one(pat string, p int, s string, i int) (np, ni int, ok bool) {
	r, n := utf8.DecodeRuneInString(s[i:])
	switch pat[p] {
	case '?':
		return p + 1, i + n, true
	case '[':
		if end, in, valid := bracket(pat, p, r); valid {
			return end, i + n, in
		}
	case '\\':
		if p+1 < len(pat) {
			p++
		}
	}
	q, m := utf8.DecodeRuneInString(pat[p:])
	return p + m, i + n, q == r && (q != utf8.RuneError || pat[p] == s[i])
}

// bracket matches r against the bracket expression at pat[p].
func bracket(pat string, p int, r rune) (end int, in, valid bool) {
	i := p + 1
	not := false
	if i < len(pat) && (pat[i] == '!' || pat[i] == '^') {
		not = true
		i++
	}
	for first := true; i < len(pat); first = false {
		if pat[i] == ']' && !first {
			return i + 1, in != not, true
		}
		if strings.HasPrefix(pat[i:], "[:") {
			if j := strings.Index(pat[i:], ":]"); j > 0 {
				in = in || posix(pat[i+2:i+j], r)
				i += j + 2
				continue
			}
		}
		if pat[i] == '\\' && i+1 < len(pat) {
			i++
		}
		lo, n := utf8.DecodeRuneInString(pat[i:])
		i += n
		hi := lo
		if i+1 < len(pat) && pat[i] == '-' && pat[i+1] != ']' {
			i++
			if pat[i] == '\\' && i+1 < len(pat) {
				i++
			}
			hi, n = utf8.DecodeRuneInString(pat[i:])
			i += n
		}
		in = in || lo <= r && r <= hi
	}
	return 0, false, false
}

// posix reports whether r is in a named class; one that is not known holds all.
func posix(name string, r rune) bool {
	in := func(lo, hi rune) bool { return lo <= r && r <= hi }
	switch name {
	case "digit":
		return in('0', '9')
	case "lower":
		return in('a', 'z')
	case "upper":
		return in('A', 'Z')
	case "alpha":
		return in('a', 'z') || in('A', 'Z')
	case "alnum":
		return in('a', 'z') || in('A', 'Z') || in('0', '9')
	case "space":
		return r == ' ' || in('\t', '\r')
	case "blank":
		return r == ' ' || r == '\t'
	case "punct":
		return in('!', '/') || in(':', '@') || in('[', '`') || in('{', '~')
	case "xdigit":
		return in('0', '9') || in('a', 'f') || in('A', 'F')
	}
	return true
}

// longest returns the length of the longest beginning of s that matches, or -1.
func longest(pat, s string) int {
	if !strings.ContainsAny(pat, `*?[\`) {
		if strings.HasPrefix(s, pat) {
			return len(pat)
		}
		return -1
	}
	for n := len(s); n >= 0; n-- {
		if match(pat, s[:n]) {
			return n
		}
	}
	return -1
}
