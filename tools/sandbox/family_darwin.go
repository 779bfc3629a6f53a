package sandbox

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// process is a process of the family besides its leader. On this system only
// the leader's process group is found: what leaves it is ended by a sandbox
// only.
type process struct{}

func (family) others() []process      { return nil }
func (process) signal(syscall.Signal) {}

// alive reports whether pid runs; a zombie does not.
func alive(pid int) bool {
	const zombie = 5 // SZOMB
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	return err == nil && k.Proc.P_stat != zombie
}

// statusAt is the offset of si_status in siginfo_t.
const statusAt = 20
