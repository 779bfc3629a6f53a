package sandbox

import (
	"os"
	"time"
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
	s := stampOf(fi, time.Time{})
	return spot{inode: inode{dev: s.dev, ino: s.ino, born: bornAt(path)}, kind: kindOf(fi)}
}
