package sandbox

import (
	"os"
	"path/filepath"
	"slices"
)

// unread are the paths that are hidden from every command, resolved: whatever
// leads to them, and where they are links, what they lead to.
type unread struct {
	always   []string
	nameable map[string]string // resolved, by the path that a policy may name
}

func (s *Settings) unread() unread {
	u := unread{nameable: map[string]string{}}
	for _, path := range append(slices.Clone(s.Hidden), s.State) {
		u.always = append(u.always, resolved(path))
	}
	if os.Getuid() == 0 {
		for _, path := range rootSecrets {
			u.nameable[path] = resolved(path)
		}
	}
	credentials := s.Credentials
	if credentials == nil {
		credentials = DefaultCredentials
	}
	for _, name := range credentials {
		path := filepath.Join(s.Home, name)
		u.nameable[path] = resolved(path)
	}
	return u
}

// of lists what a command of p does not read: outer ones first.
func (u unread) of(p *Policy) []string {
	hidden := append(slices.Clone(p.Hidden), u.always...)
	if !p.Open {
		for path, real := range u.nameable {
			if !slices.Contains(p.Read, path) && !slices.Contains(p.Write, path) {
				hidden = append(hidden, real)
			}
		}
	}
	slices.Sort(hidden)
	return slices.Compact(hidden)
}

// resolved follows path's links; what cannot be followed stays as it is.
func resolved(path string) string {
	if r, err := filepath.EvalSymlinks(path); err == nil {
		return r
	}
	return path
}
