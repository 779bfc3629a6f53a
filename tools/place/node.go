//go:build linux || darwin

package place

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// OpenNode looks at path (absolute, resolved), whatever stands there: a file, a
// link, a device, nothing. Its directory must exist.
func OpenNode(path string) (*Slot, error) {
	dir, err := OpenDir(filepath.Dir(path), false)
	if err != nil {
		return nil, err
	}
	s := &Slot{dir: dir, name: filepath.Base(path), Path: path}
	err = unix.Fstatat(int(dir.Fd()), s.name, &s.st, unix.AT_SYMLINK_NOFOLLOW)
	if s.Exists = err == nil; err != nil && !errors.Is(err, unix.ENOENT) {
		dir.Close()
		return nil, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return s, nil
}

// Stat is what stood there when the slot was opened, where it Exists.
func (s *Slot) Stat() unix.Stat_t { return s.st }

// Attributes are what a file gets besides its content.
type Attributes struct {
	Mode     uint32 // permissions; set-id bits are left out
	Uid, Gid uint32 // where the system lets us
	Modified time.Time
}

// Fill puts a new regular file in the slot's place, in one step. What stands
// there must be what the slot stands for, and no directory. Unlike Put it does
// not wait for the disk.
func (s *Slot) Fill(write func(*os.File) error, a Attributes) error {
	return s.replace(func(dir int, temp string) error {
		err := create(dir, temp, 0o600, func(f *os.File) error {
			err := write(f)
			if err == nil {
				s.dress(f)
				err = owned(f, a)
			}
			return err
		})
		if err == nil {
			err = touch(dir, temp, a.Modified)
		}
		return err
	})
}

// owned gives f owner and permissions.
func owned(f *os.File, a Attributes) error {
	var now unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &now); err != nil {
		return err
	}
	if now.Uid != a.Uid || now.Gid != a.Gid {
		if err := f.Chown(int(a.Uid), int(a.Gid)); err != nil {
			_ = f.Chown(-1, int(a.Gid)) // the group alone may be allowed
		}
	}
	return unix.Fchmod(int(f.Fd()), a.Mode&0o1777)
}

func touch(dir int, name string, t time.Time) error {
	ts := unix.NsecToTimespec(t.UnixNano())
	return unix.UtimesNanoAt(dir, name, []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW)
}

// Symlink puts a symbolic link in the slot's place, in one step.
func (s *Slot) Symlink(target string) error {
	return s.replace(func(dir int, temp string) error { return unix.Symlinkat(target, dir, temp) })
}

// Link puts another name of the file other in the slot's place, in one step.
func (s *Slot) Link(other *Slot) error {
	return s.replace(func(dir int, temp string) error {
		return unix.Linkat(int(other.dir.Fd()), other.name, dir, temp, 0)
	})
}

// replace lets fill make a temporary name and puts that in the slot's place.
func (s *Slot) replace(fill func(dir int, temp string) error) error {
	dir, temp := int(s.dir.Fd()), tempName()
	err := fill(dir, temp)
	if err == nil {
		err = s.install(dir, temp)
	} else {
		err = wrapPath("write", s.Path, err)
	}
	if err != nil {
		_ = unix.Unlinkat(dir, temp, 0)
	}
	return err
}

// Remove removes what the slot stands for: a directory only where it is empty.
func (s *Slot) Remove() error {
	dir := int(s.dir.Fd())
	if !s.Exists {
		return nil
	}
	if s.st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return wrapPath("remove", s.Path, unix.Unlinkat(dir, s.name, unix.AT_REMOVEDIR))
	}
	temp := tempName()
	if err := renameNew(dir, s.name, temp); err != nil {
		return wrapPath("remove", s.Path, err)
	}
	if s.is(dir, temp) { // what came out is what was meant
		return wrapPath("remove", s.Path, unix.Unlinkat(dir, temp, 0))
	}
	if err := renameNew(dir, temp, s.name); err != nil {
		return wrapPath("put back", s.Path, err)
	}
	return ErrStale
}

// Mkdir makes a directory in the slot's place, where nothing is.
func (s *Slot) Mkdir() error {
	return wrapPath("create", s.Path, unix.Mkdirat(int(s.dir.Fd()), s.name, 0o700))
}

// SetDir gives the directory of the slot permissions, owner and time.
func (s *Slot) SetDir(a Attributes) error {
	dir := int(s.dir.Fd())
	fd, err := unix.Openat(dir, s.name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return wrapPath("open", s.Path, err)
	}
	f := os.NewFile(uintptr(fd), s.Path)
	defer f.Close()
	if err := owned(f, Attributes{Mode: a.Mode, Uid: a.Uid, Gid: a.Gid}); err != nil {
		return wrapPath("change the mode of", s.Path, err)
	}
	return wrapPath("set the time of", s.Path, touch(dir, s.name, a.Modified))
}

func tempName() string { return ".handrail-" + rand.Text()[:16] + ".tmp" }
