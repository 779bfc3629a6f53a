//go:build linux || darwin

package history

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"handrail/guard/disk"
	"handrail/tools/place"
)

// scan are the flags with which a directory is listed.
const scan = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// Why nothing is kept of an entry.
const (
	lostProduct = "ignored by git and named like a build product"
	lostObjects = "git's objects"
	lostLarge   = "too large"
	lostBudget  = "past what is kept for one call"
	lostNames   = "past the number of names that is looked at"
	lostMount   = "on another file system"
	lostSpecial = "not a file, link or directory"
	lostDenied  = "not readable"
	lostChanged = "it changed while it was read"
	lostOwn     = "the server's own"
)

// walk is one snapshot being taken. The caller of snapshot holds mu and the
// shared lock.
type walk struct {
	s     *Store
	ctx   context.Context
	now   time.Time
	tree  *disk.WorkTree // that the directory being walked lies in; nil: none
	dev   uint64         // of the top
	names int
	grown int64 // bytes that the store grew by
	large int64 // bytes of ignored files newly kept
	lost  int   // entries of which nothing is kept
	some  []Lost
	// deleted are the paths that the call deletes, at or below; missed is some of
	// what it then destroys for good.
	deleted []string
	missed  []Lost
	// replaced are the paths that it gives another content; over are those of them
	// that are lost.
	replaced []string
	over     []Lost
}

// Lost is something of which nothing is kept.
type Lost struct {
	Path Name   `json:"path"`
	Size int64  `json:"size,omitempty"` // bytes
	Why  string `json:"why"`
}

