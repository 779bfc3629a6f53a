package config

import "handrail/tools/sandbox"

// sandbox opens what holds the commands of a session with these roots.
func (c *Config) sandbox(roots []string) (sandbox.Sandbox, error) {
	return sandbox.Open(sandbox.Settings{Tier: sandbox.None, Roots: roots, Home: c.Home})
}
