// Package shell reads shell source into facts without running it: what
// commands would run, in which directory, with which words, and what they
// would do. What cannot be known before it runs becomes an Unknown effect.
package shell

import (
	"handrail/guard"
	"handrail/guard/command"
)

// Reader reads scripts. It is safe for concurrent use.
type Reader struct {
	Table *command.Table
	// Home is the caller's home directory, absolute and resolved.
	Home string
	// Env is the environment the script will get; variables not in it are unset.
	Env map[string]string
	// Roots are the workspace roots: scripts below them are read and judged.
	Roots []string
	// Limits bound the work; zero fields take the defaults.
	Limits Limits
}

// Limits bound what is read. Past them the call is Unknown, action "limits".
type Limits struct {
	Bytes    int // of source; default 256 KiB
	Commands int // default 2000
	Depth    int // nesting of scripts, substitutions and wrappers; default 32
	Work     int // steps of expansion; default 200000
}

// Read says what source would do when bash runs it in dir (absolute,
// resolved). It never fails and never runs anything.
func (r *Reader) Read(source, dir string) *guard.Facts {
	return &guard.Facts{Dir: dir}
}
