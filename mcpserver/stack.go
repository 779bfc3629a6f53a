package mcpserver

import "runtime"

// grow has the stack of a new goroutine grow to what a call needs at once, and not
// in steps, each of which copies it.
//
//go:noinline
func grow() {
	var room [16 << 10]byte
	runtime.KeepAlive(&room)
}
