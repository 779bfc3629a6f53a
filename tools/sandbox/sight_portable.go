//go:build !linux

package sandbox

import (
	"io/fs"
	"os"
)

// spotAt looks at path.
func spotAt(path string, follow bool) spot {
	look := os.Lstat
	if follow {
		look = os.Stat
	}
	fi, err := look(path)
	if err != nil {
		return spot{}
	}
	return spot{inode: inodeOf(path, fi), kind: kindOf(fi)}
}

func kindOf(fi fs.FileInfo) fs.FileMode {
	if fi.Mode().IsRegular() {
		return isFile
	}
	return fi.Mode().Type()
}
