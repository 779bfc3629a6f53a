package sandbox

import (
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// starter is a thread that has lost all its power for good, and starts commands
// with no more. To restrict a thread takes a good part of a millisecond, so a head
// keeps one for all commands that get the same.
type starter struct {
	unix  bool        // Unix sockets are allowed
	tasks chan func() // closed at its end
}

// newStarter makes a thread that enter has restricted for l. It is not the first
// one: that stands for the process, and restricted with a command it could be
// signalled by it.
func newStarter(l *launch, enter func(*launch) error) (*starter, error) {
	s := &starter{unix: l.Unix, tasks: make(chan func())}
	entered := make(chan error)
	go s.run(entered, func() error { return enter(l) })
	if err := <-entered; err != nil {
		return nil, err
	}
	return s, nil
}

// run is the life of the thread, which ends with it.
func (s *starter) run(entered chan<- error, enter func() error) {
	runtime.LockOSThread()
	if unix.Gettid() == os.Getpid() {
		said := make(chan error)
		go s.run(said, enter) // on another, as this one is taken
		entered <- <-said
		runtime.UnlockOSThread()
		return
	}
	err := enter()
	entered <- err
	if err != nil {
		return
	}
	for task := range s.tasks {
		task()
	}
}

// start starts the command with the descriptors fds and the power of the calling
// thread.
func (l *launch) start(fds []uintptr) (pid int, err error) {
	pid, err = syscall.ForkExec(l.Path, l.Args, &syscall.ProcAttr{Dir: l.Dir, Env: l.Env, Files: fds, Sys: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		return 0, fmt.Errorf("start %s in %s: %w", l.Path, l.Dir, err)
	}
	return pid, nil
}

// do runs f on the thread, and returns when it has.
func (s *starter) do(f func()) {
	done := make(chan struct{})
	s.tasks <- func() {
		defer close(done)
		f()
	}
	<-done
}

// end ends the thread.
func (s *starter) end() { close(s.tasks) }
