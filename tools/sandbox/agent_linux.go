package sandbox

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
)

// agent is the one process of ours that stays in a session's sandbox. For every
// byte from the server it makes a head in PID and mount namespaces of its own
// and hands its socket back, ahead of the command it is for. It has
// CAP_SYS_ADMIN in the sandbox's user namespace for that; its heads' commands do
// not see it.
func agent(args []string) error {
	if err := shut(); err != nil {
		return err
	}
	if len(args) != 1 {
		return errors.New("no word of what is mounted")
	}
	if err := asExpected(args[0]); err != nil {
		return err
	}
	server, err := conn(os.NewFile(3, "server"))
	if err != nil {
		return err
	}
	go reapAll()
	var b [1]byte
	for {
		if _, err := server.Read(b[:]); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := newHead(server); err != nil {
			return err
		}
	}
}

// newHead starts a head and hands its socket to the server.
func newHead(server *net.UnixConn) error {
	outer, inner, err := ends()
	if err != nil {
		return err
	}
	defer outer.Close()
	defer inner.Close()
	_, err = syscall.ForkExec("/proc/self/exe", []string{"sandbox", inside, "head", fromAgent}, &syscall.ProcAttr{
		Env: []string{insideMark + "=1"}, Files: []uintptr{0, 1, 2, inner.Fd()},
		Sys: &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS},
	})
	if err != nil {
		return fmt.Errorf("start a head: %w", err)
	}
	return hand(server, outer)
}

// reapAll waits for heads that have ended, and for what was left to this process.
func reapAll() {
	died := make(chan os.Signal, 1)
	signal.Notify(died, syscall.SIGCHLD)
	for range died {
		for {
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			if err == syscall.EINTR {
				continue
			}
			if err != nil || pid <= 0 {
				break
			}
		}
	}
}
