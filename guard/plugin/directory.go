package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"handrail/guard/owner"
)

// Bounds of a directory of guards.
const (
	maxUserFiles    = 5000
	maxProjectFiles = 200
)

// parents are the directories that have one of guards, the weakest first.
var parents = []string{".agents", ".claude", ".handrail"}

// Dirs are the directories of guards below a home or a workspace root, the
// weakest first.
func Dirs(base string) (dirs []string) {
	for _, p := range parents {
		dirs = append(dirs, filepath.Join(base, p, "guards"))
	}
	return dirs
}

// source is one directory of guards: a user's, or one of a project, whose files
// must lie in the project.
type source struct {
	dir  string   // absolute, for people
	root *os.Root // of the project; nil for a user's directory
	rel  string   // dir below root
	max  int
	err  error // why it cannot be looked into
}

// userSources are the directories of a user's guards.
func userSources(dirs []string) (list []*source) {
	for _, dir := range dirs {
		list = append(list, &source{dir: dir, max: maxUserFiles})
	}
	return list
}

// projectSources are the directories of guards below a workspace root, which is
// not open yet.
func projectSources(root string) (list []*source) {
	for _, rel := range Dirs("") {
		list = append(list, &source{dir: filepath.Join(root, rel), rel: rel, max: maxProjectFiles})
	}
	return list
}

// in is s with its root open.
func (s source) in(root *os.Root) *source {
	s.root = root
	return &s
}

// absent reports whether the directory cannot be there, since that which would
// have it is not.
func (s *source) absent() bool {
	var st syscall.Stat_t // os.Lstat makes more of it, which each call would pay
	return syscall.Lstat(filepath.Dir(s.dir), &st) == syscall.ENOENT
}

// at is the path of one of the files, or of the directory for the empty name: below
// the root where there is one.
func (s *source) at(name string) string {
	dir := s.dir
	if s.root != nil {
		dir = s.rel
	}
	if name == "" {
		return dir
	}
	return filepath.Join(dir, name)
}

func (s *source) open(name string) (*os.File, error) {
	if s.root != nil {
		return s.root.OpenFile(s.at(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	}
	return os.OpenFile(s.at(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

func (s *source) stat(name string) (os.FileInfo, error) {
	if s.root != nil {
		return s.root.Stat(s.at(name))
	}
	return os.Stat(s.at(name))
}

// IsGuard reports whether a file of a directory, by its name, is meant to be a
// guard.
func IsGuard(name string) bool {
	if strings.HasPrefix(name, ".") || strings.EqualFold(name, "README.md") {
		return false
	}
	return slices.Contains([]string{".yaml", ".yml", ".md"}, strings.ToLower(filepath.Ext(name)))
}

// names lists the files that are meant to be guards, sorted; none where the
// directory is not there.
func (s *source) names() ([]string, error) {
	if s.err != nil {
		return nil, fmt.Errorf("%s: %w", s.dir, s.err)
	}
	d, err := s.open("")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", s.dir, err)
	}
	defer d.Close()
	if info, err := d.Stat(); err != nil {
		return nil, fmt.Errorf("%s: %w", s.dir, err)
	} else if !info.IsDir() {
		return nil, nil
	} else if err := s.ours(s.dir, info); err != nil {
		return nil, err
	}
	all, err := d.Readdirnames(2*s.max + 100)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", s.dir, err)
	}
	guards := slices.DeleteFunc(all, func(name string) bool { return !IsGuard(name) })
	if len(all) >= 2*s.max+100 || len(guards) > s.max {
		return nil, fmt.Errorf("%s: more than %d guards", s.dir, s.max)
	}
	slices.Sort(guards)
	return guards, nil
}

// read returns the content of a file and its stamp.
func (s *source) read(name string) ([]byte, error) {
	file := filepath.Join(s.dir, name)
	f, err := s.open(name)
	if err != nil {
		return nil, fmt.Errorf("%s:1: %w", file, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("%s:1: %w", file, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s:1: not a regular file", file)
	}
	if err := s.ours(file, info); err != nil {
		return nil, fmt.Errorf("%s:1: %w", file, err)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s:1: %w", file, err)
	}
	return data, nil
}

// ours says why another user may have written a file of the user's own, or put
// another one in its place.
func (s *source) ours(path string, info fs.FileInfo) error {
	if s.root != nil { // of a project: it is not relied on
		return nil
	}
	return owner.Check(path, info)
}

// fault is a file that is no good guard. tools are those that it is about;
// none: it may be about all.
type fault struct {
	file  string
	tools []string
	err   error
}

// load reads the guards of one directory. Two of one ID are a fault of both.
func (l *Loader) load(ctx context.Context, s *source) (guards []*Guard, faults []fault) {
	names, err := s.names()
	if err != nil {
		return nil, []fault{{file: s.dir, err: err}}
	}
	for _, name := range names {
		file := filepath.Join(s.dir, name)
		data, err := s.read(name)
		if err == nil && ctx.Err() != nil {
			err = fmt.Errorf("%s:1: reading the guards before it took too long", file)
		}
		if err != nil {
			faults = append(faults, fault{file: file, err: err})
			continue
		}
		g, err := l.parse(file, data)
		if err == nil {
			err = l.examples(ctx, g)
		}
		if err == nil {
			if i := slices.IndexFunc(guards, func(o *Guard) bool { return o.ID == g.ID }); i >= 0 {
				err = fmt.Errorf("%s: the id %q is that of %s too", g.at(g.Line), g.ID, guards[i].File)
			}
		}
		if err != nil {
			f := fault{file: file, err: err}
			if g != nil {
				f.tools = g.Tools
			}
			faults = append(faults, f)
			continue
		}
		guards = append(guards, g)
	}
	return guards, faults
}

// Dir reads the guards of one directory, whoever its files belong to: for
// checking them, not for relying on them. The error tells all that is wrong; the
// guards are good all the same.
func (l *Loader) Dir(ctx context.Context, dir string) ([]*Guard, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	guards, faults := l.load(ctx, &source{dir: dir, root: root, rel: ".", max: maxUserFiles})
	return guards, joined(faults)
}
