package sandbox

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// set gives the directory mode, if it still is the one; a link is not followed.
func (o opening) set(mode uint32) error {
	fd, err := unix.Open(o.path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if uint64(st.Dev) != o.dev || st.Ino != o.ino {
		return syscall.ENOENT
	}
	return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), mode) // fchmod takes none that is a path only
}
