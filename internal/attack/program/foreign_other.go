//go:build linux && !amd64

package main

import "syscall"

// foreign has no other architecture to call here.
func foreign(string, arguments) error { return syscall.ENOSYS }
