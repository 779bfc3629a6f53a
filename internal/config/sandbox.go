package config

import (
	"handrail/guard"
	"handrail/tools/sandbox"
)

// hold tells the guard what holds the commands that it allows.
func (c *Config) hold(m *guard.Manager) { m.Hold = guard.Trusted }

// sandbox opens what holds the commands of a session with these roots.
func (c *Config) sandbox(roots []string) (sandbox.Sandbox, error) {
	return sandbox.Open(sandbox.Settings{Tier: sandbox.None, Roots: roots, Home: c.Home})
}
