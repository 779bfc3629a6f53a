//go:build !linux

// Command program is for Linux.
package main

func main() {}
