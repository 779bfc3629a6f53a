//go:build linux || darwin

package sandbox

import (
	"encoding/binary"
	"syscall"
	"time"
	"unsafe"
)

// Mark names the variable of Command.Env that holds Command.ID: by it, processes
// that left their session are found again.
const Mark = "HANDRAIL_CALL"

// dying is how long killed processes are waited for, at most.
const dying = 5 * time.Second

// awaitExit returns how the child pid ended once it has, and leaves it to be
// reaped (waitid with WNOWAIT), so that its number is not used again.
func awaitExit(pid int) Status {
	const byPid, exited = 1, 1 // P_PID, CLD_EXITED
	var info [128]byte
	for {
		_, _, e := syscall.Syscall6(syscall.SYS_WAITID, byPid, uintptr(pid), uintptr(unsafe.Pointer(&info)), syscall.WEXITED|syscall.WNOWAIT, 0, 0)
		if e == syscall.EINTR {
			continue
		}
		if e != 0 {
			return Status{Code: 126}
		}
		status := int(binary.NativeEndian.Uint32(info[statusAt:]))
		if binary.NativeEndian.Uint32(info[8:]) != exited {
			return Status{Code: 128 + status, Signal: status}
		}
		return Status{Code: status}
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
