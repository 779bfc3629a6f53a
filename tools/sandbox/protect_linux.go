package sandbox

import (
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
	paths := slices.Concat(Protected(p.Roots), p.Protected, p.Secrets)
	var configs []string // what git's own commands may write, as far as the comparison takes it
	for _, root := range p.Roots {
		configs = append(configs, filepath.Join(root, ".gitmodules"), filepath.Join(root, ".gitattributes"))
		for _, git := range gitDirs(root) {
			configs = append(configs, filepath.Join(git, "config"), filepath.Join(git, "config.worktree"))
			if !below(p.Roots, git) { // which the comparison after the run does not reach
				paths = append(paths, filepath.Join(git, "commondir"), filepath.Join(git, "gitdir"))
			}
		}
	}
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		if p.may(path) || m.writable(path) == "" || p.GitConfig && slices.Contains(configs, path) {
			continue
		}
		st, err := os.Lstat(path)
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
		if _, err := os.Lstat(path); err == nil && m.writable(path) != "" {
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

// may reports whether p allows to write the protected path.
func (p *Policy) may(path string) bool {
	return below(p.Allowed, path)
}
