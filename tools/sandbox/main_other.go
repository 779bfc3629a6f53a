//go:build !linux

package sandbox

// Main runs nothing on this system.
func Main([]string) (code int, handled bool) { return 0, false }
