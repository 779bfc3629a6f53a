//go:build unix

package ollamatest

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the server at the head of a process group, which its runners
// join, so that they can all be ended.
func ownGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func terminate(c *exec.Cmd) { c.Process.Signal(syscall.SIGTERM) }

func killGroup(c *exec.Cmd) { syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
