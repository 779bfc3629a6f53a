package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// sight asks the disk and remembers what it was told: what was made of that is
// good as long as the same questions get the same answers, and to ask them again
// costs a fraction of making it anew. nil asks and remembers nothing. It is not
// safe for concurrent use.
type sight struct {
	under *sight // with more answers, which somebody else looks after; may be nil
	spots map[query]spot
	gits  map[string][]string // of each root
	again []func() bool       // the other questions
}

// query is a question for a spot.
type query struct {
	path   string
	follow bool
}

// once asks, and remembers nothing.
var once *sight

// same asks everything again and reports whether the answers are the same.
func (s *sight) same() bool {
	for at, was := range s.spots {
		if spotAt(at.path, at.follow) != was {
			return false
		}
	}
	return !slices.ContainsFunc(s.again, func(same func() bool) bool { return !same() })
}

func (s *sight) note(same func() bool) {
	if s != nil {
		s.again = append(s.again, same)
	}
}

// spot is what is at a path: which file of which kind. Zero: nothing that can be
// reached.
type spot struct {
	inode
	kind fs.FileMode // its type; isFile of a regular file
}

// isFile is the kind of a regular file, whose type in fs.FileMode is zero.
const isFile = fs.FileMode(1)

func (p spot) there() bool { return p.kind != 0 }

// look tells what is at path, or with follow where it leads.
func (s *sight) look(path string, follow bool) spot {
	if s == nil {
		return spotAt(path, follow)
	}
	at := query{path, follow}
	if s.under != nil {
		if was, asked := s.under.spots[at]; asked {
			return was
		}
	}
	was, asked := s.spots[at]
	if !asked {
		if s.spots == nil {
			s.spots = map[query]spot{}
		}
		was = spotAt(path, follow)
		s.spots[at] = was
	}
	return was
}

// resolved follows path's links.
func (s *sight) resolved(path string) string {
	was := resolved(path)
	s.note(func() bool { return resolved(path) == was })
	return was
}

// line returns the text of a small file without the space around it; "" where
// there is none.
func (s *sight) line(path string) string {
	was := lineOf(path)
	s.note(func() bool { return lineOf(path) == was })
	return was
}

// names lists those entries of dir that keep wants, which gets name and type.
func (s *sight) names(dir string, keep func(fs.DirEntry) bool) ([]string, error) {
	stamp := dirStamp(dir)
	was, err := namesOf(dir, keep)
	s.note(func() bool {
		at := dirStamp(dir)
		if stamp.same(at) {
			return true
		}
		now, fault := namesOf(dir, keep)
		stamp = at
		return slices.Equal(now, was) && errors.Is(fault, fs.ErrNotExist) == errors.Is(err, fs.ErrNotExist) && (fault == nil) == (err == nil)
	})
	return was, err
}

// lineOf reads what line returns: of a regular file of at most 4 KiB.
func lineOf(path string) string {
	fi, err := os.Lstat(path)
	if err != nil || !fi.Mode().IsRegular() || fi.Size() > 4096 {
		return ""
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func namesOf(dir string, keep func(fs.DirEntry) bool) (names []string, err error) {
	entries, err := readDir(dir)
	for _, e := range entries {
		if keep(e) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, err
}

// absent tells which of paths are not there, as far as reading each directory
// that holds many of them tells: one look in place of a hundred.
func (s *sight) absent(paths []string) map[string]bool {
	const many = 8
	in := map[string][]string{}
	for _, path := range paths {
		dir := up(path)
		in[dir] = append(in[dir], path)
	}
	gone := map[string]bool{}
	for dir, list := range in {
		if len(list) < many {
			continue
		}
		asked := map[string]bool{}
		for _, path := range list {
			asked[filepath.Base(path)] = true
		}
		there, err := s.names(dir, func(e fs.DirEntry) bool { return asked[e.Name()] })
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		for _, path := range list {
			_, found := slices.BinarySearch(there, filepath.Base(path))
			gone[path] = !found
		}
	}
	return gone
}

// up returns the directory above a clean path.
func up(path string) string {
	for i := len(path) - 1; i > 0; i-- {
		if path[i] == '/' {
			return path[:i]
		}
	}
	return "/"
}
