package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"handrail/guard/owner"
)

// own makes the file (mode 0600, in a directory of mode 0700) and refuses one
// that another user could have prepared.
func own(path string) (os.FileInfo, error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%w (the store must be a file of its own)", err)
	}
	defer f.Close()
	for _, at := range []struct {
		stat func() (os.FileInfo, error)
		name string
		mode os.FileMode
	}{{f.Stat, path, 0o600}, {func() (os.FileInfo, error) { return os.Stat(dir) }, dir, 0o700}} {
		info, err := at.stat()
		if err != nil {
			return nil, err
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		switch {
		case !ok:
			return nil, fmt.Errorf("%s: whose it is cannot be told", at.name)
		case int(st.Uid) != os.Geteuid():
			return nil, owner.Foreign(at.name, int(st.Uid))
		case !info.IsDir() && (!info.Mode().IsRegular() || st.Nlink > 1):
			return nil, fmt.Errorf("%s is not a regular file with one name", at.name)
		case info.Mode().Perm()&0o022 != 0:
			return nil, fmt.Errorf("%s is writable by others (mode %o): look at it, then chmod %o it", at.name, info.Mode().Perm(), at.mode)
		case info.Mode().Perm()&0o077 != 0:
			if err := os.Chmod(at.name, at.mode); err != nil {
				return nil, err
			}
		}
	}
	return f.Stat()
}

// there says by an error that the path of the store is no longer that of the file
// which is open: what is written to that, nobody finds. Until touched, in ns, stays
// as it is, no token was taken back.
func (s *Store) there() (touched int64, err error) {
	if s.pg {
		return 0, nil
	}
	info, err := os.Lstat(s.place)
	if err != nil || !os.SameFile(info, s.file) {
		return 0, errors.New("the file was moved away or replaced while it was open; bring it back, or restart the server")
	}
	return info.ModTime().UnixNano(), nil
}

// touch tells all processes that have the file open that a token was taken back.
// SQLite itself changes it only now and then.
func (s *Store) touch() error {
	if s.pg {
		return nil
	}
	now := time.Now()
	return os.Chtimes(s.place, now, now)
}
