package sandbox

import (
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
)

// spotAt looks at path in one system call.
func spotAt(path string, follow bool) spot {
	flags := unix.AT_SYMLINK_NOFOLLOW
	if follow {
		flags = 0
	}
	var x unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, path, flags, unix.STATX_TYPE|unix.STATX_INO|unix.STATX_BTIME, &x) != nil {
		return spot{}
	}
	at := spot{inode: inode{dev: unix.Mkdev(x.Dev_major, x.Dev_minor), ino: x.Ino}}
	if x.Mask&unix.STATX_BTIME != 0 {
		at.born = x.Btime.Sec*1e9 + int64(x.Btime.Nsec)
	}
	switch x.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		at.kind = isFile
	case unix.S_IFDIR:
		at.kind = fs.ModeDir
	case unix.S_IFLNK:
		at.kind = fs.ModeSymlink
	case unix.S_IFSOCK:
		at.kind = fs.ModeSocket
	default:
		at.kind = fs.ModeIrregular
	}
	return at
}

// String tells it from all others.
func (p spot) String() string {
	return fmt.Sprintf("%d %d born %d", p.dev, p.ino, p.born)
}
