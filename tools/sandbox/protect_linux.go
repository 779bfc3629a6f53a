package sandbox

import (
	"io/fs"
	"path/filepath"
	"slices"
)

// protect plans the protected paths that exist: read-only mounts. Every
// directory between them, or what is hidden, and their root is pinned as a mount
// of its own, since a mount cannot be renamed or removed (EBUSY).
func (m *plan) protect(p *Policy, found *ground, hidden []string) {
	var pins, readOnly []string
	pin := func(path string) {
		for dir := up(path); m.last[dir] == "" && dir != "/"; dir = up(dir) {
			pins = append(pins, dir)
		}
	}
	paths, gone := found.unwritable, found.gone
	for _, path := range paths {
		hooks := filepath.Base(path) == "hooks" && !below(p.Roots, path) // made by a command they would be out of the comparison's reach
		if gone[path] && !hooks || m.writable(path) == "" {
			continue // what is not there is held by the comparison after the run
		}
		at := m.sight.look(path, false)
		if !at.there() {
			if hooks {
				m.args = append(m.args, "--tmpfs", path, "--remount-ro", path)
			}
			continue
		}
		if at.kind == fs.ModeSymlink {
			// A link cannot be mounted on; where it leads is protected, and the
			// comparison after the run holds the link itself.
			pin(path)
			path = m.sight.resolved(path)
		}
		readOnly = append(readOnly, path)
		pin(path)
	}
	for _, path := range hidden {
		if m.writable(path) != "" && m.sight.look(path, false).there() {
			pin(path)
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

// commonDir returns the git directory, outside of root, of the repository that
// root is a linked work tree of; "" where it is none. The repository must say so
// itself: root's own word is not enough to write there.
func (s *sight) commonDir(root string) string {
	link := filepath.Join(root, ".git")
	own := s.leadsTo(link, "gitdir: ")
	if own == "" || below([]string{root}, own) {
		return ""
	}
	common := s.leadsTo(filepath.Join(own, "commondir"), "")
	if common == "" || filepath.Dir(own) != filepath.Join(common, "worktrees") || s.leadsTo(filepath.Join(own, "gitdir"), "") != link {
		return ""
	}
	return common
}
