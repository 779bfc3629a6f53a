package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// warden is the process at the head of one command where there are no
// namespaces: what the command leaves behind becomes its child, so that all of
// it can be found and ended. It is outside of the command's restrictions, which
// do not let it be signalled or traced. It talks as head does.
func warden([]string) error {
	if err := shut(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the parent of orphans: %w", err)
	}
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT)
	c, err := conn(os.NewFile(3, "server"))
	if err != nil {
		return err
	}
	h := newHeading(c)
	h.gone = make(chan struct{})
	h.enter = func(l *launch) error {
		if l.Land == nil {
			return errors.New("no restrictions were given")
		}
		return l.Land.enter()
	}
	if _, err := c.Write([]byte{0}); err != nil { // says who we are
		return err
	}
	in, more := <-h.orders
	if !more {
		return nil
	}
	if err := h.start(in); err != nil {
		return tell(c, news{Failed: err.Error()})
	}
	go h.reap()
	return h.ward()
}

// ward waits for the order to end, or for the server to be gone, and ends all
// that descends from this process.
func (h *heading) ward() error {
	grace := time.Duration(0)
	if o, more := <-h.orders; more && o.End != nil {
		grace = *o.End
	}
	own := os.Getpid()
	found := 0
	for _, pid := range descendants(own)[1:] {
		if pid != h.leader && alive(pid) {
			found++
		}
		if grace > 0 {
			_ = unix.Kill(pid, unix.SIGTERM)
			_ = unix.Kill(pid, unix.SIGCONT)
		}
	}
	if grace > 0 {
		select {
		case <-h.gone:
		case <-time.After(grace):
		}
	}
	for until := time.Now().Add(dying); ; {
		for _, pid := range descendants(own)[1:] { // nothing new while they go
			_ = unix.Prlimit(pid, unix.RLIMIT_NPROC, &unix.Rlimit{}, nil)
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		select {
		case <-h.gone:
			h.say(news{Ended: &found})
			return nil
		case <-time.After(2 * time.Millisecond):
		}
		if time.Now().After(until) {
			return errors.New("processes of the command do not end")
		}
	}
}
