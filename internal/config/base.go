package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"handrail/guard"
	"handrail/guard/host"
	"handrail/guard/rules"
)

// base makes what c says into rules.
func (c *Config) base() (*guard.Base, error) {
	hosts, err := host.Parse(slices.Concat(host.Lists(), c.Hosts)...)
	if err != nil {
		return nil, fmt.Errorf("hosts: %w", err)
	}
	policy := rules.Policy{Home: c.Home, Own: c.Own(), Hosts: hosts, Root: c.root, Tenant: c.tenant()}
	b := &guard.Base{Fallback: c.Fallback.verdict(), Contain: c.Fallback == Contain && c.LLM.Use != "required", Trusting: c.Profile == "yolo"}
	if b.Rules, b.Default, err = rules.Profile(c.Profile, policy); err != nil {
		return nil, err
	}
	s := rules.Settings{Tools: map[string]rules.Tool{}, Protected: c.Protected, Patterns: c.Patterns, Keywords: c.Keywords, Broken: c.broken}
	for name, t := range c.Tools.All() {
		s.Tools[name] = t.Tool
	}
	b.Rules = rules.Level(slices.Concat(b.Rules, rules.Custom(s, policy)), c.Levels.Set, c.Levels.Cap)
	b.Default = rules.Level(b.Default, c.Levels.Set, c.Levels.Cap)
	b.Revision = c.revision(b)
	return b, nil
}

// revision names the policy: what is set, and which rules there are in which
// version.
func (c *Config) revision(b *guard.Base) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%v\n%q\n%q\n", Version, c.root, c.Own(), c.broken)
	leaves(tree(), func(path string, f *field) {
		if !slices.ContainsFunc([]string{"llm.", "roots", "http.", "principals", "audit."}, func(p string) bool { return strings.HasPrefix(path, p) }) {
			fmt.Fprintf(h, "%s=%q\n", path, f.show(c))
		}
	})
	for _, r := range slices.Concat(b.Rules, b.Default) {
		fmt.Fprintf(h, "%q %q\n", r.ID, r.Doc)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
