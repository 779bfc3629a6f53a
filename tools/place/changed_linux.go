package place

import "syscall"

// ChangedAt is when a file's content or attributes were last changed, in ns. A
// program cannot set it.
func ChangedAt(st *syscall.Stat_t) int64 { return st.Ctim.Nano() }
