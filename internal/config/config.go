// Package config is the configuration as one typed tree, and the place where
// the parts are put together from it.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"handrail/guard"
	"handrail/guard/owner"
	"handrail/guard/plugin"
	"handrail/skills"
)

// Config is everything that can be set. Default gives the values that hold
// where nothing is.
type Config struct {
	// Roots are the workspace roots, absolute and resolved. Empty means that
	// nothing was set: the client's roots or the working directory are to be
	// used.
	Roots []string
	// Hosts may be read from without a question, beside the built-in ones:
	// "example.org" or "*.example.org".
	Hosts []string
	// Approval is what is set about asking people.
	Approval Approval
	// Fallback replaces the verdict llm where no model can be asked.
	Fallback Fallback
	// Profile is the temper of the rules: one of rules.Profiles.
	Profile string
	// Levels are verdicts by rule.
	Levels Levels
	// DefaultDeny is what was said; layer.rest turns it into limits of Tools.
	DefaultDeny bool
	// Tools are the limits by tool.
	Tools Tools
	// Protected are patterns of files that no tool may change; Patterns
	// (name:regex) and Keywords flag commands and written content.
	Protected, Patterns, Keywords []string
	// Sandbox is what is set about holding commands.
	Sandbox Sandbox
	// LLM is what is set about the Guard Agent.
	LLM LLM
	// Notice is told what a person should know once while the system runs; it
	// may be nil.
	Notice func(string)
	// Remark is told what matters to nobody who did not ask: that no model server
	// is there. It may be nil.
	Remark func(string)
	// State is the directory of the audit log, absolute.
	State string
	// StoreURL is the database of the store; empty means a file in State.
	StoreURL string
	// HTTP, Principals and Audit are what is set about serving a team.
	HTTP       HTTP
	Principals Principals
	Audit      Audit
	// Principal is for whom this configuration is, where For made it.
	Principal string
	// Home is the user's home directory, or the principal's, absolute and resolved.
	Home string
	// Dir is the directory of the user's configuration, absolute.
	Dir string
	// File is the file that was read, absolute; empty where there was none.
	File string

	trail  []string // where File and the links to it stand, resolved
	from   origins
	layers layers
	broken []string // faults of project files, with file:line

	own     bool                           // the user's guards hold, and those of projects; Load sets it
	trusted func(path, sha256 string) bool // whether the user trusts a file of a project; nil: none

	operator string // the home directory of the server's user, where Home is a principal's
	homes    string // where the home directories of principals are; empty: beside State

	root bool // what is judged would run as root; only Open sets it, so that check and eval say the same to everybody
}

// Default returns the configuration of a user who set nothing, from the
// environment: HOME and the XDG directories.
func Default() (*Config, error) {
	home, err := os.UserHomeDir()
	if u, lookup := owner.User(); err != nil && lookup == nil { // a client may start us without HOME
		home, err = u.HomeDir, nil
	}
	if err != nil || !filepath.IsAbs(home) {
		return nil, fmt.Errorf("the home directory is not known (HOME is %q): set HOME to an absolute path", os.Getenv("HOME"))
	}
	dirs := map[string]string{"XDG_CONFIG_HOME": filepath.Join(home, ".config"), "XDG_STATE_HOME": filepath.Join(home, ".local", "state")}
	for name := range dirs {
		// A relative value is to be ignored (XDG Base Directory Specification).
		if v := os.Getenv(name); filepath.IsAbs(v) {
			dirs[name] = v
		}
	}
	return &Config{
		Fallback: Contain,
		Profile:  "standard",
		Sandbox:  Sandbox{Tier: "auto", Packages: []string{"registries"}, Git: []string{"forges"}},
		Approval: Approval{GrantExpiry: 30 * 24 * time.Hour, PendingExpiry: time.Hour},
		LLM:      LLM{Use: "auto"},
		State:    filepath.Join(dirs["XDG_STATE_HOME"], "handrail"),
		Dir:      filepath.Join(dirs["XDG_CONFIG_HOME"], "handrail"),
		Home:     resolved(home),
	}, nil
}

// Fallback is what happens to a call that the rules cannot tell where no model
// can be asked. The zero value denies.
type Fallback string

// The fallbacks, the strictest first.
const (
	Deny    Fallback = "deny"
	Ask     Fallback = "ask"
	Contain Fallback = "contain" // where the sandbox holds it; else ask
)

