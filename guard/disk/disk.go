// Package disk is the guard's cheap and bounded look at the disk: links,
// kinds, globs, scripts. It reads and never writes.
package disk

import "errors"

// View looks at the disk on behalf of one call. It remembers what it saw, and
// stops looking after Budget questions: from then on everything is unknown.
// The zero value looks at the real disk with the default budget. It is not safe
// for concurrent use.
type View struct {
	// Budget is the number of system calls allowed; zero means 2000.
	Budget int
}

// Type is what stands at a path. The zero value is not known.
type Type uint8

const (
	Unknown Type = iota // the budget is spent, or access was refused
	Absent
	File
	Dir
	Other // device, FIFO, socket
)

// Info is what is known of a path, symbolic links followed.
type Info struct {
	Type       Type
	Executable bool
	Size       int64 // bytes
}

// Resolve returns path (absolute) with every symbolic link of its existing part
// followed, cleaned. ok is false where that could not be told.
func (v *View) Resolve(path string) (resolved string, ok bool) { return path, true }

// Stat says what stands at path (absolute), links followed.
func (v *View) Stat(path string) Info { return Info{} }

// ReadFile reads a regular file of at most max bytes; a larger one, or one that
// is not regular, is an error.
func (v *View) ReadFile(path string, max int) ([]byte, error) { return nil, errors.New("not read") }

// Glob returns the paths that a bash pattern (absolute; *, ?, [..]) matches, as
// bash would without options, at most max of them. ok is false where there are
// more or it could not be told; no match is an empty list and true.
func (v *View) Glob(pattern string, max int) (paths []string, ok bool) { return nil, false }
