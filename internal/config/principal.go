package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"handrail/guard/rules"
	"handrail/tools"
	"handrail/tools/sandbox"
)

// Principals are those whom the server serves, by name.
type Principals map[string]*Principal

// Principal is one of them. What is not set is as for everybody.
type Principal struct {
	// Workspace and Home are absolute. Home is the principal's alone; empty means a
	// directory beside the state directory.
	Workspace, Home string
	// Subjects and Certificates are how a caller is known: claims of the OpenID
	// provider, names in a client certificate.
	Subjects, Certificates []string
	// User is the Unix user as whom a server that root starts serves it; any other
	// must run as that user. Empty: any.
	User string
	// Disk is how many MiB workspace and home may take together; zero: any.
	Disk int

	own  *layer // its own settings
	text string // as written, as JSON
}

// PrincipalName is what a principal can be called: the name stands in paths and
// in the log.
var PrincipalName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`)

// ownSettings are those that a principal can have for itself.
var ownSettings = []string{"hosts", "profile", "fallback", "levels", "default_deny", "tools", "protected_files", "security", "approval", "sandbox"}

// principals is the form of a mapping of names to principals.
func principals() form[Principals] {
	return form[Principals]{
		schema: schema{"type": "object", "additionalProperties": schema{"type": "object", "required": []string{"workspace"}}},
		show: func(p Principals) string {
			var parts []string
			for _, name := range slices.Sorted(maps.Keys(p)) {
				parts = append(parts, quoted(name)+": "+p[name].text)
			}
			if len(parts) == 0 {
				return ""
			}
			return "{" + strings.Join(parts, ", ") + "}"
		},
		read: func(c *Config, n *yaml.Node) (Principals, error) {
			if n.Kind != yaml.MappingNode {
				return nil, errors.New("want a name with its settings on each line, as in `alice: {workspace: /srv/handrail/alice}`")
			}
			all := Principals{}
			for i := 0; i+1 < len(n.Content); i += 2 {
				key, value := n.Content[i], n.Content[i+1]
				if !PrincipalName.MatchString(key.Value) {
					return nil, inLine(key, fmt.Errorf("%q is no name: want letters, digits and . _ @ -, at most 64", key.Value))
				}
				if all[key.Value] != nil {
					return nil, inLine(key, fmt.Errorf("%s is set twice", key.Value))
				}
				p, err := c.principal(value)
				if err != nil {
					return nil, inLine(value, prefixed(key.Value, err))
				}
				all[key.Value] = p
			}
			return all, all.check()
		},
	}
}

// principal reads one principal: its own words, and settings as in the file.
func (c *Config) principal(n *yaml.Node) (*Principal, error) {
	if n.Kind != yaml.MappingNode {
		return nil, errors.New("want settings, as in `{workspace: /srv/handrail/alice}`")
	}
	p := &Principal{own: &layer{values: &Config{Home: c.Home}, lines: map[string]int{}}}
	dir := func(c *Config, w string) (string, error) { return c.path(w) }
	path := word(nil, quoted, dir)
	list, name := words(nil), plain(checkUser)
	rest := &yaml.Node{Kind: yaml.MappingNode, Line: n.Line}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		var err error
		switch key.Value {
		case "workspace":
			p.Workspace, err = path.read(c, value)
		case "home":
			p.Home, err = path.read(c, value)
		case "subjects":
			p.Subjects, err = list.read(c, value)
		case "certificates":
			p.Certificates, err = list.read(c, value)
		case "disk":
			p.Disk, err = number(1, 1<<30).read(c, value)
		case "user":
			p.User, err = name.read(c, value)
		default:
			rest.Content = append(rest.Content, key, value)
		}
		if err != nil {
			return nil, inLine(value, prefixed(key.Value, err))
		}
	}
	if p.Workspace == "" {
		return nil, errors.New("it needs a workspace")
	}
	for i := 0; i < len(rest.Content); i += 2 {
		if key := rest.Content[i]; !slices.Contains(ownSettings, key.Value) {
			return nil, inLine(key, foreign(key.Value))
		}
	}
	fields := slices.DeleteFunc(settings(), func(f field) bool { return !slices.Contains(ownSettings, f.key) })
	if err := p.own.section(fields, "", rest); err != nil {
		return nil, err
	}
	p.own.rest()
	var plain any
	if err := n.Decode(&plain); err != nil {
		return nil, err
	}
	p.text = quoted(plain)
	return p, nil
}

// check refuses principals of which one could be taken for another.
func (p Principals) check() error {
	seen := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(p)) {
		for kind, list := range map[string][]string{"subject": p[name].Subjects, "certificate": p[name].Certificates, "name": {strings.ToLower(name)}} {
			for _, w := range list {
				if other := seen[kind+w]; other != "" {
					return fmt.Errorf("%s and %s have the %s %q both", other, name, kind, w)
				}
				seen[kind+w] = name
			}
		}
	}
	return nil
}

// Named returns the principal that has one of words, or "".
func (p Principals) Named(of func(*Principal) []string, word ...string) string {
	for _, name := range slices.Sorted(maps.Keys(p)) {
		if slices.ContainsFunc(of(p[name]), func(w string) bool { return slices.Contains(word, w) }) {
			return name
		}
	}
	return ""
}

// home is the home directory of a principal.
func (c *Config) homeOf(name string) string {
	if h := c.Principals[name].Home; h != "" {
		return h
	}
	return filepath.Join(cmp.Or(c.homes, resolved(c.State)+"-homes"), name)
}

// For is the configuration under which a principal is served: that of the
// server, with what is set for the principal alone.
func (c *Config) For(name string) (*Config, error) {
	p := c.Principals[name]
	if p == nil || c.Principal != "" {
		return nil, fmt.Errorf("%q is not among the principals of %s", name, c.userFile())
	}
	t := *c
	t.Principal, t.operator = name, c.Home
	t.set(&layer{name: c.File, values: p.own.values, lines: p.own.lines})
	t.bind()
	if err := t.environment(); err != nil {
		return nil, err
	}
	t.Home, t.Roots = resolved(c.homeOf(name)), []string{resolved(p.Workspace)}
	t.note("roots", "principals."+name)
	return &t, nil
}

// CheckPrincipals makes the directories of all principals, and refuses those of
// CheckApart.
func (c *Config) CheckPrincipals() error {
	for _, name := range slices.Sorted(maps.Keys(c.Principals)) {
		for _, dir := range []string{c.Principals[name].Workspace, c.homeOf(name)} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return fmt.Errorf("principal %s: %w", name, err)
			}
		}
	}
	return c.CheckApart()
}

// CheckApart refuses principals whose directories are not apart from each other
// and from what is Handrail's own.
func (c *Config) CheckApart() error {
	dirs := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(c.Principals)) {
		for _, dir := range []string{c.Principals[name].Workspace, c.homeOf(name)} {
			dir = resolved(dir)
			for other, whose := range dirs {
				if within(dir, other) || within(other, dir) {
					return fmt.Errorf("principal %s: %s and %s (of %s) are not apart from each other", name, dir, other, whose)
				}
			}
			dirs[dir] = name
			for _, own := range c.Own() {
				if within(dir, own) || within(own, dir) {
					return fmt.Errorf("principal %s: %s is not apart from %s, which is Handrail's own", name, dir, own)
				}
			}
		}
		t, err := c.For(name)
		if err != nil {
			return err
		}
		if _, err := Workspace(t.Roots, c.Home); err != nil {
			return fmt.Errorf("principal %s: %w", name, err)
		}
		if err := t.Refuse(t.Roots[0]); err != nil {
			return fmt.Errorf("principal %s: %w", name, err)
		}
		if t.Sandbox.Tier == string(sandbox.None) {
			return fmt.Errorf("principal %s: `sandbox: {tier: none}` would give its commands all rights of the server", name)
		}
	}
	return nil
}

// tenant is what the rules know of a principal's place; nil where there is none.
func (c *Config) tenant() *rules.Tenant {
	if c.Principal == "" {
		return nil
	}
	t := &rules.Tenant{Name: c.Principal, Own: append(slices.Clone(c.Roots), c.Home)}
	for name, p := range c.Principals {
		if name != c.Principal {
			t.Others = append(t.Others, resolved(p.Workspace), resolved(c.homeOf(name)))
		}
	}
	slices.Sort(t.Others)
	for _, n := range c.Sandbox.Networks {
		if prefix, err := netip.ParsePrefix(n); err == nil { // checked when it was read
			t.Networks = append(t.Networks, prefix)
		}
	}
	return t
}

// hidden are paths that no command of a principal reads: what is other
// principals', and the home directory of the server's user, and of the
// principal's own.
func (c *Config) hidden() []string {
	t := c.tenant()
	if t == nil {
		return nil
	}
	list := t.Others
	if c.operator != "/" { // a user without a home
		list = append(list, rest(c.operator, t.Own)...)
	}
	for _, dir := range c.unseen() {
		list = append(list, rest(dir, t.Own)...)
	}
	for _, name := range sandbox.DefaultCredentials {
		list = append(list, filepath.Join(c.operator, name))
	}
	return list
}

// rest is what is at or below dir and neither in one of kept nor above it.
func rest(dir string, kept []string) (list []string) {
	switch {
	case slices.ContainsFunc(kept, func(k string) bool { return within(dir, k) }):
		return nil
	case !slices.ContainsFunc(kept, func(k string) bool { return within(k, dir) }):
		return []string{dir}
	}
	entries, _ := os.ReadDir(dir) // what cannot be listed holds credentials that are named beside
	for _, e := range entries {
		list = append(list, rest(filepath.Join(dir, e.Name()), kept)...)
	}
	return list
}

// commandEnvironment is what commands get. Those of a principal get nothing that
// leads into the home directory of the server's user.
func (c *Config) commandEnvironment(scratch string) map[string]string {
	env := tools.Environment(c.Roots, scratch)
	if c.Principal == "" {
		return env
	}
	for name, value := range env {
		if strings.HasPrefix(name, "XDG_") || filepath.IsAbs(value) && name != "PATH" && name != "TMPDIR" && within(resolved(value), c.operator) {
			delete(env, name)
		}
	}
	env["HOME"], env["USER"], env["LOGNAME"] = c.Home, c.Principal, c.Principal
	var path []string
	for _, dir := range filepath.SplitList(env["PATH"]) {
		if !within(resolved(dir), c.operator) {
			path = append(path, dir)
		}
	}
	env["PATH"] = strings.Join(path, string(filepath.ListSeparator))
	return env
}
