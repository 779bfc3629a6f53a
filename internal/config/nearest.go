package config

import "handrail/guard/text"

// Nearest returns the name that word was probably meant to be, or "".
func Nearest(word string, names []string) string { return text.Nearest(word, names) }
