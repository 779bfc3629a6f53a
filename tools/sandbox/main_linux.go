package sandbox

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// inside is the first argument of the sandbox's own processes; the second says
// which one it is.
const inside = "sandbox-process"

// exitBroken is the code of a process of the sandbox that could not do its part.
const exitBroken = 125

// Main runs one of the sandbox's own processes, if that is what args (os.Args)
// ask for. A program that opens sandboxes calls it first in main, and exits with
// code where it was handled. They talk to the server over descriptor 3, and end
// when it closes; without it nothing is done.
func Main(args []string) (code int, handled bool) {
	if len(args) < 3 || args[1] != inside {
		return 0, false
	}
	run := map[string]func([]string) error{"head": head, "agent": agent, "stage": stageMain, "warden": warden, "spare": spareMain, "space": space, "listen": listenMain, "dial": dialMain}[args[2]]
	if run == nil {
		return exitBroken, true
	}
	if err := run(args[3:]); err != nil {
		fmt.Fprintf(os.Stderr, "sandbox %s: %v\n", args[2], err)
		return exitBroken, true
	}
	return 0, true
}

// early runs the processes of a sandbox before main: while packages are made
// ready, in an order in which this one, which needs little, comes before those
// that take most of the time and memory (TestEarly). A session has five such
// processes. It is no more than that: main calls Main all the same.
var _ = early()

func early() bool {
	done := make(chan int)
	if len(os.Args) < 3 || os.Args[1] != inside {
		return false
	}
	go func() { // the goroutine that makes packages ready is bound to its thread
		code, handled := Main(os.Args)
		if !handled {
			code = exitBroken
		}
		done <- code
	}()
	os.Exit(<-done)
	return true
}

// shut closes what was inherited on every later exec, and this process to the
// eyes of others: it cannot be traced, nor its descriptors and memory opened.
func shut() error {
	if err := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close on exec: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("close to tracing: %w", err)
	}
	if _, err := unix.FcntlInt(3, unix.F_GETFD, 0); err != nil {
		return errors.New("this is a part of the sandbox and is started by it only")
	}
	return nil
}