// String returns the word of the configuration.
func (f Fallback) String() string { return string(f) }

// verdict is the fallback where nothing is contained.
func (f Fallback) verdict() guard.Verdict {
	if f == Ask || f == Contain {
		return guard.VerdictAsk
	}
	return guard.VerdictDeny
}

// ManagedFile is the configuration of whoever runs the machine. What it sets,
// users cannot loosen.
const ManagedFile = "/etc/handrail/config.yaml"

// layers are what a Config was made of, so that projects can be laid over it.
type layers struct {
	managed *layer
	// How it was made, to make it again when a file has changed.
	at, named string   // the managed file, and what --config said
	given     []string // by --root
}

// Load returns the default configuration changed by the managed file, then by a
// file: the one named, or config.yaml in Dir where it is there; then by the
// environment. Roots given by hand replace those of the file. A named file must
// lie outside every root.
func Load(file string, roots []string) (*Config, error) { return load(ManagedFile, file, roots) }

func load(managed, file string, roots []string) (*Config, error) {
	c, err := Default()
	if err != nil {
		return nil, err
	}
	c.layers = layers{at: managed, named: file, given: roots}
	if c.layers.managed, err = c.readManaged(managed); err != nil {
		return nil, err
	}
	if m := c.layers.managed; m != nil {
		c.set(m)
	}
	if file == "" {
		file = filepath.Join(c.Dir, "config.yaml")
		if _, err := os.Lstat(file); os.IsNotExist(err) {
			file = ""
		}
	}
	if file != "" {
		data, path, err := readOwn(file)
		if err != nil {
			return nil, err
		}
		l, err := c.parse(file, data)
		if err != nil {
			return nil, err
		}
		c.File, c.trail = path, trail(file)
		c.set(l)
	}
	if err := errors.Join(c.environment(), c.LLM.environment()); err != nil {
		return nil, err
	}
	c.bind()
	c.own, c.trusted = true, OpenTrust(c.State).Has
	return c, c.place(roots)
}

// place makes roots given by hand the workspace, or checks those of the files.
func (c *Config) place(roots []string) error {
	if len(roots) > 0 {
		given, err := Workspace(roots, c.Home)
		if err != nil {
			return err
		}
		if m := c.layers.managed; m != nil && m.values.Roots != nil {
			for _, r := range given {
				if !slices.ContainsFunc(m.values.Roots, func(top string) bool { return within(r, top) }) {
					return fmt.Errorf("%s: only %s can be the workspace, not %s", m.name, strings.Join(m.values.Roots, ", "), r)
				}
			}
		}
		c.Roots = given
		c.note("roots", "--root")
	}
	for _, root := range c.Roots {
		if err := c.Refuse(root); err != nil {
			return err
		}
	}
	return nil
}

// userFile is where the user's own configuration is, or would be.
func (c *Config) userFile() string {
	if c.File != "" {
		return c.File
	}
	return filepath.Join(c.Dir, "config.yaml")
}

// Own are Handrail's own files and directories, for the rules to protect.
func (c *Config) Own() []string {
	own := []string{c.State, c.Dir}
	for _, home := range slices.Compact([]string{c.Home, c.userHome()}) {
		own = slices.Concat(own, []string{filepath.Join(home, ".handrail")}, plugin.Dirs(home), skills.Dirs(home))
	}
	for _, path := range []string{c.HTTP.TLS.Certificate, c.HTTP.TLS.Key, c.HTTP.TLS.ClientCA} {
		if path != "" {
			own = append(own, path)
		}
	}
	if c.File != "" {
		own = append(own, c.File)
	}
	for _, path := range own[:len(own):len(own)] {
		if r := resolved(path); r != path {
			own = append(own, r)
		}
	}
	return own
}

// userHome is the home directory of the user of this process, whose guards and
// skills count.
func (c *Config) userHome() string { return cmp.Or(c.operator, c.Home) }

// resolved follows the symbolic links of the existing part of path.
func resolved(path string) string {
	path = filepath.Clean(path)
	if r, err := filepath.EvalSymlinks(path); err == nil {
		return r
	}
	dir, base := filepath.Split(path)
	if dir == path || base == "" {
		return path
	}
	return filepath.Join(resolved(dir), base)
}

func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
