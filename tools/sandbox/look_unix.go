//go:build linux || darwin

package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// entry is one protected file, directory or link.
type entry struct {
	stamp  stamp
	born   int64  // nanoseconds; of a file; 0 where the file system does not tell
	parent uint64 // inode of the directory that holds it
	link   string
	data   []byte
	held   bool // data is the whole content
	// opaque: it, or what lies below it, could not be read; it equals nothing.
	opaque bool
}

// maxHeld is the largest file whose content is held, in bytes; of a larger one
// a change is seen, and told, but cannot be undone. maxEntries bounds them all.
const (
	maxHeld    = 1 << 20
	maxEntries = 50_000
)

// held are the directories in which paths are compared.
func (w *watcher) held() []string { return slices.Concat(w.roots, w.links) }

// glance is one look at the protected paths.
type glance struct {
	w    *watcher
	now  time.Time
	pass *passage
	// ending: it must come to an end. What cannot be read is opaque.
	ending bool
	// shallow: of directories that were not there nothing is read.
	shallow bool

	all map[string]*entry
}

// errMany says that there is more than one look reads.
var errMany = errors.New("there are more protected files than can be compared")

// look reads all protected paths. Not read again is what did not change by its
// times since the last look, where no command could write it. At the end of a run
// it finds something for all of them; else an error says what it cannot read.
func (w *watcher) look(ending bool) (map[string]*entry, []string, error) {
	var f found
	r := glance{w: w, now: time.Now(), pass: &passage{held: w.held()}, ending: ending}
	defer r.pass.close()
	w.scan.pass, w.scan.failed = r.pass, nil
	for _, root := range w.roots {
		w.scan.walk(root, r.now, &f)
	}
	for _, git := range w.links {
		if _, err := r.pass.lstat(git); err == nil && !below(w.roots, git) {
			f.gits = append(f.gits, git)
		}
	}
	tops := slices.Concat(f.obeyed, f.gitFiles, w.named)
	for _, git := range f.gits {
		for _, part := range gitParts {
			tops = append(tops, filepath.Join(git, part))
		}
	}
	err := r.tops(tops)
	if ending && errors.Is(err, errMany) {
		r.shallow = true
		err = r.tops(tops)
	}
	if err == nil && !ending {
		err = w.scan.failed
	}
	return r.all, f.gits, err
}

// tops reads the paths, where they lie in what is held, and where they lead.
func (r *glance) tops(paths []string) error {
	r.all = map[string]*entry{}
	held := r.w.held()
	for _, top := range paths {
		if !below(held, top) {
			continue
		}
		if err := r.read(top); err != nil {
			return err
		}
		if real, err := filepath.EvalSymlinks(top); err == nil && real != top && below(held, real) {
			if err := r.read(real); err != nil {
				return err
			}
		}
	}
	return nil
}

// absence reports whether err says that nothing can be reached by the path.
func absence(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP)
}

// read adds path and what lies below it.
func (r *glance) read(path string) error {
	if r.all[path] != nil {
		return nil
	}
	fi, err := r.pass.lstat(path)
	switch {
	case err != nil && absence(err):
		return nil
	case err != nil && !r.ending:
		return fmt.Errorf("protected path: %w", err)
	case err != nil:
		r.all[path] = &entry{opaque: true}
		return nil
	case len(r.all) == r.w.most && !r.shallow:
		return fmt.Errorf("protected path %s: %w (%d)", path, errMany, r.w.most)
	}
	e := &entry{stamp: stampOf(fi, r.now)}
	if fi.Mode().IsRegular() {
		e.born = bornAt(path)
	}
	if up, err := os.Lstat(filepath.Dir(path)); err == nil {
		e.parent = stampOf(up, r.now).ino
	}
	r.all[path] = e
	old := r.w.base[path]
	switch mode := fi.Mode(); {
	case mode.IsDir():
		return r.below(path, e, old)
	case mode&fs.ModeSymlink != 0:
		e.link, err = os.Readlink(path)
		e.held = err == nil
	case r.shallow && old == nil:
		e.opaque = true
	case mode.IsRegular() && fi.Size() <= maxHeld:
		if old != nil && old.held && old.stamp.same(e.stamp) && r.w.covered(path) {
			e.data, e.held = old.data, true
			return nil
		}
		e.data, err = readHeld(path)
		e.held = err == nil
	}
	return nil
}

// below adds what lies below the directory path, which is e and was old.
func (r *glance) below(path string, e, old *entry) error {
	if r.shallow && old == nil {
		e.opaque = true
		return nil
	}
	entries, err := r.pass.list(path)
	switch {
	case err != nil && !r.ending:
		return fmt.Errorf("protected path: %w", err)
	case err != nil, r.shallow && len(entries) > r.w.most:
		e.opaque = true
		return nil
	}
	for _, child := range entries {
		if err := r.read(filepath.Join(path, child.Name())); err != nil {
			return err
		}
	}
	return nil
}

// readHeld reads a regular file of at most maxHeld bytes.
func readHeld(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxHeld+1))
	if err == nil && len(b) > maxHeld {
		err = errors.New("too large")
	}
	return b, err
}

// equal reports whether e and now are the same to every program.
func (e *entry) equal(now *entry) bool {
	switch {
	case e.opaque: // a person let it come
		return true
	case now.opaque, e.stamp.mode != now.stamp.mode:
		return false
	case e.stamp.mode.IsDir():
		return true
	case e.held && now.held:
		return e.link == now.link && bytes.Equal(e.data, now.data)
	}
	return e.stamp.same(now.stamp)
}
