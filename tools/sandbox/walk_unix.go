//go:build linux || darwin

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// listing is what was found in one directory of a workspace. It is good as long
// as the directory's stamp is the same.
type listing struct {
	stamp   stamp
	dirs    []string // names to go on with
	obeyed  []string // names of the tables
	gitFile string   // a file .git, in any case; or empty
	gits    []string // names of git directories here ("." for this one: a bare repository)
}

// scan walks workspaces for protected paths. It remembers listings, so that a
// second look costs one lstat per directory.
type scan struct {
	seen   map[string]*listing
	pass   *passage
	failed error // what could not be listed in the last walks
}

// found is what one walk found. Paths are absolute.
type found struct {
	obeyed, gitFiles, gits []string
}

// walk looks through root for what the tables name and for git directories.
// Directories node_modules are left out: they are installed, not worked in.
func (s *scan) walk(root string, now time.Time, f *found) {
	s.dir(root, nil, now, f, 0)
}

// maxDepth bounds the directories above one another.
const maxDepth = 200

func (s *scan) dir(path string, above []string, now time.Time, f *found, depth int) {
	fi, err := os.Lstat(path)
	if err != nil || !fi.IsDir() || depth > maxDepth {
		delete(s.seen, path)
		return
	}
	s.pass.open(path, toRead)
	l, ok := s.seen[path]
	if st := stampOf(fi, now); !ok || !l.stamp.same(st) {
		entries, ok := s.entries(path)
		l = list(entries, above)
		if l.stamp = st; ok {
			s.seen[path] = l
		}
	}
	for _, n := range l.obeyed {
		f.obeyed = append(f.obeyed, filepath.Join(path, n))
	}
	if l.gitFile != "" {
		f.gitFiles = append(f.gitFiles, filepath.Join(path, l.gitFile))
	}
	for _, n := range l.gits {
		s.git(filepath.Join(path, n), now, f)
	}
	for _, n := range l.dirs {
		s.dir(path+"/"+n, append(above[:len(above):len(above)], fold(n)), now, f, depth+1)
	}
}

// entries are those of the directory path. That it cannot be listed is remembered,
// and it is listed again the next time.
func (s *scan) entries(path string) (all []fs.DirEntry, ok bool) {
	all, err := s.pass.list(path)
	if err != nil && !absence(err) {
		s.failed = errors.Join(s.failed, fmt.Errorf("look for protected files: %w", err))
	}
	return all, err == nil
}

// list is what is found among the entries of a directory, whose folded parts are
// above.
func list(entries []fs.DirEntry, above []string) *listing {
	l := &listing{}
	var head, objects, refs bool
	for _, e := range entries {
		name, isDir := fold(e.Name()), e.IsDir()
		head, objects, refs = head || name == "head", objects || name == "objects" && isDir, refs || name == "refs" && isDir
		switch {
		case name == ".git" && isDir:
			l.gits = append(l.gits, e.Name())
		case name == ".git":
			l.gitFile = e.Name()
		case obeyed(above, name):
			l.obeyed = append(l.obeyed, e.Name())
		case isDir && name != "node_modules":
			l.dirs = append(l.dirs, e.Name())
		}
	}
	if head && objects && refs { // git takes it for a repository
		l.gits = append(l.gits, ".")
		l.dirs = slices.DeleteFunc(l.dirs, func(n string) bool {
			return slices.Contains([]string{"objects", "refs", "hooks", "info", "logs"}, fold(n))
		})
	}
	return l
}

func readDir(path string) ([]fs.DirEntry, error) {
	d, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0) // what stands there now may be anything
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.ReadDir(-1)
}

// git adds the git directory path and those of its submodules and work trees.
func (s *scan) git(path string, now time.Time, f *found) {
	f.gits = append(f.gits, path)
	s.pass.open(path, toRead)
	for _, sub := range []string{"modules", "worktrees"} {
		s.gitsBelow(filepath.Join(path, sub), now, f, 0)
	}
}

func (s *scan) gitsBelow(path string, now time.Time, f *found, depth int) {
	fi, err := os.Lstat(path)
	if err != nil || !fi.IsDir() || depth > maxDepth {
		return
	}
	s.pass.open(path, toRead)
	l, ok := s.seen[path]
	if st := stampOf(fi, now); !ok || !l.stamp.same(st) {
		l = &listing{stamp: st}
		entries, ok := s.entries(path)
		for _, e := range entries {
			if fold(e.Name()) == "head" {
				l.gits = []string{"."}
			}
			if e.IsDir() && !slices.Contains([]string{"objects", "refs", "hooks", "info", "logs"}, fold(e.Name())) {
				l.dirs = append(l.dirs, e.Name())
			}
		}
		if ok {
			s.seen[path] = l
		}
	}
	if len(l.gits) > 0 {
		f.gits = append(f.gits, path)
	}
	for _, n := range l.dirs {
		s.gitsBelow(path+"/"+n, now, f, depth+1)
	}
}
