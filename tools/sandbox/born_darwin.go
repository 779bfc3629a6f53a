package sandbox

import "syscall"

// bornAt returns when what is at path was made, in nanoseconds; 0 where that is
// not told.
func bornAt(path string) int64 {
	var st syscall.Stat_t
	if syscall.Lstat(path, &st) != nil {
		return 0
	}
	return st.Birthtimespec.Nano()
}
