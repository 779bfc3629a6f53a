//go:build linux

package main

import "syscall"

// by386 makes the system call nr of the 32-bit architecture, by interrupt 128.
func by386(nr, a, b, c uintptr) uintptr

// foreign makes a socket by the system call of another architecture: 359 is
// socket of i386.
func foreign(_ string, a arguments) error {
	if r := int32(by386(359, uintptr(a.number(0)), 1, 0)); r < 0 {
		return syscall.Errno(-r)
	}
	return nil
}
