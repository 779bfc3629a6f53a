package sandbox

import (
	"os"
	"path/filepath"
	"slices"
)

// protect plans the protected paths that exist: read-only mounts, and every
// directory between them and their root pinned as a mount of its own, since a
// mount cannot be renamed or removed (EBUSY).
func (s *Settings) protect(m *plan, p *Policy) {
	var pins, readOnly []string
	paths := slices.Concat(Protected(p.Roots), p.Protected, p.Secrets)
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		if p.may(path) || m.writable(path) == "" {
			continue
		}
		st, err := os.Lstat(path)
		if err != nil {
			continue // what is not there is held by the comparison after the run
		}
		readOnly = append(readOnly, path)
		if st.Mode()&os.ModeSymlink != 0 {
			// A link cannot be mounted on; where it leads is protected, and the
			// comparison after the run holds the link itself.
			readOnly[len(readOnly)-1] = resolved(path)
		}
		for dir := filepath.Dir(path); m.last[dir] == "" && dir != "/"; dir = filepath.Dir(dir) {
			pins = append(pins, dir)
		}
	}
	slices.Sort(pins) // outer ones first
	for _, dir := range slices.Compact(pins) {
		m.bind("--bind", dir)
	}
	for _, path := range readOnly {
		if m.writable(path) != "" {
			m.bind("--ro-bind", path)
		}
	}
}

// may reports whether p allows to write the protected path.
func (p *Policy) may(path string) bool {
	return below(p.Allowed, path)
}
