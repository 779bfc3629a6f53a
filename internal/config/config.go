// Package config is the configuration as one typed tree, and the place where
// the parts are put together from it.
package config

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"time"

	"handrail/guard"
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
	// AskTimeout is how long a person has to answer: 1 s to 1 h, or zero for
	// 45 s, and less where a client would give the call up before.
	AskTimeout time.Duration
	// Fallback replaces the verdict llm: ask or deny.
	Fallback guard.Verdict
	// Profile is the temper of the rules: one of rules.Profiles.
	Profile string
	// LLM is what is set about the Guard Agent.
	LLM LLM
	// Notice is told what a person should know once while the system runs; it
	// may be nil.
	Notice func(string)
	// State is the directory of the audit log, absolute.
	State string
	// Home is the user's home directory, absolute and resolved.
	Home string
	// Dir is the directory of the user's configuration, absolute.
	Dir string
	// File is the file that was read, absolute; empty where there was none.
	File string

	trail []string // where File and the links to it stand, resolved

	root bool // what is judged would run as root; only Open sets it, so that check and eval say the same to everybody
}

// Default returns the configuration of a user who set nothing, from the
// environment: HOME and the XDG directories.
func Default() (*Config, error) {
	home, err := os.UserHomeDir()
	if u, lookup := user.Current(); err != nil && lookup == nil { // a client may start us without HOME
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
		Fallback: guard.VerdictAsk,
		Profile:  "standard",
		LLM:      LLM{Use: "auto"},
		State:    filepath.Join(dirs["XDG_STATE_HOME"], "handrail"),
		Dir:      filepath.Join(dirs["XDG_CONFIG_HOME"], "handrail"),
		Home:     resolved(home),
	}, nil
}

// Load returns the default configuration changed by a file: the one named, or
// config.yaml in Dir where it is there. Roots given by hand replace those of
// the file. A named file must lie outside every root.
func Load(file string, roots []string) (*Config, error) {
	c, err := Default()
	if err != nil {
		return nil, err
	}
	if file == "" {
		file = filepath.Join(c.Dir, "config.yaml")
		if _, err := os.Lstat(file); os.IsNotExist(err) {
			file = ""
		}
	}
	if file != "" {
		if err := c.read(file); err != nil {
			return nil, err
		}
	}
	if err := c.LLM.environment(); err != nil {
		return nil, err
	}
	if len(roots) > 0 {
		if c.Roots, err = Workspace(roots, c.Home); err != nil {
			return nil, err
		}
	}
	for _, root := range c.Roots {
		if err := c.Refuse(root); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Own are Handrail's own files and directories, for the rules to protect.
func (c *Config) Own() []string {
	own := []string{c.State, c.Dir, filepath.Join(c.Home, ".handrail")}
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
