package sandbox

import (
	"io/fs"
	"time"
)

func inodeOf(path string, fi fs.FileInfo) inode {
	s := stampOf(fi, time.Time{})
	return inode{dev: s.dev, ino: s.ino, born: bornAt(path)}
}
