package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// warden is the process at the head of one command, and of others after it, one
// at a time, where there are no namespaces: what a command leaves behind becomes
// its child, so that all of it can be found and ended. It is outside of the
// command's restrictions, which do not let it be signalled or traced. It talks as
// head does.
func warden([]string) error {
	if err := shut(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the parent of orphans: %w", err)
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT) // what is ignored would be ignored by commands too
	c, err := conn(os.NewFile(3, "server"))
	if err != nil {
		return err
	}
	w, err := newWarding(c)
	if err != nil {
		return err
	}
	if _, err := c.Write([]byte{0}); err != nil { // says who we are
		return err
	}
	for again := true; again; {
		in, more := <-w.orders
		if !more {
			return nil // the server wants no more
		}
		again, err = w.command(in)
	}
	return err
}

// warding is the state of a warden.
type warding struct {
	*heading
	gate *gate       // of the command; may be nil
	cpus unix.CPUSet // on which it may run, which a command could change
}

func newWarding(c *net.UnixConn) (*warding, error) {
	w := &warding{heading: newHeading(c)}
	go w.read()
	w.enter = func(l *launch) (err error) {
		if l.Land == nil {
			return errors.New("no restrictions were given")
		}
		w.gate, err = l.Land.enter()
		return err
	}
	if err := unix.SchedGetaffinity(0, &w.cpus); err != nil {
		return nil, fmt.Errorf("the processors to run on: %w", err)
	}
	return w, nil
}

// command is one command from its start to its end. Again says that nothing of it
// is left, and that the next one finds this process as it did.
func (w *warding) command(in received) (again bool, err error) {
	w.leader, w.gone, w.gate = 0, make(chan struct{}), nil
	if err := w.start(in); err != nil {
		return false, errors.Join(err, tell(w.conn, news{Failed: err.Error()}))
	}
	go w.reap()
	return w.ward()
}

// reap waits for all children, as that of a head. Where the command left nothing
// gone is closed before its end is told, so that the order to end finds it so.
func (w *warding) reap() {
	var status *Status // of the command, not told yet
	for {
		how := 0
		if status != nil {
			how = syscall.WNOHANG
		}
		var ws syscall.WaitStatus
		switch pid, err := syscall.Wait4(-1, &ws, how, nil); {
		case err == syscall.EINTR:
		case err != nil: // no child is left
			w.mu.Lock()
			defer w.mu.Unlock() // that all is over is said after it
			close(w.gone)
			if status != nil {
				_ = tell(w.conn, news{Status: status})
			}
			return
		case pid == 0: // some are
			w.say(news{Status: status})
			status = nil
		case pid == w.leader:
			s := ended(ws)
			status = &s
		}
	}
}

// ward waits for the order to end, or for the server to be gone, and ends all
// that descends from this process.
func (w *warding) ward() (again bool, err error) {
	grace := time.Duration(0)
	if o, more := <-w.orders; more && o.End != nil {
		grace = *o.End
		if closes(w.gone, 0) { // nothing is left to look for
			again = w.untouched()
			w.say(news{Ended: new(int), Asked: true, Again: again})
			return again, nil
		}
	}
	own := os.Getpid()
	found := 0
	for _, pid := range descendants(own)[1:] {
		if pid != w.leader && alive(pid) {
			found++
		}
		if grace > 0 {
			_ = unix.Kill(pid, unix.SIGTERM)
			_ = unix.Kill(pid, unix.SIGCONT)
		}
	}
	if grace > 0 {
		closes(w.gone, grace)
	}
	for until := time.Now().Add(dying); ; {
		for _, pid := range descendants(own)[1:] { // nothing new while they go
			_ = unix.Prlimit(pid, unix.RLIMIT_NPROC, &unix.Rlimit{}, nil)
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		if closes(w.gone, 2*time.Millisecond) {
			w.say(news{Ended: &found, Asked: true})
			return false, nil // one that had to end others serves nobody else
		}
		if time.Now().After(until) {
			return false, errors.New("processes of the command do not end")
		}
	}
}

// closes waits for c to be closed, for so long at most.
func closes(c <-chan struct{}, within time.Duration) bool {
	select {
	case <-c:
		return true
	default:
	}
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
		return false
	}
}

// untouched reports whether this process, which has no child, is as it was before
// its first command. The processors are all of it that a command could change.
func (w *warding) untouched() bool {
	if w.gate != nil && !closes(w.gate.shut, time.Second) { // something has the filter still
		return false
	}
	threads, err := os.ReadDir("/proc/self/task")
	return err == nil && !slices.ContainsFunc(threads, func(t os.DirEntry) bool {
		var cpus unix.CPUSet
		id, err := strconv.Atoi(t.Name())
		if err == nil {
			err = unix.SchedGetaffinity(id, &cpus)
		}
		return err != nil && !errors.Is(err, unix.ESRCH) || err == nil && cpus != w.cpus
	})
}
