//go:build !linux && !darwin

package sandbox

import (
	"io/fs"
	"os"
)

// Where there is no sandbox, files are not told apart.
type (
	inode  struct{}
	stamp  struct{}
	ground struct{}
)

func dirStamp(string) stamp { return stamp{} }

func (stamp) same(stamp) bool { return false }

func readDir(path string) ([]fs.DirEntry, error) { return os.ReadDir(path) }

func spotAt(path string, follow bool) spot {
	look := os.Lstat
	if follow {
		look = os.Stat
	}
	fi, err := look(path)
	if err != nil {
		return spot{}
	}
	return spot{kind: kindOf(fi)}
}
