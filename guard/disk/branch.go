package disk

import (
	"path/filepath"
	"strings"
)

// Branch returns the branch that is checked out in the work tree of dir
// (absolute, resolved), read from HEAD. ok is false where there is none: no
// work tree, a detached HEAD, a file that cannot be read.
func (v *View) Branch(dir string) (name string, ok bool) {
	for ; ; dir = filepath.Dir(dir) {
		git := filepath.Join(dir, ".git")
		switch v.lstat(git).info.Type {
		case File:
			if git, ok = gitDir(dir, git); !ok {
				return "", false
			}
			fallthrough
		case Dir:
			head := strings.TrimSpace(string(readBounded(filepath.Join(git, "HEAD"), 4096)))
			if name, ok = strings.CutPrefix(head, "ref: refs/heads/"); !ok {
				return "", false // detached
			}
			return name, name != ""
		}
		if dir == filepath.Dir(dir) {
			return "", false
		}
	}
}
