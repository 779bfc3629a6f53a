package disk

import (
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"
)

// maxEntries is how many names of one directory are looked at.
const maxEntries = 20000

// Glob returns the paths that a bash pattern (absolute; *, ?, [..], a backslash
// quotes) matches, as bash would without options and in byte order, at most max
// of them. A name that begins with a dot is matched only by a pattern that
// does; "." and ".." are left out, as bash 5.2 does. ok is false where there
// are more or it could not be told; no match is an empty list and true. The
// paths are not resolved.
func (v *View) Glob(pattern string, max int) (paths []string, ok bool) {
	if !strings.HasPrefix(pattern, "/") || strings.ContainsRune(pattern, 0) {
		return nil, false
	}
	paths = []string{""}
	parts := strings.Split(pattern, "/")
	for i, part := range parts[1:] {
		last := i == len(parts)-2
		var next []string
		for _, dir := range paths {
			names, ok := v.match(dir, part, last)
			if !ok || len(next)+len(names) > max {
				return nil, false
			}
			for _, n := range names {
				next = append(next, dir+"/"+n)
			}
		}
		paths = next
	}
	return paths, true
}

// match returns the names in dir (as written, no trailing slash) that one part
// of a pattern stands for.
func (v *View) match(dir, part string, last bool) (names []string, ok bool) {
	if !isPattern(part) {
		name := unquote(part)
		if name == "" { // a doubled or trailing slash: dir must be a directory
			t := v.Stat(dir + "/").Type
			return []string{""}[:btoi(t == Dir)], t != Unknown
		}
		p, ok := v.ResolveLink(dir + "/" + name)
		if !ok {
			return nil, false
		}
		n := v.lstat(p)
		return []string{name}[:btoi(n.info.Type != Absent)], n.info.Type != Unknown
	}
	all, ok := v.names(dir + "/")
	if !ok {
		return nil, false
	}
	for _, n := range all {
		if n[0] == '.' && !strings.HasPrefix(part, ".") && !strings.HasPrefix(part, `\.`) {
			continue
		}
		if !Match(part, n) {
			continue
		}
		if !last && v.Stat(dir+"/"+n).Type != Dir {
			continue
		}
		names = append(names, n)
	}
	slices.Sort(names)
	return names, true
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// names lists a directory; one that is absent or no directory is empty.
func (v *View) names(dir string) (names []string, ok bool) {
	resolved, ok := v.Resolve(dir)
	if !ok {
		return nil, false
	}
	switch v.Stat(resolved).Type {
	case Absent, File, Other:
		return nil, true
	case Unknown:
		return nil, false
	}
	if opened := v.spend(); !v.spend() || !opened {
		return nil, false
	}
	f, err := os.OpenFile(resolved, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	names, err = f.Readdirnames(maxEntries + 1)
	if err != nil && err != io.EOF || len(names) > maxEntries {
		return nil, false
	}
	return names, true
}

func isPattern(s string) bool {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '*', '?', '[':
			return true
		case '\\':
			i++
		}
	}
	return false
}

func unquote(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// Match reports whether name (no slash) matches a bash pattern: *, ?, [a-z],
// [!a], [[:alpha:]], a backslash quotes. The leading dot is not special here.
func Match(pattern, name string) bool {
	// One point of return is enough: a later * makes an earlier one's choice final.
	star, mark := -1, 0
	p, n := 0, 0
	for n < len(name) {
		if p < len(pattern) && pattern[p] == '*' {
			star, mark = p, n
			p++
			continue
		}
		if dp, dn, ok := matchOne(pattern[p:], name[n:]); ok {
			p, n = p+dp, n+dn
			continue
		}
		if star < 0 {
			return false
		}
		_, size := utf8.DecodeRuneInString(name[mark:])
		mark += size
		p, n = star+1, mark
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// matchOne matches one rune of name with the head of pattern, and returns the
// bytes of both that were used.
func matchOne(pattern, name string) (dp, dn int, ok bool) {
	if pattern == "" {
		return 0, 0, false
	}
	r, size := utf8.DecodeRuneInString(name)
	switch pattern[0] {
	case '?':
		return 1, size, true
	case '[':
		if in, length := class(pattern, r); length > 0 {
			return length, size, in
		}
	case '\\':
		if len(pattern) > 1 {
			return 2, 1, pattern[1] == name[0]
		}
	}
	return 1, 1, pattern[0] == name[0]
}

// class reports whether r is in the bracket expression at the head of pattern,
// and its length in bytes: 0 where it is none.
func class(pattern string, r rune) (in bool, length int) {
	i := 1
	not := i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^')
	if not {
		i++
	}
	for first := true; i < len(pattern); first = false {
		if pattern[i] == ']' && !first {
			return in != not, i + 1
		}
		if strings.HasPrefix(pattern[i:], "[:") {
			if end := strings.Index(pattern[i+2:], ":]"); end >= 0 {
				in = in || posix(pattern[i+2:i+2+end], r)
				i += end + 4
				continue
			}
		}
		lo, n := member(pattern[i:])
		i += n
		hi := lo
		if i+1 < len(pattern) && pattern[i] == '-' && pattern[i+1] != ']' {
			hi, n = member(pattern[i+1:])
			i += n + 1
		}
		in = in || lo <= r && r <= hi
	}
	return false, 0
}

// member reads one character of a bracket expression.
func member(s string) (r rune, length int) {
	if s[0] == '\\' && len(s) > 1 {
		r, n := utf8.DecodeRuneInString(s[1:])
		return r, n + 1
	}
	return utf8.DecodeRuneInString(s)
}

func posix(name string, r rune) bool {
	switch name {
	case "alpha":
		return unicode.IsLetter(r)
	case "digit":
		return '0' <= r && r <= '9'
	case "alnum":
		return unicode.IsLetter(r) || unicode.IsDigit(r)
	case "upper":
		return unicode.IsUpper(r)
	case "lower":
		return unicode.IsLower(r)
	case "space", "blank":
		return unicode.IsSpace(r)
	case "punct":
		return unicode.IsPunct(r) || unicode.IsSymbol(r)
	case "xdigit":
		return strings.ContainsRune("0123456789abcdefABCDEF", r)
	case "word":
		return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_'
	}
	return false
}
