//go:build linux || darwin

// Package place opens files and directories where a path was judged, and nowhere
// else: no symbolic link is followed, and what is put there replaces exactly
// what stood there, in one step.
package place

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrMoved says that a path is not what was judged.
var ErrMoved = errors.New("the path changed while it was judged: a symbolic link stands in it now; nothing was done, try again")

// OpenDir opens the directory path (absolute, resolved) without following any
// symbolic link: what is opened is what was judged, whatever is swapped meanwhile.
// With create, missing directories are made (mode 0755 less the umask).
func OpenDir(path string, create bool) (*os.File, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("%s is not absolute", path)
	}
	if fd, err := openUnlinked(filepath.Clean(path)); err == nil { // nearly always
		return os.NewFile(uintptr(fd), path), nil
	}
	return walk(path, create)
}

// walk is OpenDir one name at a time, which makes what is missing and tells what is
// wrong.
func walk(path string, create bool) (*os.File, error) {
	fd, err := unix.Open("/", walkFlags, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: "/", Err: err}
	}
	for name := range strings.SplitSeq(strings.Trim(filepath.Clean(path), "/"), "/") {
		if name == "" {
			continue
		}
		next, err := unix.Openat(fd, name, walkFlags, 0)
		if create && errors.Is(err, unix.ENOENT) {
			if err = unix.Mkdirat(fd, name, 0o755); err == nil || errors.Is(err, unix.EEXIST) {
				next, err = unix.Openat(fd, name, walkFlags, 0)
			}
		}
		if err != nil && isLink(fd, name) {
			err = ErrMoved
		}
		unix.Close(fd)
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: path, Err: err}
		}
		fd = next
	}
	return os.NewFile(uintptr(fd), path), nil
}

// isLink reports whether name in dir is a symbolic link.
func isLink(dir int, name string) bool {
	var st unix.Stat_t
	return unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK
}

// OpenRegular opens the regular file name in dir for reading. It does not
// follow a link, and waits for nothing: a directory, FIFO, device or socket is
// an error that says so.
func OpenRegular(dir *os.File, name string) (*os.File, unix.Stat_t, error) {
	path := filepath.Join(dir.Name(), name)
	var st unix.Stat_t
	if err := unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil, st, &os.PathError{Op: "open", Path: path, Err: err}
	}
	if err := regular(path, uint32(st.Mode)); err != nil {
		return nil, st, err
	}
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, st, &os.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	if err = unix.Fstat(fd, &st); err == nil {
		err = regular(path, uint32(st.Mode))
	}
	if err != nil {
		f.Close()
		return nil, st, err
	}
	return f, st, nil
}

// regular says what stands at path where it is no regular file.
func regular(path string, mode uint32) error {
	what := ""
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return nil
	case unix.S_IFLNK:
		return ErrMoved
	case unix.S_IFDIR:
		what = "is a directory; list it with safe_bash: ls"
	case unix.S_IFIFO:
		what = "is a FIFO (named pipe)"
	case unix.S_IFCHR:
		what = "is a character device"
	case unix.S_IFBLK:
		what = "is a block device"
	case unix.S_IFSOCK:
		what = "is a socket"
	}
	return fmt.Errorf("%s %s; only regular files can be read and written", path, what)
}
