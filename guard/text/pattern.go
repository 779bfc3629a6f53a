package text

import (
	"regexp"
	"sync"
)

// Pattern returns what compiles expr at its first use, and panics there if it is
// no expression. For package variables: every process of a sandbox is started
// from the program itself, and pays for what the program makes ready beforehand.
func Pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
