//go:build linux || darwin

package tools

import (
	"syscall"
	"time"
	"unsafe"
)

// awaitExit returns when the child pid has exited, and leaves it to be reaped
// (waitid with WNOWAIT).
func awaitExit(pid int) {
	const byPid = 1 // P_PID
	var info [128]byte
	for {
		_, _, e := syscall.Syscall6(syscall.SYS_WAITID, byPid, uintptr(pid), uintptr(unsafe.Pointer(&info)), syscall.WEXITED|syscall.WNOWAIT, 0, 0)
		if e != syscall.EINTR {
			return
		}
	}
}

// family is a command with everything it started: its session and process
// group, what carries the mark in its environment, and what descends from these.
type family struct {
	leader int
	mark   string // NAME=value
}

// end ends the family: SIGTERM, SIGKILL after grace. It returns how many
// processes besides the leader were there. The leader must not be reaped before.
func (f family) end(grace time.Duration) int {
	found := f.others()
	if len(found) == 0 && !alive(f.leader) {
		return 0
	}
	f.signal(syscall.SIGTERM, found)
	for until := time.Now().Add(grace); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		if len(f.others()) == 0 && !alive(f.leader) {
			return len(found)
		}
	}
	// A family that forks while it is killed is swept again; on a busy machine a
	// killed process takes its time to go.
	for until := time.Now().Add(dying); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		left := f.others()
		if len(left) == 0 && !alive(f.leader) {
			break
		}
		f.signal(syscall.SIGKILL, left)
	}
	return len(found)
}

// signal sends sig to the leader's group and to each of the others that still
// is who it was.
func (f family) signal(sig syscall.Signal, others []process) {
	_ = syscall.Kill(-f.leader, sig)
	for _, p := range others {
		p.signal(sig)
	}
}
