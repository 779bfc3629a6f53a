package config

import (
	"sync"
	"time"
)

// Served returns what says whether a name is among the principals, as the files
// say now: who is taken out of them is not served any more. Who is added is from
// the next start on. Files that cannot be read leave it as it was.
func (c *Config) Served() func(name string) bool {
	s := &served{config: c, names: c.Principals}
	s.state = (&live{config: c}).files()
	return s.has
}

type served struct {
	config *Config

	mu    sync.Mutex
	next  time.Time
	state string // of the files whose principals names are
	seen  string // what they were last: only what stays counts, since files are written in parts
	names Principals
}

func (s *served) has(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.After(s.next) {
		s.next = now.Add(lookEvery)
		state := (&live{config: s.config}).files()
		steady := state == s.seen
		if s.seen = state; steady && state != s.state {
			at := s.config.layers
			if c, err := load(at.at, at.named, at.given); err == nil && c.File == s.config.File {
				s.state, s.names = state, c.Principals
			}
		}
	}
	return s.names[name] != nil && s.config.Principals[name] != nil
}
