package command

import "strings"

// match reports whether s matches glob: "*", "?" and "[a-z]", where "*" may
// match anything. It takes time in proportion to the product of the lengths.
func match(glob, s string) bool {
	g, i := 0, 0
	star, mark := -1, 0 // after the last "*", and where it began to match
	for i < len(s) {
		switch n := single(glob[g:], s[i]); {
		case g < len(glob) && glob[g] == '*':
			g++
			star, mark = g, i
		case n > 0:
			g += n
			i++
		case star >= 0:
			mark++
			g, i = star, mark
		default:
			return false
		}
	}
	return strings.Trim(glob[g:], "*") == ""
}

// single returns the length of the first element of glob if it matches c, else 0.
func single(glob string, c byte) int {
	switch {
	case glob == "":
		return 0
	case glob[0] == '?':
		return 1
	case glob[0] == '[':
		end := strings.IndexByte(glob, ']')
		if end > 1 && class(glob[1:end], c) {
			return end + 1
		}
		return 0
	case glob[0] == c:
		return 1
	}
	return 0
}

// class reports whether c is in "a-z0-9_", or outside of it after "!" or "^".
func class(set string, c byte) bool {
	not := set != "" && (set[0] == '!' || set[0] == '^')
	if not {
		set = set[1:]
	}
	for i := 0; i < len(set); i++ {
		lo, hi := set[i], set[i]
		if i+2 < len(set) && set[i+1] == '-' {
			hi = set[i+2]
			i += 2
		}
		if lo <= c && c <= hi {
			return !not
		}
	}
	return not
}
