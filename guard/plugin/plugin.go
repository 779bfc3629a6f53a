// Package plugin is the guards that people write: rules in YAML, or in Markdown
// with front matter. A guard matches the text of commands and the names of
// files, as BitCode's do, or facts. What loosens must cover all that it allows;
// what tightens needs to touch it only.
package plugin

import (
	"context"
	"fmt"
	"slices"

	"handrail/guard"
)

// Bounds of a guard, so that reading one and judging by it take bounded work.
const (
	maxFile     = 64 << 10 // bytes of a file
	maxPatterns = 200      // of one guard
	maxExamples = 200      // of one guard
	maxText     = 1000     // bytes of one expression, glob, reason
	maxProse    = 4 << 10  // bytes of prose that the Guard Agent is shown
	maxList     = 100      // entries of one list
	maxWork     = 200e6    // instructions times bytes that expressions of untrusted guards may take for one call
)

// The tools, by the names that a guard may use; in lower case.
var toolNames = map[string]string{
	"bash": bash, "read": read, "write": write, "edit": edit,
	bash: bash, read: read, write: write, edit: edit,
}

const (
	bash  = "safe_bash"
	read  = "safe_read"
	write = "safe_write"
	edit  = "safe_edit"
)

// Guard is one guard. The zero value says nothing.
type Guard struct {
	ID          string
	Description string
	// File is where it stands, Line where it begins.
	File string
	Line int
	// Tools are the tools about whose calls it speaks; none: all.
	Tools []string
	// Off says that it is switched off: it says nothing, and replaces an earlier
	// guard of the same ID.
	Off bool
	// Prose is the text of a Markdown guard, for the Guard Agent.
	Prose string
	// SHA256 is the hash of its file, in hexadecimal.
	SHA256 string
	// Project says that it comes from a project, Trusted that the user trusts the
	// file as it is. Guards of the user's own directories are always trusted.
	Project, Trusted bool

	patterns []pattern
	cost     int       // instructions of its expressions: what a byte of text takes at most
	matches  []example // for the guard as a whole
	silent   []example
}

// Loader reads guards.
type Loader struct {
	// Read turns examples into facts. It is needed where guards have any.
	Read guard.Reader
	// Rules are the built-in rules with those of the default policy: a guard may
	// name them, and not have the ID of one.
	Rules []guard.Rule
	// Home is the user's home directory, absolute and resolved, for "~/" in
	// paths.
	Home string
}

// Parse reads one guard from the content of a file and runs its examples. The
// errors begin with file:line.
func (l *Loader) Parse(ctx context.Context, file string, data []byte) (*Guard, error) {
	g, err := l.parse(file, data)
	if err != nil {
		return nil, err
	}
	return g, l.examples(ctx, g)
}

// LooseRules are the built-in rules that the guard stands in for, each once.
func (g *Guard) LooseRules() (ids []string) {
	for _, p := range g.patterns {
		for _, id := range p.insteadOf {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// Loosens reports whether the guard says anything that needs trust: an allow,
// or standing in for a built-in rule. Prose does too, by way of the Guard Agent.
func (g *Guard) Loosens() bool {
	return g.Prose != "" || slices.ContainsFunc(g.patterns, func(p pattern) bool {
		return p.verdict == guard.VerdictAllow || len(p.insteadOf) > 0
	})
}

// Doc says in words what the guard does.
func (g *Guard) Doc() string {
	if g.Description != "" {
		return g.Description
	}
	return g.says()
}

// applies reports whether the guard speaks about calls of tool.
func (g *Guard) applies(tool string) bool {
	return len(g.Tools) == 0 || slices.Contains(g.Tools, tool)
}

func (g *Guard) at(line int) string { return fmt.Sprintf("%s:%d", g.File, line) }
