package guard

import (
	"encoding/json"
)

// Word is one argument of a command after expansion.
type Word struct {
	Text string `json:"text"`
	// Exact is false where Text is only what could be told of it: the part
	// before a glob, a variable or a substitution. The zero value is not exact.
	Exact bool `json:"exact"`
	// Plain says of a word that is not exact that it does not begin with a dash,
	// nor does any word that it may be split into.
	Plain bool `json:"plain,omitempty"`
}

// Command is one simple command that a call would run, wrappers peeled off.
type Command struct {
	// Name is the program or builtin as resolved: "rm", also for /bin/rm and \rm.
	// It is empty where it could not be told.
	Name string `json:"name"`
	// Args are the arguments after the name.
	Args []Word `json:"args"`
	// Via are the wrappers that start it, outermost first: sudo, env, xargs.
	Via []string `json:"via,omitempty"`
	// From is the index in Facts.Commands of the command that feeds its
	// standard input, or -1.
	From int `json:"from"`
	// Line and Column say where it stands in the source, counted from 1.
	Line   uint `json:"line"`
	Column uint `json:"column"`
}

// Source is a script file that was read to learn what a call would do.
type Source struct {
	Path   string `json:"path"` // absolute, resolved
	SHA256 string `json:"sha256"`
}

// Facts says what a call would do: its commands and their effects. Rules,
// validator, approval, audit and sandbox all read this one value.
type Facts struct {
	// Dir is the directory in which the call starts, absolute and resolved.
	Dir      string    `json:"dir"`
	Commands []Command `json:"commands"`
	Effects  []Effect  `json:"effects"`
	Sources  []Source  `json:"sources,omitempty"`
	// Script is the text to hand to bash: printed from the tree that was read,
	// so that what runs is what was judged. Empty for the file tools.
	Script string `json:"-"`
}

// EvalContext is one call as it stands before the guard.
type EvalContext struct {
	ToolName   string          // safe_bash, safe_read, safe_write, safe_edit
	Input      json.RawMessage // the arguments as the client sent them
	WorkingDir string          // absolute, resolved
	Facts      *Facts          // nil is refused

	// Roots are the workspace roots of this session, absolute and resolved.
	Roots []string
	// Scratch is the session's own temporary directory, outside the roots, in
	// which writing and deleting needs no question; absolute and resolved. Empty:
	// none.
	Scratch string
	// Session and Principal say who calls; both may be empty on stdio.
	Session   string
	Principal string
}
