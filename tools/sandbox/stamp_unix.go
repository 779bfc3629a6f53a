//go:build linux || darwin

package sandbox

import (
	"io/fs"
	"syscall"
	"time"

	files "handrail/tools/place" // the tests have places of their own
)

// stamp names one state of a file or directory: while it is the same and not
// racy, so is the content. A program cannot set the time of change.
type stamp struct {
	dev, ino       uint64
	size           int64
	mode           fs.FileMode
	mtime, changed int64 // nanoseconds
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
	}
	s.racy = s.changed > now.Add(-tick).UnixNano()
	return s
}

// same reports whether nothing can have changed between a and b.
func (a stamp) same(b stamp) bool {
	b.racy = a.racy
	return !a.racy && a.ino != 0 && a == b
}
