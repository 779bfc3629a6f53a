//go:build linux || darwin

package history

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"handrail/tools/place"
)

// restorer carries out the steps of one undoing.
type restorer struct {
	s     *Store
	first map[[2]uint64]string // by device and inode before: the path where such a file was restored
}

// carryOut does the steps. Each is done as a whole or not at all; what fails is
// told.
func (s *Store) carryOut(u *Undoing) {
	r := &restorer{s: s, first: map[[2]uint64]string{}}
	failed := map[Name]bool{}
	try := func(step *Step, do func(*Step) error) {
		if failed[step.Path] {
			return
		}
		if err := do(step); err != nil {
			failed[step.Path] = true
			u.Failed = append(u.Failed, Problem{step.Path, reason(err)})
		}
	}
	for i := range slices.Backward(u.Todo) { // what is below goes first
		if step := &u.Todo[i]; step.now != nil && (step.Do == "remove" || step.Do == "restore" && (step.now.isDir() || step.before.isDir())) {
			try(step, remove)
		}
	}
	for i := range u.Todo {
		if step := &u.Todo[i]; step.Do == "restore" {
			try(step, r.restore)
		}
	}
	for i := range slices.Backward(u.Todo) { // permissions and times last
		if step := &u.Todo[i]; step.Do != "remove" && step.before.isDir() {
			try(step, settle)
		}
	}
}

// reason is an error without the path that it is about.
func reason(err error) string {
	var at *os.PathError
	if errors.As(err, &at) {
		return at.Op + ": " + at.Err.Error()
	}
	return err.Error()
}

// open opens the place of a step, which must be as it was when it was looked at.
func (step *Step) open() (*place.Slot, error) {
	slot, err := place.OpenNode(string(step.Path))
	if err != nil {
		return nil, err
	}
	if slot.Exists != (step.now != nil) || slot.Exists && !step.now.stands(slot.Stat()) {
		slot.Close()
		return nil, place.ErrStale
	}
	return slot, nil
}

// stands reports whether st is of what e was made from.
func (e *Entry) stands(st unix.Stat_t) bool {
	now := entryOf(string(e.Name), &st, time.Time{})
	if e.isDir() {
		return now.isDir() && now.Dev == e.Dev && now.Inode == e.Inode
	}
	if e.Links > 1 { // the others of its names may have been restored
		now.Links, now.Changed = e.Links, e.Changed
	}
	return e.twin(&now)
}

func remove(step *Step) error {
	slot, err := step.open()
	if err != nil {
		return err
	}
	defer slot.Close()
	if err := slot.Remove(); err != nil {
		return err
	}
	step.now = nil
	return nil
}

// restore puts a file, link or directory where it was.
func (r *restorer) restore(step *Step) error {
	slot, err := step.open()
	if err != nil {
		return err
	}
	defer slot.Close()
	e := step.before
	switch e.kind() {
	case unix.S_IFDIR:
		return slot.Mkdir()
	case unix.S_IFLNK:
		return slot.Symlink(string(e.Target))
	}
	id := [2]uint64{e.Dev, e.Inode}
	if path, ok := r.first[id]; ok && e.Links > 1 {
		if other, err := place.OpenNode(path); err == nil {
			defer other.Close()
			return slot.Link(other)
		}
	}
	if err := slot.Fill(func(f *os.File) error { return r.s.copyTo(f, e.Hash) }, e.attributes()); err != nil {
		return err
	}
	r.first[id] = string(step.Path)
	return nil
}

// settle gives a directory what it had.
func settle(step *Step) error {
	slot, err := place.OpenNode(string(step.Path))
	if err != nil {
		return err
	}
	defer slot.Close()
	return slot.SetDir(step.before.attributes())
}

func (e *Entry) attributes() place.Attributes {
	return place.Attributes{Mode: e.Mode, Uid: e.Uid, Gid: e.Gid, Modified: time.Unix(0, e.Modified)}
}

// sync waits until what was restored in the places of r is on disk. It is in the
// store as well, so a fault of it is none of the undoing.
func (s *Store) sync(r *Record) {
	for _, spot := range r.Places {
		if fd, err := unix.Open(filepath.Dir(string(spot.Path)), scan, 0); err == nil {
			f := os.NewFile(uintptr(fd), string(spot.Path))
			_ = flush(f)
			f.Close()
		}
	}
}

// forget takes back the record of an undoing that was not carried out.
func (s *Store) forget(r *Record) {
	_ = os.Remove(filepath.Join(s.dir, "calls", r.file)) // else a call that changed nothing
}
