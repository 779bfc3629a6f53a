package tools

import "syscall"

// changedAt is when a file's content or attributes were last changed, in ns.
func changedAt(st *syscall.Stat_t) int64 { return st.Ctimespec.Nano() }
