package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"handrail/guard"
	"handrail/internal/config"
	"handrail/tools"
	"handrail/tools/sandbox"
)

// inForce is what holds commands here, as doctor says it.
type inForce struct {
	sandbox.Enforcement
	Contains bool   `json:"contains"` // project code and unlisted programs run without a question
	Fault    string `json:"fault,omitempty"`
	// PassedOver are the stronger tiers that do not work here, with why.
	PassedOver []string `json:"passed_over,omitempty"`
}

// examine finds out with a real command what holds commands here, and why nothing
// stronger does.
func examine(c *config.Config) (inForce, error) { return found(c, true) }

// probed finds out what holds commands here.
func probed(c *config.Config) (inForce, error) { return found(c, false) }

func found(c *config.Config, why bool) (h inForce, err error) {
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
	if why && c.Sandbox.Tier == "auto" {
		h.PassedOver = k.PassedOver()
	}
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
	line := func(name, text string) {
		fmt.Fprintf(out, "%-14s %s\n", name, strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+strings.Repeat(" ", 15)))
	}
	if h.Fault != "" {
		line("sandbox", "NONE WORKS HERE: safe_bash runs nothing")
		line("", h.Fault)
		return
	}
	line("sandbox", string(h.Tier))
	for _, row := range []struct {
		name, holds string
		in          bool
	}{
		{"file writes", "only in the workspace, and where a command's own words name a file", h.Writes},
		{"file reads", "credentials and what is in the home directory cannot be read", h.Reads},
		{"network", h.network(), h.Network},
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
	for _, why := range h.PassedOver {
		line("", "not used: "+why)
	}
}

// network says what commands reach, as the sandbox itself tells it.
func (h inForce) network() string {
	if slices.ContainsFunc(h.Notes, func(n string) bool { return strings.Contains(n, "no list of hosts") }) {
		return "none, or all of it where a person approved that"
	}
	return "none, but hosts that a command names, through a proxy"
}

// unheld says in a line what the server here does with a call that runs code where
// no sandbox holds it, or is empty.
func unheld(c *config.Config, f *guard.Facts) (string, error) {
	if !slices.ContainsFunc(f.Effects, func(e guard.Effect) bool { return e.Kind == guard.Code || e.Kind == guard.Exec && e.Action != "" }) {
		return "", nil
	}
	h := inForce{Enforcement: sandbox.Enforcement{Tier: sandbox.None}}
	if c.Sandbox.Tier != string(sandbox.None) {
		var err error
		if h, err = probed(c); err != nil {
			return "", err
		}
	}
	switch {
	case h.Fault != "":
		return "here: no sandbox works, so the server runs no command (`handrail doctor` says why)", nil
	case !h.Contains && c.Profile != "yolo":
		return "here: the sandbox (" + string(h.Tier) + ") does not hold code, so the server asks once per session and program, and about what it cannot tell", nil
	}
	return "", nil
}
