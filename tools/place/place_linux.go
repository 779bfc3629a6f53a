package place

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// walkFlags open a directory on the way to a file; O_PATH needs no right to
// list it.
const walkFlags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// openUnlinked opens a directory (absolute, cleaned) in one step; a symbolic link
// anywhere in it is an error, as is a kernel or a sandbox without openat2 (Linux 5.6).
func openUnlinked(path string) (fd int, err error) {
	return unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: walkFlags, Resolve: unix.RESOLVE_NO_SYMLINKS})
}

// HandlePath is a path of the open directory dir itself, for a child that
// starts in it; path where /proc is not there.
func HandlePath(dir *os.File, path string) string {
	h := "/proc/self/fd/" + strconv.Itoa(int(dir.Fd()))
	if _, err := os.Stat(h); err != nil {
		return path
	}
	return h
}
