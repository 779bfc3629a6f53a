package history

import (
	"os"

	"golang.org/x/sys/unix"
)

// clone makes to share the blocks of from, where the file system can
// (ioctl_ficlone(2)).
func clone(to, from *os.File) error {
	return unix.IoctlFileClone(int(to.Fd()), int(from.Fd()))
}

// flush waits until the file system of dir has all on disk.
func flush(dir *os.File) error { return unix.Syncfs(int(dir.Fd())) }
