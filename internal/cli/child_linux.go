package cli

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"handrail/internal/config"
)

// child is a process of the keeper's.
type child struct {
	cmd       *exec.Cmd
	principal string // of a worker
	began     time.Time
	err       error
}

// command is a part of the server as a user.
func (k *keeper) command(part, principal string, a config.Account, args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", "serve", "--transport", "http", "--part", part)
	cmd.Args[0] = os.Args[0]
	if principal != "" {
		cmd.Args = append(cmd.Args, "--principal", principal)
	}
	if k.c.File != "" {
		cmd.Args = append(cmd.Args, "--config", k.c.File)
	}
	cmd.Args = append(append(cmd.Args, k.o.logging...), args...)
	cmd.Env, cmd.Dir = k.c.SeatEnvironment(a), "/"
	// Standard input is /dev/null, and what it says comes through pipes: it has none
	// of root's files, and with a session of its own not root's terminal either.
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &relay{to: k.s.stderr}, &relay{to: k.s.stderr}, soon
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: &syscall.Credential{Uid: a.UID, Gid: a.GID, Groups: a.Groups}, Pdeathsig: syscall.SIGKILL}
	return cmd
}

// start starts a part, and tells when it has ended.
func (k *keeper) start(cmd *exec.Cmd, principal string) (*child, error) {
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	p := &child{cmd: cmd, principal: principal, began: time.Now()}
	k.alive[p] = true
	go func() {
		p.err = cmd.Wait()
		k.ended <- p
	}()
	return p, nil
}

// renounce takes from this thread, and so from what it starts, the ways to more
// rights than a process has. Open descriptors of whoever started this are not
// passed on.
func renounce() error {
	const closeRange, cloexec = 436, 4 // the same on every architecture
	if _, _, e := syscall.RawSyscall(closeRange, 3, ^uintptr(0), cloexec); e != 0 {
		return fmt.Errorf("close_range: %w", e)
	}
	return noMoreRights(thisThread)
}

// noMoreRights gives up, by prctl, set-user-ID programs and capabilities of files.
func noMoreRights(prctl func(option, argument uintptr) syscall.Errno) error {
	const capBoundDrop, setNoNewPrivs = 24, 38
	for capability := uintptr(0); ; capability++ {
		if e := prctl(capBoundDrop, capability); e == syscall.EINVAL && capability > 0 {
			break // there are no more
		} else if e != 0 {
			return fmt.Errorf("give up capability %d: %w (root needs CAP_SETPCAP for that)", capability, e)
		}
	}
	if e := prctl(setNoNewPrivs, 1); e != 0 {
		return fmt.Errorf("no new privileges: %w", e)
	}
	return nil
}

func thisThread(option, argument uintptr) syscall.Errno {
	_, _, e := syscall.RawSyscall6(syscall.SYS_PRCTL, option, argument, 0, 0, 0, 0)
	return e
}
