// Package rules is the built-in judgement, one family per file. A rule looks
// at effects, never at shell text.
package rules

import "handrail/guard"

// Policy is what the rules need to know about the place they judge in.
type Policy struct {
	// Home is the caller's home directory, absolute and resolved.
	Home string
	// Own are handrail's own files and directories (config, state, guards):
	// absolute; writing below them is denied, reading of secrets too.
	Own []string
	// Hosts may be read from without a question, besides loopback: registries
	// and forges. "example.org" or "*.example.org".
	Hosts []string
}

// Standard returns the rules of the standard profile and those of the default
// policy.
func Standard(p Policy) (rules, defaults []guard.Rule) { return nil, nil }