// snapshot looks at path (absolute, resolved) and keeps what is there, with all
// below unless shallow. It is nil where nothing is there.
func (w *walk) snapshot(path string, shallow bool) (*Entry, error) {
	dir, err := place.OpenDir(filepath.Dir(path), false)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	var st unix.Stat_t
	err = unix.Fstatat(int(dir.Fd()), filepath.Base(path), &st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	if err != nil {
		return nil, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	e := entryOf(filepath.Base(path), &st, w.now)
	w.dev = e.Dev
	if e.isDir() && shallow {
		return &e, nil
	}
	w.tree = disk.FindWorkTree(path)
	old := w.s.headOf(path)
	if err := w.entry(int(dir.Fd()), path, &e, old, inGit(path)); err != nil {
		return nil, err
	}
	if e.isDir() && e.Hash != "" && (old == nil || old.Hash != e.Hash) && w.s.tops[path] != e.Hash {
		if err := w.s.setHead(path, &e); err != nil {
			return nil, err
		}
		w.s.tops[path] = e.Hash
	}
	return &e, nil
}

// inGit reports whether path is, or lies in, a git directory.
func inGit(path string) bool {
	return strings.Contains(path+"/", "/.git/")
}

// entry keeps what e names in the directory dir. old is what stood there when
// it was last looked at, or nil. An error ends the walk; what cannot be kept is
// none.
func (w *walk) entry(dir int, path string, e, old *Entry, git bool) error {
	w.names++
	if w.names%256 == 0 && w.ctx.Err() != nil {
		return w.ctx.Err()
	}
	switch e.kind() {
	case unix.S_IFDIR:
		return w.enter(dir, path, e, old, git)
	case unix.S_IFLNK:
		return w.link(dir, path, e)
	case unix.S_IFREG:
		if e.untouched(old) && (old.Hash != "" || old.Lost == lostLarge) {
			e.Hash, e.Lost = old.Hash, old.Lost
			if e.Lost != "" {
				w.lose(path, e, e.Lost)
			}
			return nil
		}
		return w.file(dir, path, e)
	}
	w.lose(path, e, lostSpecial)
	return nil
}

func (w *walk) lose(path string, e *Entry, why string) {
	e.Lost = why
	w.lost++
	if why != lostProduct && why != lostSpecial && len(w.missed) < 20 && w.deletes(path) {
		w.missed = append(w.missed, Lost{Name(path), e.Size, why})
	}
	for _, p := range w.replaced {
		if why != lostProduct && why != lostSpecial && within(p, path) {
			w.over = append(w.over, Lost{Name(p), e.Size, why})
		}
	}
	if len(w.some) < 20 && why != lostProduct && why != lostObjects && why != lostSpecial {
		w.some = append(w.some, Lost{Name(path), e.Size, why})
	}
}

// deletes reports whether the call deletes something at, below or above path. A
// build product is made again, and what is no file holds nothing: lose leaves
// these out.
func (w *walk) deletes(path string) bool {
	return slices.ContainsFunc(w.deleted, func(p string) bool { return within(path, p) || within(p, path) })
}

func (w *walk) link(dir int, path string, e *Entry) error {
	buf := make([]byte, 4096)
	n, err := unix.Readlinkat(dir, string(e.Name), buf)
	if err != nil || n == len(buf) {
		w.lose(path, e, lostChanged)
		return nil
	}
	e.Target = Name(buf[:n])
	return nil
}

// limit is how many bytes of a file may be kept; else why not.
func (w *walk) limit(path string, size int64) (limit int64, why string) {
	l := w.s.limits
	if size > l.File {
		return 0, lostLarge
	}
	limit = l.File
	if size > 64<<10 && w.tree != nil && w.tree.Ignored(path, false) {
		if size > l.Ignored {
			return 0, lostLarge
		}
		if w.large+size > l.Hidden {
			return 0, lostBudget
		}
		w.large += size
		limit = l.Ignored
	}
	most := l.Call
	if w.tree == nil {
		most /= 4
	}
	if w.grown+size > most {
		return 0, lostBudget
	}
	return limit, ""
}

func (w *walk) file(dir int, path string, e *Entry) error {
	limit, why := w.limit(path, e.Size)
	if why != "" {
		w.lose(path, e, why)
		return nil
	}
	fd, err := unix.Openat(dir, string(e.Name), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		w.lose(path, e, lostDenied)
		return nil
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		w.lose(path, e, lostChanged)
		return nil
	}
	hash, read, grown, err := w.s.keep(f, st.Size, limit)
	var store *os.PathError
	switch {
	case errors.Is(err, errGrew), errors.As(err, &store) && store.Path == path:
		w.lose(path, e, lostDenied)
		return nil
	case err != nil:
		return fmt.Errorf("keep %s: %w", path, err)
	}
	w.grown += grown
	var after unix.Stat_t
	if err := unix.Fstat(fd, &after); err == nil {
		name := e.Name
		*e = entryOf(string(name), &after, w.now)
	}
	e.Hash = hash
	if e.Size != read {
		e.Size, e.Sure = read, false
	}
	return nil
}

// enter keeps the directory that e names.
func (w *walk) enter(dir int, path string, e, old *Entry, git bool) error {
	switch {
	case e.Dev != w.dev:
		w.lose(path, e, lostMount)
		return nil
	case path == w.s.dir:
		w.lose(path, e, lostOwn)
		return nil
	case !git && w.tree != nil && w.tree.Product(path):
		w.lose(path, e, lostProduct)
		return nil
	}
	fd, err := unix.Openat(dir, string(e.Name), scan, 0)
	if err != nil {
		w.lose(path, e, lostDenied)
		return nil
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		w.lose(path, e, lostDenied)
		return nil
	}
	slices.Sort(names)
	if e.Name != ".git" && !git { // the top of another work tree?
		if _, ok := slices.BinarySearch(names, ".git"); ok && (w.tree == nil || w.tree.Root != path) {
			outer := w.tree
			w.tree = disk.FindWorkTree(path)
			defer func() { w.tree = outer }()
		}
	}
	return w.below(fd, path, e, w.s.remembered(path, old), names, git || e.Name == ".git")
}

// below keeps the names of the open directory fd.
func (w *walk) below(fd int, path string, e *Entry, known *folder, names []string, git bool) error {
	var old []Entry
	if known != nil {
		old = known.entries
	}
	entries := make([]Entry, 0, len(names))
	_, repository := slices.BinarySearch(names, "HEAD")
	denied := false
	most := w.s.limits.Names
	if w.tree == nil && !git {
		most = w.s.limits.Outside
	}
	for _, name := range names {
		if w.names >= most {
			w.lose(path, e, lostNames)
			break
		}
		var st unix.Stat_t
		if err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); errors.Is(err, unix.ENOENT) {
			continue // gone
		} else if err != nil { // a directory that may be listed and not searched
			denied = true
			continue
		}
		next := entryOf(name, &st, w.now)
		for len(old) > 0 && string(old[0].Name) < name {
			old = old[1:]
		}
		var before *Entry
		if len(old) > 0 && string(old[0].Name) == name {
			before = &old[0]
		}
		if git && repository && (name == "objects" || name == "lfs") && next.isDir() {
			w.lose(path+"/"+name, &next, lostObjects)
		} else if err := w.entry(fd, path+"/"+name, &next, before, git); err != nil {
			return err
		}
		entries = append(entries, next)
	}
	if denied {
		w.lose(path, e, lostDenied)
	}
	if known != nil && slices.Equal(known.entries, entries) {
		e.Hash = known.hash
		return nil
	}
	hash, grown, err := w.s.put(encode(entries))
	if err != nil {
		return fmt.Errorf("keep the listing of %s: %w", path, err)
	}
	w.grown += grown
	e.Hash = hash
	w.s.remember(path, &folder{entries, hash})
	return nil
}
