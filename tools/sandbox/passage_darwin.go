package sandbox

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// set gives the directory mode, if it still is the one; a link is not followed.
func (o opening) set(mode uint32) error {
	var st unix.Stat_t
	if err := unix.Lstat(o.path, &st); err != nil {
		return err
	}
	if uint64(st.Dev) != o.dev || st.Ino != o.ino {
		return syscall.ENOENT
	}
	return unix.Fchmodat(unix.AT_FDCWD, o.path, mode, unix.AT_SYMLINK_NOFOLLOW)
}
