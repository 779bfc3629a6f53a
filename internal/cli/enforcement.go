package cli

import (
	"fmt"
	"io"
	"strings"

	"handrail/internal/config"
	"handrail/tools"
	"handrail/tools/sandbox"
)

// inForce is what holds commands here, as doctor says it.
type inForce struct {
	sandbox.Enforcement
	Contains bool   `json:"contains"` // project code and unlisted programs run without a question
	Fault    string `json:"fault,omitempty"`
}

// examine finds out with a real command what holds commands here.
func examine(c *config.Config) (h inForce, err error) {
	scratch, remove, err := tools.Scratch()
	if err != nil {
		return h, err
	}
	defer func() { err = firstOf(err, remove()) }()
	k := c.Contain(tools.Environment(c.Roots, scratch))
	defer func() { err = firstOf(err, k.Close()) }()
	if k.Fault != nil {
		h.Fault = k.Fault.Error()
		return h, nil
	}
	h.Enforcement, h.Contains = k.Enforcement, k.Enforcement.Contains()
	return h, nil
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// print writes what is held as a table.
func (h inForce) print(out io.Writer) {
	line := func(name, text string) { fmt.Fprintf(out, "%-14s %s\n", name, text) }
	if h.Fault != "" {
		line("sandbox", "NONE WORKS HERE: safe_bash runs nothing")
		line("", strings.ReplaceAll(h.Fault, "\n", "\n"+strings.Repeat(" ", 15)))
		return
	}
	line("sandbox", string(h.Tier))
	for _, row := range []struct {
		name, holds string
		in          bool
	}{
		{"file writes", "only in the workspace, and where a command's own words name a file", h.Writes},
		{"file reads", "credentials and what is in the home directory cannot be read", h.Reads},
		{"network", "none, but hosts that a command names, through a proxy", h.Network},
		{"sockets", "no agents, engines or desktops of this machine", h.Sockets},
		{"processes", "nothing outlives its call, no other process is seen", h.Processes},
		{"protected", "git hooks, editor and agent settings that exist hold during the run; new ones are taken back after it", h.Protected},
		{"limits", "processes and memory are bounded", h.Limits},
	} {
		if row.in {
			line("  "+row.name, "held: "+row.holds)
		} else {
			line("  "+row.name, "NOT HELD")
		}
	}
	if !h.Contains {
		line("", "project code asks once per session and program")
	}
	for _, note := range h.Notes {
		line("", note)
	}
}
