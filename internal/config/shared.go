package config

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"handrail/guard/agent"
	"handrail/guard/audit"
	"handrail/internal/store"
)

// Shared is what the systems of all principals have in common: one log, one
// store, one model. Close ends it, after the systems.
type Shared struct {
	Log   *audit.Log
	Store *store.Store

	agent func() (*agent.Agent, error) // once; nil where there is none
}

// Share opens it. Without a log and a store there is no system.
func (c *Config) Share() (*Shared, error) {
	log, err := audit.Open(c.AuditLog())
	if err != nil {
		return nil, fmt.Errorf("%w: what cannot be recorded is not run. Make %s a directory that is yours and writable, or name another one with `state:` in %s",
			err, c.State, filepath.Join(c.Dir, "config.yaml"))
	}
	log.Rotate = c.rotation()
	log.Redact = c.known().Redact
	st, err := c.OpenStore()
	if err != nil {
		log.Close()
		return nil, err
	}
	return &Shared{Log: log, Store: st, agent: sync.OnceValues(func() (*agent.Agent, error) {
		a, err := c.Agent(c.Notice)
		if a != nil {
			a.Start()
		}
		return a, err
	})}, nil
}

// Ready says by an error why no call can be served: the log or the store cannot
// be written.
func (s *Shared) Ready(ctx context.Context) error {
	return errors.Join(s.Log.Writable(), s.Store.Writable(ctx))
}

// Close closes the store and the log.
func (s *Shared) Close() error { return errors.Join(s.Store.Close(), s.Log.Close()) }
