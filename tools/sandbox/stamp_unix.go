//go:build linux || darwin

package sandbox

import (
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	files "handrail/tools/place" // the tests have places of their own
)

// stamp names one state of a file or directory: while it is the same and not
// racy, so is the content, but for a file that a program has mapped (MAP_SHARED):
// what it writes there may leave all times alone. A program cannot set the time of
// change.
type stamp struct {
	dev, ino       uint64
	size           int64
	mode           fs.FileMode
	names          uint64 // of a file: how many lead to it
	mtime, changed int64  // nanoseconds
	// racy: it changed so shortly before it was looked at that a later change
	// may have left the same times.
	racy bool
}

// tick is more than the grain of the times that file systems keep.
const tick = 20 * time.Millisecond

func stampOf(fi fs.FileInfo, now time.Time) stamp {
	s := stamp{size: fi.Size(), mode: fi.Mode(), mtime: fi.ModTime().UnixNano()}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		s.dev, s.ino, s.changed = uint64(st.Dev), st.Ino, files.ChangedAt(st)
		if s.mode.IsRegular() {
			s.names = uint64(st.Nlink)
		}
	}
	s.racy = s.changed > now.Add(-tick).UnixNano()
	return s
}

// same reports whether nothing can have changed between a and b.
func (a stamp) same(b stamp) bool {
	b.racy = a.racy
	return !a.racy && a.ino != 0 && a == b
}

// inode tells one file or directory from all others, also from one that was
// given its number later.
type inode struct {
	dev, ino uint64
	born     int64
}

func (e *entry) inode() inode { return inode{e.stamp.dev, e.stamp.ino, e.born} }

// covers reports whether path is, or lies below, what was mounted read-only for
// the command and is there still: a mount goes away with what it stands on.
func (c *watch) covers(path string) bool {
	for at := path; at != "/" && at != "."; at = filepath.Dir(at) {
		if was, ok := c.mounted[at]; ok {
			return spotAt(at, false).inode == was
		}
	}
	return false
}
