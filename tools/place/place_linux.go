package place

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// walkFlags open a directory on the way to a file; O_PATH needs no right to
// list it.
const walkFlags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// HandlePath is a path of the open directory dir itself, for a child that
// starts in it; path where /proc is not there.
func HandlePath(dir *os.File, path string) string {
	h := "/proc/self/fd/" + strconv.Itoa(int(dir.Fd()))
	if _, err := os.Stat(h); err != nil {
		return path
	}
	return h
}
