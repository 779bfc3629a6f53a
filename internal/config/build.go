package config

import (
	"fmt"
	"os"
	"path/filepath"

	"handrail/guard"
	"handrail/guard/audit"
	"handrail/guard/command"
	"handrail/guard/plugin"
	"handrail/guard/shell"
	"handrail/internal/store"
	"handrail/tools"
	"handrail/tools/history"
)

// Version is the version of the program.
const Version = "0.1.0"

// Judge are the parts that read and judge calls. It runs nothing and writes
// nothing.
type Judge struct {
	Table    *command.Table
	Reader   *shell.Reader
	Guard    *guard.Manager
	Guards   *plugin.Store // the users' own; nil where none are read
	Rules    []guard.Rule  // all but those of the default policy
	Defaults []guard.Rule
}

// Judge puts together what judges calls, for commands that would get env.
func (c *Config) Judge(env map[string]string) (*Judge, error) {
	table, err := command.Builtin()
	if err != nil {
		return nil, fmt.Errorf("command table: %w", err)
	}
	j := &Judge{Table: table}
	base, err := c.withProjects(c.readProjects(c.Roots, OpenTrust(c.State))).base(env)
	if err != nil {
		return nil, err
	}
	j.Rules, j.Defaults = base.Rules, base.Default
	j.Reader = &shell.Reader{Table: table, Home: c.Home, Env: env, Roots: c.Roots}
	j.Guard = &guard.Manager{
		Rules: base.Rules, Default: base.Default,
		Fallback: base.Fallback, Contain: base.Contain,
		Grants:   guard.NewGrants(),
		Revision: base.Revision,
	}
	return j, c.guards(j)
}

// System is everything that a server needs. Close ends it.
type System struct {
	*Judge
	Config  *Config
	Log     *audit.Log
	Store   *store.Store
	Toolbox *tools.Toolbox
	Held    *Containment // what holds the commands

	scratch func() error
	live    *live
}

// Open puts everything together, opens the audit log and makes the scratch
// directory of the commands. Without a log there is no system.
func (c *Config) Open() (*System, error) {
	log, err := audit.Open(c.AuditLog())
	if err != nil {
		return nil, fmt.Errorf("%w: what cannot be recorded is not run. Make %s a directory that is yours and writable, or name another one with `state:` in %s",
			err, c.State, filepath.Join(c.Dir, "config.yaml"))
	}
	s := &System{Config: c, Log: log}
	scratch, remove, err := tools.Scratch()
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("scratch directory: %w", err)
	}
	s.scratch = remove
	c.root = os.Geteuid() == 0
	if s.Judge, err = c.Judge(tools.Environment(c.Roots, scratch)); err != nil {
		s.Close()
		return nil, err
	}
	s.live = c.follow(s.Guard, s.Reader.Env)
	if s.Store, err = c.OpenStore(); err != nil {
		s.Close()
		return nil, err
	}
	held := ledger(s.Store, s.Guard)
	s.Guard.Grants = held
	validator, err := c.Agent(c.Notice)
	if err != nil {
		s.Close()
		return nil, err
	}
	if validator != nil {
		s.Guard.Validator = validator
		validator.Start()
	}
	kept, err := history.Open(c.History(), history.Limits{})
	if err != nil {
		s.Close()
		return nil, err
	}
	s.Toolbox = &tools.Toolbox{RateLimit: s.live.rateLimit, Ledger: held, History: kept, Guard: s.Guard, Reader: s.Reader, Audit: log, AskTimeout: c.Approval.AskTimeout}
	s.Held = c.Contain(s.Reader.Env)
	if err := c.contain(s.Held, s.Guard, s.Toolbox); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// History is the directory of what calls could destroy.
func (c *Config) History() string { return filepath.Join(resolved(c.State), "history") }

// AuditLog is the path of the audit log.
func (c *Config) AuditLog() string { return filepath.Join(c.State, "audit.jsonl") }

// Close ends what runs, removes the scratch directory and closes the log.
func (s *System) Close() error {
	if s.Toolbox != nil {
		_ = s.Toolbox.Close()
	}
	if s.Held != nil {
		_ = s.Held.Close()
	}
	if s.Store != nil {
		_ = s.Store.Close()
	}
	if s.scratch != nil {
		if err := s.scratch(); err != nil && !os.IsNotExist(err) {
			s.Log.Close()
			return err
		}
	}
	return s.Log.Close()
}
