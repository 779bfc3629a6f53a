package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// protect plans the protected paths that exist: read-only mounts. Every
// directory between them, or what is hidden, and their root is pinned as a mount
// of its own, since a mount cannot be renamed or removed (EBUSY).
func (m *plan) protect(p *Policy, hidden []string) {
	var pins, readOnly []string
	pin := func(path string) {
		for dir := filepath.Dir(path); m.last[dir] == "" && dir != "/"; dir = filepath.Dir(dir) {
			pins = append(pins, dir)
		}
	}
	paths := p.unwritable()
	gone := absent(paths)
	for _, path := range paths {
		if m.writable(path) == "" {
			continue
		}
		var st fs.FileInfo
		err := fs.ErrNotExist
		if !gone[path] {
			st, err = os.Lstat(path)
		}
		if err != nil {
			if filepath.Base(path) == "hooks" && !below(p.Roots, path) {
				m.args = append(m.args, "--tmpfs", path, "--remount-ro", path)
			}
			continue // what is not there is held by the comparison after the run
		}
		if st.Mode()&os.ModeSymlink != 0 {
			// A link cannot be mounted on; where it leads is protected, and the
			// comparison after the run holds the link itself.
			pin(path)
			path = resolved(path)
		}
		readOnly = append(readOnly, path)
		pin(path)
	}
	for _, path := range hidden {
		if m.writable(path) != "" && exists(path) {
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

// absent tells which of paths are not there, as far as reading each directory
// that holds many of them tells: one look in place of a hundred.
func absent(paths []string) map[string]bool {
	const many = 8
	in := map[string][]string{}
	for _, path := range paths {
		dir := filepath.Dir(path)
		in[dir] = append(in[dir], path)
	}
	gone := map[string]bool{}
	for dir, list := range in {
		if len(list) < many {
			continue
		}
		entries, err := readDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		names := map[string]bool{}
		for _, e := range entries {
			names[e.Name()] = true
		}
		for _, path := range list {
			gone[path] = !names[filepath.Base(path)]
		}
	}
	return gone
}

// commonDir returns the git directory, outside of root, of the repository that
// root is a linked work tree of; "" where it is none. The repository must say so
// itself: root's own word is not enough to write there.
func commonDir(root string) string {
	link := filepath.Join(root, ".git")
	own := leadsTo(link, "gitdir: ")
	if own == "" || below([]string{root}, own) {
		return ""
	}
	common := leadsTo(filepath.Join(own, "commondir"), "")
	if common == "" || filepath.Dir(own) != filepath.Join(common, "worktrees") || leadsTo(filepath.Join(own, "gitdir"), "") != link {
		return ""
	}
	return common
}
