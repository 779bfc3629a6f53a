package agent

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"handrail/guard/text"
)

// special is anything that a tokenizer could take for a control token: the
// server looks for them in the whole prompt, so text of a call could close its
// own message and open another.
var special = text.Pattern(`<(\|?/?[A-Za-z_][^<>\n]{0,60}?\|?)>|<\|[^\n]{0,60}?\|>|\[/?(?:[A-Z_]{3,24}|[gs]MASK)\]|<[｜|][^\n]{0,60}?[｜|]?>`)

// Neutralize keeps a text readable and breaks every spelling of a control
// token in it: their first character is written as \u003c or \u005b.
func Neutralize(s string) string {
	for special().MatchString(s) { // what is broken leaves one "<" or "[" less: it ends
		s = special().ReplaceAllStringFunc(s, func(m string) string {
			if m[0] == '[' {
				return `\u005b` + m[1:]
			}
			return strings.ReplaceAll(m, "<", `\u003c`)
		})
	}
	return s
}

// plain writes characters that do not show (control, bidirectional, zero-width,
// tags, variation selectors, bytes that are not UTF-8) as \u{..}; newline and
// tab stay.
func plain(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x{%02x}`, s[i])
		case !unicode.IsPrint(r), unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
