package sandbox

// bornAt returns when what is at path was made, in nanoseconds; 0 where that is
// not told.
func bornAt(path string) int64 { return spotAt(path, false).born }
