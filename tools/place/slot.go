//go:build linux || darwin

package place

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// handle is an open directory.
type handle = *os.File

// ErrStale says that somebody else changed the file meanwhile.
var ErrStale = errors.New("the file was changed by somebody else meanwhile; nothing was written: read it again and redo the change")

// Slot is the place of one file in its directory: what stands there now, and
// the way to put something else there in one step.
type Slot struct {
	dir    handle
	name   string
	Path   string // absolute, resolved
	Exists bool
	st     unix.Stat_t // where it exists
}

// OpenSlot looks at path (absolute, resolved), whose directory is made with
// create. What is there must be a regular file; shared says that it may have
// other names.
func OpenSlot(path string, create, shared bool) (*Slot, error) {
	dir, err := OpenDir(filepath.Dir(path), create)
	if err != nil {
		return nil, err
	}
	s := &Slot{dir: dir, name: filepath.Base(path), Path: path}
	err = unix.Fstatat(int(dir.Fd()), s.name, &s.st, unix.AT_SYMLINK_NOFOLLOW)
	switch s.Exists = err == nil; {
	case errors.Is(err, unix.ENOENT):
		err = nil
	case err == nil:
		if err = regular(path, uint32(s.st.Mode)); err == nil && s.st.Nlink > 1 && !shared {
			err = ErrMoved
		}
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return s, nil
}

// Close lets go of the directory.
func (s *Slot) Close() { s.dir.Close() }

// Read returns the content, at most max bytes of it; more is an error. From
// then on the slot stands for exactly that file.
func (s *Slot) Read(max int64) ([]byte, error) {
	f, st, err := OpenRegular(s.dir, s.name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st.Nlink > 1 && s.st.Nlink <= 1 {
		return nil, ErrMoved
	}
	s.st = st
	b, err := io.ReadAll(io.LimitReader(f, max+1))
	if err == nil && int64(len(b)) > max {
		err = fmt.Errorf("%s is larger than %d bytes", s.Path, max)
	}
	return b, err
}

// Put makes data the content of the slot, in one step: all of it, or nothing.
// Mode, owner, ACL and user attributes of a file that is replaced are kept as
// far as the system lets us; a file that is not the one the slot stands for is
// left alone (ErrStale).
func (s *Slot) Put(data []byte) error {
	mode := uint32(0o644) // less the umask
	if s.Exists {
		mode = 0o600 // until it has the old file's mode
		if err := unix.Faccessat(int(s.dir.Fd()), s.name, unix.W_OK, unix.AT_EACCESS); err != nil {
			return &os.PathError{Op: "write", Path: s.Path, Err: err}
		}
	}
	err := s.replace(func(dir int, temp string) error {
		return create(dir, temp, mode, func(f *os.File) error {
			_, err := f.Write(data)
			if err == nil && s.Exists {
				s.dress(f)
				// set-id bits vouch for the content that goes, as write(2) sees it
				err = owned(f, Attributes{Mode: uint32(s.st.Mode), Uid: s.st.Uid, Gid: s.st.Gid})
			}
			if err == nil {
				err = f.Sync()
			}
			return err
		})
	})
	if err == nil {
		s.syncDir()
	}
	return err
}

// create makes the file name in dir, which must not exist, with what write puts
// there.
func create(dir int, name string, mode uint32, write func(*os.File) error) error {
	fd, err := unix.Openat(dir, name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	if err != nil {
		return fmt.Errorf("make a temporary file beside it: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	err = write(f)
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// dress gives the new file the attributes of the old one.
func (s *Slot) dress(f *os.File) {
	if old, _, err := OpenRegular(s.dir, s.name); err == nil {
		copyAttributes(old, f)
		old.Close()
	}
}

// install puts temp in the slot's place.
func (s *Slot) install(dir int, temp string) error {
	if !s.Exists {
		err := renameNew(dir, temp, s.name)
		if errors.Is(err, unix.EEXIST) {
			return ErrStale
		}
		return wrapPath("create", s.Path, err)
	}
	err := Exchange(dir, temp, s.name)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOTSUP) {
		return s.installPlain(dir, temp) // a file system without Exchange
	}
	if errors.Is(err, unix.ENOENT) {
		return ErrStale
	}
	if err != nil {
		return wrapPath("replace", s.Path, err)
	}
	if s.is(dir, temp) { // what came out is what was read
		_ = unix.Unlinkat(dir, temp, 0)
		return nil
	}
	if err := Exchange(dir, temp, s.name); err != nil {
		return wrapPath("put back", s.Path, err)
	}
	return ErrStale
}

// installPlain compares, then renames: a moment lies between the two.
func (s *Slot) installPlain(dir int, temp string) error {
	if !s.is(dir, s.name) {
		return ErrStale
	}
	return wrapPath("replace", s.Path, unix.Renameat(dir, temp, dir, s.name))
}

// is reports whether name is the file that the slot stands for, unchanged.
func (s *Slot) is(dir int, name string) bool {
	var st unix.Stat_t
	return unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil &&
		st.Dev == s.st.Dev && st.Ino == s.st.Ino && st.Size == s.st.Size && modified(&st) == modified(&s.st)
}

// syncDir makes the new name durable where the directory may be opened.
func (s *Slot) syncDir() {
	fd, err := unix.Openat(int(s.dir.Fd()), ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err == nil {
		_ = unix.Fsync(fd)
		unix.Close(fd)
	}
}

func wrapPath(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &os.PathError{Op: op, Path: path, Err: err}
}
