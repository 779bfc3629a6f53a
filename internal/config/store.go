package config

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"handrail/guard"
	"handrail/guard/audit"
	"handrail/guard/plugin"
	"handrail/internal/store"
)

// OpenStore opens what outlives a process: grants, calls that wait, history.
// Where it cannot be opened there is no server: the error says what to do.
func (c *Config) OpenStore() (*store.Store, error) {
	s, err := store.Open(context.Background(), store.Options{Place: c.storePlace(), Redact: audit.RedactedBy(c.known().Redact),
		AlwaysFor: c.Approval.GrantExpiry, WaitFor: c.Approval.PendingExpiry})
	if err != nil {
		return nil, fmt.Errorf("%w (what is approved cannot be kept without it)", err)
	}
	return s, nil
}

// storePlace is the database of the store, or its file.
func (c *Config) storePlace() string {
	return cmp.Or(c.StoreURL, filepath.Join(resolved(c.State), "store.db"))
}

// ledger answers by what is approved. What the store says counts only where the
// kernel keeps commands away from it.
func ledger(s *store.Store, m *guard.Manager) *store.Ledger {
	return store.NewLedger(s, func() bool { return m.Hold >= guard.Held })
}

// JudgeWith is Judge with the guards of one more directory, which count as the
// user's own.
func (c *Config) JudgeWith(env map[string]string, dir string) (*Judge, error) {
	j, err := c.Judge(env)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("guards: %s is not a directory", dir)
	}
	j.Guards, err = plugin.Open(plugin.Options{Loader: c.Loader(j), User: append(plugin.Dirs(c.Home), dir), Trusted: c.trusted, Notice: c.Notice})
	if err != nil {
		return nil, fmt.Errorf("guards: %w", err)
	}
	j.Guard.User = j.Guards.Policy
	return j, nil
}
