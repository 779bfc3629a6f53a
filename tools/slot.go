//go:build linux || darwin

package tools

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// handle is an open directory.
type handle = *os.File

// errStale says that somebody else changed the file meanwhile.
var errStale = errors.New("the file was changed by somebody else meanwhile; nothing was written: read it again and redo the change")

// close lets go of the directory.
func (s *slot) close() { s.dir.Close() }

// read returns the content, at most max bytes of it; more is an error. From
// then on the slot stands for exactly that file.
func (s *slot) read(max int64) ([]byte, error) {
	f, st, err := openRegular(s.dir, s.name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st.Nlink > 1 && s.st.Nlink <= 1 {
		return nil, errMoved
	}
	s.st = st
	b, err := io.ReadAll(io.LimitReader(f, max+1))
	if err == nil && int64(len(b)) > max {
		err = fmt.Errorf("%s is larger than %d bytes", s.path, max)
	}
	return b, err
}

// put makes data the content of the slot, in one step: all of it, or nothing.
// Mode, owner, ACL and user attributes of a file that is replaced are kept as
// far as the system lets us; a file that is not the one the slot stands for is
// left alone (errStale).
func (s *slot) put(data []byte) (err error) {
	dir := int(s.dir.Fd())
	mode := uint32(0o644) // less the umask
	if s.exists {
		mode = 0o600 // until it has the old file's mode
		if err := unix.Faccessat(dir, s.name, unix.W_OK, unix.AT_EACCESS); err != nil {
			return &os.PathError{Op: "write", Path: s.path, Err: err}
		}
	}
	temp := ".handrail-" + rand.Text()[:16] + ".tmp"
	fd, err := unix.Openat(dir, temp, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	if err != nil {
		return &os.PathError{Op: "create a temporary file beside", Path: s.path, Err: err}
	}
	defer func() {
		if err != nil {
			_ = unix.Unlinkat(dir, temp, 0)
		}
	}()
	f := os.NewFile(uintptr(fd), temp)
	_, err = f.Write(data)
	if err == nil && s.exists {
		err = s.dress(f)
	}
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", s.path, err)
	}
	if err := s.install(dir, temp); err != nil {
		return err
	}
	s.syncDir()
	return nil
}

// dress gives the new file what the old one had besides its content.
func (s *slot) dress(f *os.File) error {
	mode := uint32(s.st.Mode) & 0o1777 // set-id bits vouch for the content that goes, as write(2) sees it
	var now unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &now); err != nil {
		return err
	}
	if now.Uid != s.st.Uid || now.Gid != s.st.Gid {
		if err := f.Chown(int(s.st.Uid), int(s.st.Gid)); err != nil {
			_ = f.Chown(-1, int(s.st.Gid)) // the group alone may be allowed
		}
	}
	if old, _, err := openRegular(s.dir, s.name); err == nil {
		copyAttributes(old, f)
		old.Close()
	}
	return unix.Fchmod(int(f.Fd()), mode)
}

// install puts temp in the slot's place.
func (s *slot) install(dir int, temp string) error {
	if !s.exists {
		err := renameNew(dir, temp, s.name)
		if errors.Is(err, unix.EEXIST) {
			return errStale
		}
		return wrapPath("create", s.path, err)
	}
	err := exchange(dir, temp, s.name)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOTSUP) {
		return s.installPlain(dir, temp) // a file system without exchange
	}
	if errors.Is(err, unix.ENOENT) {
		return errStale
	}
	if err != nil {
		return wrapPath("replace", s.path, err)
	}
	if s.is(dir, temp) { // what came out is what was read
		_ = unix.Unlinkat(dir, temp, 0)
		return nil
	}
	if err := exchange(dir, temp, s.name); err != nil {
		return wrapPath("put back", s.path, err)
	}
	return errStale
}

// installPlain compares, then renames: a moment lies between the two.
func (s *slot) installPlain(dir int, temp string) error {
	if !s.is(dir, s.name) {
		return errStale
	}
	return wrapPath("replace", s.path, unix.Renameat(dir, temp, dir, s.name))
}

// is reports whether name is the file that the slot stands for, unchanged.
func (s *slot) is(dir int, name string) bool {
	var st unix.Stat_t
	return unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil &&
		st.Dev == s.st.Dev && st.Ino == s.st.Ino && st.Size == s.st.Size && modified(&st) == modified(&s.st)
}

// syncDir makes the new name durable where the directory may be opened.
func (s *slot) syncDir() {
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
