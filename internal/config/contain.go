package config

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"sync"

	"handrail/guard"
	"handrail/tools"
	"handrail/tools/egress"
	"handrail/tools/sandbox"
)

// Containment is what holds the commands of a system. The zero value runs none.
type Containment struct {
	// Enforcement is what is in force, as it was probed; Fault says why nothing
	// is.
	Enforcement sandbox.Enforcement
	Fault       error

	settings sandbox.Settings // but for roots and scratch
	mu       sync.Mutex
	first    sandbox.Sandbox // the one that was probed, for the first session with its roots
	roots    []string
	scratch  string
}

// Contain finds out what holds commands here that get env, with a real command.
// Close ends it.
func (c *Config) Contain(env map[string]string) *Containment {
	k := &Containment{settings: c.settings(env), roots: c.Roots}
	if err := os.MkdirAll(k.settings.State, 0o700); err != nil {
		k.Fault = err
		return k
	}
	s := k.settings
	if env["TMPDIR"] != "" {
		s.Scratch = tools.FirstScratch(env["TMPDIR"])
		if k.Fault = os.MkdirAll(s.Scratch, 0o700); k.Fault != nil {
			return k
		}
	}
	if s.Roots = c.Roots; len(s.Roots) == 0 && s.Scratch != "" {
		s.Roots = []string{s.Scratch}
	}
	k.scratch = s.Scratch
	if k.first, k.Fault = sandbox.Open(s); k.Fault != nil {
		k.Fault = advice(k.Fault)
		return k
	}
	k.Enforcement = k.first.Enforcement()
	k.settings.Tier = k.Enforcement.Tier // what was found is what holds, for every session
	return k
}

// PassedOver says why stronger tiers than the one in force do not work here, each
// beginning with its name.
func (k *Containment) PassedOver() []string {
	s := k.settings
	if s.Scratch = k.scratch; len(k.roots) > 0 {
		s.Roots = k.roots
	} else if s.Scratch != "" {
		s.Roots = []string{s.Scratch}
	}
	return sandbox.PassedOver(s, k.Enforcement.Tier)
}

// Open opens the sandbox of a session with these roots and this temporary
// directory. It never holds less than
// what was found at the start.
func (k *Containment) Open(roots []string, scratch string) (sandbox.Sandbox, error) {
	if k.Fault != nil {
		return nil, k.Fault
	}
	k.mu.Lock()
	first := k.first
	if first != nil && slices.Equal(roots, k.roots) && scratch == k.scratch {
		k.first = nil
		k.mu.Unlock()
		return first, nil
	}
	k.mu.Unlock()
	s := k.settings
	s.Roots, s.Scratch = roots, scratch
	sb, err := sandbox.Open(s)
	if err != nil {
		return nil, advice(err)
	}
	if e := sb.Enforcement(); k.Enforcement.Contains() && !e.Contains() {
		return nil, errors.Join(fmt.Errorf("the sandbox of this session does not hold what it did at the start (%v)", e.Notes), sb.Close())
	}
	return sb, nil
}

// Close ends what was probed and not used.
func (k *Containment) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.first == nil {
		return nil
	}
	err := k.first.Close()
	k.first = nil
	return err
}

// contain composes what holds commands with the guard and the toolbox.
func (c *Config) contain(k *Containment, m *guard.Manager, b *tools.Toolbox) error {
	m.Contain = c.Fallback == Contain && c.LLM.Use != "required"
	switch {
	case k.Enforcement.Contains() && b.History != nil:
		m.Hold = guard.Kept
	case k.Enforcement.Contains():
		m.Hold = guard.Held
	case c.Profile == "yolo":
		m.Hold = guard.Trusted
	}
	b.Sandbox = k.Open
	b.Deeds = sandbox.DeedsOf(k.settings.State)
	b.Profile = tools.Profile{Home: c.Home, Hidden: k.settings.Hidden, Packages: c.Sandbox.Packages, Hosts: slices.Concat(c.Sandbox.Git, c.Hosts), Limits: c.Sandbox.limits()}
	var err error
	b.Egress, err = c.egress()
	return err
}

// egress is the way out of commands that reach hosts by name.
func (c *Config) egress() (p egress.Proxy, err error) {
	for _, n := range c.Sandbox.Networks {
		prefix, err := netip.ParsePrefix(n)
		if err != nil {
			return p, fmt.Errorf("sandbox.networks: %w", err)
		}
		p.Open = append(p.Open, prefix)
	}
	if text := upstream(); text != "" {
		if p.Upstream, err = url.Parse(text); err != nil {
			return p, fmt.Errorf("the proxy of the environment: %w", err)
		}
	}
	return p, nil
}
