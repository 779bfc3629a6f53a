package plugin

import (
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLiterals bounds the alternatives that are kept of one expression.
const maxLiterals = 32

// required returns texts of which one is in everything that re matches, folded;
// nil where that is not known.
func required(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{fold(string(re.Rune))}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		var best []string
		for _, sub := range re.Sub {
			if r := required(sub); shortest(r) > shortest(best) {
				best = r
			}
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			r := required(sub)
			if r == nil || len(all)+len(r) > maxLiterals {
				return nil
			}
			all = append(all, r...)
		}
		return all
	}
	return nil
}

// shortest is the length of the shortest text, 0 where there is none.
func shortest(list []string) int {
	n := 0
	for i, s := range list {
		if i == 0 || len(s) < n {
			n = len(s)
		}
	}
	return n
}

// fold makes texts that differ in case only the same, by the rules that (?i)
// has: the long s and the Kelvin sign are letters like any other.
func fold(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return strings.Map(foldRune, s)
		}
	}
	return strings.ToLower(s)
}

func foldRune(r rune) rune {
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	if 'A' <= least && least <= 'Z' {
		least += 'a' - 'A'
	}
	return least
}
