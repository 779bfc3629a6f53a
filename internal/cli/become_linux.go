package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"handrail/internal/config"
)

// become goes on as another user, for good. It is the same process, not a new
// program: the kernel lets no other process of that user look into one whose user
// changed, so root's terminal and descriptors, which it has still, are not to be
// had by that user's programs (ptrace, pidfd_getfd, /proc/PID/fd). Where it fails,
// nothing may be done any more.
func become(c *config.Config, a config.Account) error {
	if err := dropInherited(); err != nil {
		return err
	}
	groups := make([]int, len(a.Groups))
	for i, g := range a.Groups {
		groups[i] = int(g)
	}
	env := environmentOf(c, a)
	syscall.Umask(0o077)
	err := noMoreRights(everyThread)
	for _, step := range []func() error{
		func() error { return syscall.Setgroups(groups) }, // all of them of every thread
		func() error { return syscall.Setresgid(int(a.GID), int(a.GID), int(a.GID)) },
		func() error { return syscall.Setresuid(int(a.UID), int(a.UID), int(a.UID)) },
		closed,
	} {
		if err == nil {
			err = step()
		}
	}
	if err != nil {
		return fmt.Errorf("become the Unix user %s: %w", a.Name, err)
	}
	os.Clearenv()
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	if _, err := os.Stat("."); err != nil { // a directory that is closed to it
		return os.Chdir("/")
	}
	return nil
}

// environmentOf is the environment of a command that goes on as a user.
func environmentOf(c *config.Config, a config.Account) []string {
	by := "root"
	if who := os.Getenv("SUDO_USER"); who != "" {
		by = who + " (root)"
	}
	env := append(c.SeatEnvironment(a), byVariable+"="+by, "XDG_CONFIG_HOME="+filepath.Dir(c.Dir)) // root's own file, where no other is named
	for _, name := range []string{"TERM", "NO_COLOR"} {
		if v := os.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// dropInherited closes what whoever started this left open: what the program opens
// itself is closed at an exec, and so nothing that it got by one is.
func dropInherited() error {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range open {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd <= 2 {
			continue
		}
		if flags, _, e := syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0); e == 0 && flags&syscall.FD_CLOEXEC == 0 {
			_ = syscall.Close(fd)
		}
	}
	return nil
}

// closed makes sure that no process of the same user can look into this one.
func closed() error {
	if e := thisThread(syscall.PR_SET_DUMPABLE, 0); e != 0 { // of the whole process
		return fmt.Errorf("not dumpable: %w", e)
	}
	if n, _, e := syscall.RawSyscall6(syscall.SYS_PRCTL, syscall.PR_GET_DUMPABLE, 0, 0, 0, 0, 0); e != 0 || n != 0 {
		return errors.New("its other processes could look into this one")
	}
	return nil
}

// everyThread is prctl for all threads; in a program with cgo for this one, since
// Go does not know the others then.
func everyThread(option, argument uintptr) syscall.Errno {
	_, _, e := syscall.AllThreadsSyscall6(syscall.SYS_PRCTL, option, argument, 0, 0, 0, 0)
	if e == syscall.ENOTSUP {
		return thisThread(option, argument)
	}
	return e
}
