// Package jsonstring finds the strings in JSON that is valid, where to decode all of
// it would take too long.
package jsonstring

import (
	"encoding/json"
	"unicode/utf8"
)

// Literal returns the size in bytes of the string that s begins with, its quotes
// included, and whether what is between them is what it stands for, in ASCII.
func Literal(s string) (size int, plain bool) {
	plain = true
	for size = 1; s[size] != '"'; size++ {
		if s[size] == '\\' {
			size++
			plain = false
		}
		plain = plain && s[size] < utf8.RuneSelf
	}
	return size + 1, plain
}

// Text is what a literal stands for; what is no UTF-8 in it is U+FFFD.
func Text(literal string) (s string) {
	_ = json.Unmarshal([]byte(literal), &s) // nil: it is valid
	return s
}
