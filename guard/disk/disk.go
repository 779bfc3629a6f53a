// Package disk is the guard's cheap and bounded look at the disk: links,
// kinds, globs, scripts. It reads and never writes.
package disk

// View looks at the disk on behalf of one call. It remembers what it saw, and
// stops looking after Budget questions: from then on everything is unknown.
// The zero value looks at the real disk with the default budget. It is not safe
// for concurrent use.
type View struct {
	// Budget is the number of system calls allowed; zero means 2000.
	Budget int
}
