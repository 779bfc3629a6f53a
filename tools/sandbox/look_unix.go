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
}

// maxHeld is the largest file whose content is held, in bytes; of a larger one
// a change is seen, and told, but cannot be undone. maxEntries bounds them all.
const (
	maxHeld    = 1 << 20
	maxEntries = 50_000
)

// held are the directories in which paths are compared.
func (w *watcher) held() []string { return slices.Concat(w.roots, w.links) }

// look reads all protected paths. Not read again is what did not change by its
// times since the last look, where no command could write it.
func (w *watcher) look() (map[string]*entry, []string, error) {
	var f found
	now := time.Now()
	for _, root := range w.roots {
		w.scan.walk(root, now, &f)
	}
	for _, git := range w.links {
		if _, err := os.Lstat(git); err == nil && !below(w.roots, git) {
			f.gits = append(f.gits, git)
		}
	}
	tops := slices.Concat(f.obeyed, f.gitFiles, w.named)
	for _, git := range f.gits {
		for _, part := range gitParts {
			tops = append(tops, filepath.Join(git, part))
		}
	}
	all := map[string]*entry{}
	for _, top := range tops {
		if !below(w.held(), top) {
			continue
		}
		if err := w.read(top, now, all); err != nil {
			return nil, nil, err
		}
		if real, err := filepath.EvalSymlinks(top); err == nil && real != top && below(w.held(), real) {
			if err := w.read(real, now, all); err != nil {
				return nil, nil, err
			}
		}
	}
	return all, f.gits, nil
}

// read adds path and what lies below it.
func (w *watcher) read(path string, now time.Time, all map[string]*entry) error {
	fi, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || all[path] != nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("protected path: %w", err)
	}
	if len(all) == maxEntries {
		return fmt.Errorf("protected path %s: there are more than %d protected files to compare", path, maxEntries)
	}
	e := &entry{stamp: stampOf(fi, now)}
	if fi.Mode().IsRegular() {
		e.born = bornAt(path)
	}
	if up, err := os.Lstat(filepath.Dir(path)); err == nil {
		e.parent = stampOf(up, now).ino
	}
	all[path] = e
	switch mode := fi.Mode(); {
	case mode.IsDir():
		entries, _ := readDir(path)
		for _, child := range entries {
			if err := w.read(filepath.Join(path, child.Name()), now, all); err != nil {
				return err
			}
		}
	case mode&fs.ModeSymlink != 0:
		e.link, err = os.Readlink(path)
		e.held = err == nil
	case mode.IsRegular() && fi.Size() <= maxHeld:
		if old := w.base[path]; old != nil && old.held && old.stamp.same(e.stamp) && w.covered(path) {
			e.data, e.held = old.data, true
			return nil
		}
		e.data, err = readHeld(path)
		e.held = err == nil
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
	case e.stamp.mode != now.stamp.mode:
		return false
	case e.stamp.mode.IsDir():
		return true
	case e.held && now.held:
		return e.link == now.link && bytes.Equal(e.data, now.data)
	}
	return e.stamp.same(now.stamp)
}
