package place

import (
	"os"

	"golang.org/x/sys/unix"
)

// walkFlags open a directory on the way to a file.
const walkFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// openUnlinked opens a directory in one step, where the system can.
func openUnlinked(string) (fd int, err error) { return -1, unix.ENOSYS }

// HandlePath is the path from which a child starts in the open directory dir.
func HandlePath(_ *os.File, path string) string { return path }
