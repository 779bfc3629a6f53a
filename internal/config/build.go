package config

import (
	"errors"
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
	base, err := c.withProjects(c.readProjects(c.Roots, OpenTrust(c.State))).base()
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

	own     *Shared // nil where the log and the store are others' too
	scratch func() error
	live    *live
}

// Open puts everything together, with a log and a store of its own.
func (c *Config) Open() (*System, error) {
	shared, err := c.Share()
	if err != nil {
		return nil, err
	}
	s, err := c.OpenWith(shared)
	if err != nil {
		return nil, errors.Join(err, shared.Close())
	}
	s.own = shared
	return s, nil
}

// OpenWith puts everything together and makes the scratch directory of the
// commands. The caller closes what is shared after the system.
func (c *Config) OpenWith(shared *Shared) (*System, error) {
	s := &System{Config: c, Log: shared.Log, Store: shared.Store}
	if err := s.open(shared); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *System) open(shared *Shared) error {
	c := s.Config
	scratch, remove, err := tools.Scratch()
	if err != nil {
		return fmt.Errorf("scratch directory: %w", err)
	}
	s.scratch = remove
	c.root = os.Geteuid() == 0
	if s.Judge, err = c.Judge(c.commandEnvironment(scratch)); err != nil {
		return err
	}
	s.live = c.follow(s.Guard)
	held := ledger(s.Store, s.Guard)
	held.Principal = c.Principal
	s.Guard.Grants = held
	validator, err := shared.agent()
	if err != nil {
		return err
	}
	if validator != nil {
		s.Guard.Validator = validator
	}
	kept, err := history.Open(c.History(), history.Limits{})
	if err != nil {
		return err
	}
	s.Toolbox = &tools.Toolbox{RateLimit: s.live.rateLimit, Ledger: held, History: kept, Guard: s.Guard, Reader: s.Reader, Audit: s.Log, AskTimeout: c.Approval.AskTimeout,
		Shared: c.Principal != "", Redact: c.redact(), Quota: c.quota()}
	s.Held = c.Contain(s.Reader.Env)
	return c.contain(s.Held, s.Guard, s.Toolbox)
}

// History is the directory of what calls could destroy.
func (c *Config) History() string { return filepath.Join(c.ownState(), "history") }

// ownState is the state directory, or the part of it that is a principal's alone.
func (c *Config) ownState() string {
	if c.Principal != "" {
		return filepath.Join(resolved(c.State), "principals", c.Principal)
	}
	return resolved(c.State)
}

// AuditLog is the path of the audit log.
func (c *Config) AuditLog() string { return filepath.Join(c.State, "audit.jsonl") }

// Close ends what runs and removes the scratch directory, and closes the log and
// the store where they are its own.
func (s *System) Close() error {
	var errs []error
	if s.Toolbox != nil {
		errs = append(errs, s.Toolbox.Close())
	}
	if s.Held != nil {
		errs = append(errs, s.Held.Close())
	}
	if s.scratch != nil {
		if err := s.scratch(); !os.IsNotExist(err) {
			errs = append(errs, err)
		}
	}
	if s.own != nil {
		errs = append(errs, s.own.Close())
	}
	return errors.Join(errs...)
}
