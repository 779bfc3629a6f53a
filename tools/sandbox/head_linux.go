package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// head is the process at the head of one command, and of others after it, one at
// a time: the first of its PID namespace, which is gone with all that is in it
// when the head ends. It starts
// the command with no capabilities and a seccomp filter, reaps, tells how the
// command ended, and ends what is left when it is told to or the server is gone.
// Its argument is what must be mounted, or fromAgent.
func head(args []string) error {
	if err := shut(); err != nil {
		return err
	}
	if os.Getpid() != 1 {
		return errors.New("not the first process of its namespace")
	}
	if len(args) != 1 {
		return errors.New("no word of what is mounted")
	}
	if args[0] != fromAgent {
		if err := asExpected(args[0]); err != nil {
			return err
		}
	} else if err := freshProc(); err != nil {
		return err
	}
	// Signals of the command to its head do nothing: handlers, as what is ignored
	// would be ignored by the command too.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGTRAP, syscall.SIGSYS)
	unix.CloseOnExec(3)
	h := newHeading(blocking(3))
	h.free = make(chan struct{}, 1)
	if _, err := h.conn.Write([]byte{0}); err != nil { // says who we are
		return err
	}
	h.fence, _ = newStarter(&launch{Unix: true}, enterFenced) // ahead of the command: what fails is tried again for it
	if h.fence != nil {
		go h.fence.do(h.read) // the thread that reads an order is the one that starts it
	} else {
		go h.read()
	}
	for {
		h.leader, h.gone, h.alone = 0, make(chan struct{}), false
		h.ending.Store(false)
		h.free <- struct{}{}
		in, more := <-h.orders
		if !more {
			return nil // the server wants no more
		}
		if again, err := h.command(in); err != nil || !again {
			return err
		}
	}
}

// command is one command, started already, to its end. Again says that nothing is
// left of it, so that the next one finds the namespace as this one did.
func (h *heading) command(in received) (again bool, err error) {
	if in.Run == nil {
		in.failed = errNoCommand
	}
	if in.failed != nil {
		return false, errors.Join(in.failed, tell(h.conn, news{Failed: in.failed.Error()}))
	}
	go h.reap()
	return h.serve()
}

var errNoCommand = errors.New("no command was given")

// fromAgent tells a head that an agent has compared what is mounted, and that it
// has to mount its own /proc.
const fromAgent = "proc"

// heading is the state of a head.
type heading struct {
	conn   stream
	orders chan received // closed when the server is gone
	free   chan struct{} // one may start; nil: whoever gets the order starts it
	leader int
	gone   chan struct{} // closed when no process is left
	alone  bool          // and that was told; known when gone is closed
	again  bool          // and that it waits for another command
	before traits        // of this process
	known  bool          // they are
	ending atomic.Bool   // the order to end has come, and is answered
	mu     sync.Mutex    // held while telling
	// enter takes power from the calling thread for one command; nil: fence does.
	enter func(*launch) error
	fence *starter // may be nil
}

// received is an order and the descriptors beside it.
type received struct {
	order
	files  []*os.File
	failed error // to start
}

func newHeading(c stream) *heading { return &heading{conn: c, orders: make(chan received)} }

// read takes the orders of the server until it is gone.
func (h *heading) read() {
	defer close(h.orders)
	for dec := json.NewDecoder(h.conn); ; {
		in, err := take(h.conn)
		if err != nil {
			return
		}
		o := received{files: in.files}
		if err := dec.Decode(&o.order); err != nil {
			return
		}
		if o.Run != nil && h.free != nil {
			<-h.free // it can come as soon as the end of the last one was said
			if !h.known {
				h.before, h.known = traitsOf() // with the limits that the server has set
			}
			o.failed = h.start(o)
		}
		h.orders <- o
	}
}

// start takes the order to run and starts the command.
func (h *heading) start(o received) error {
	files := o.files
	if o.Run == nil || len(files) != 3 {
		return errNoCommand
	}
	if o.Run.Proxy {
		if err := h.listen(); err != nil {
			return err
		}
	}
	if err := h.launch(o.Run, files); err != nil {
		return err
	}
	for _, f := range files {
		f.Close()
	}
	return tell(h.conn, news{Started: true})
}

// listen stands in the command's network and hands the listener to the server.
func (h *heading) listen() error {
	l, err := net.Listen("tcp4", proxyAddress)
	if err != nil {
		return fmt.Errorf("proxy: %w", err)
	}
	defer l.Close()
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		return fmt.Errorf("proxy: %w", err)
	}
	defer f.Close()
	return hand(h.conn, f)
}

// launch starts the command from a thread that has lost all its power: this one,
// where it is the fenced one, and the command gets no less.
func (h *heading) launch(l *launch, files []*os.File) (err error) {
	var fds []uintptr
	for _, f := range files {
		fds = append(fds, f.Fd())
	}
	if h.enter == nil && h.fence != nil && h.fence.unix == l.Unix {
		h.leader, err = l.start(fds)
		return err
	}
	enter := h.enter
	if enter == nil {
		enter = enterFenced
	}
	s, err := newStarter(l, enter)
	if err != nil {
		return err
	}
	defer s.end()
	s.do(func() { h.leader, err = l.start(fds) })
	return err
}

// enterFenced is what namespaces leave to do.
func enterFenced(l *launch) error {
	if err := keepCaps(nil); err != nil {
		return err
	}
	return filter{Sockets: ipSockets, Unix: l.Unix}.load()
}

// reap waits for all children, those that were left to it too. Where the command
// was the last of them, its end is told as the end of all.
func (h *heading) reap() {
	for {
		var ws, next syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil { // no child is left
			close(h.gone)
			return
		}
		if pid != h.leader {
			continue
		}
		s := ended(ws)
		if _, err := syscall.Wait4(-1, &next, syscall.WNOHANG, nil); err == syscall.ECHILD && h.enter == nil && !h.ending.Load() {
			h.alone = true
			h.say(news{Status: &s, Ended: new(int), Later: true})
			h.again = h.untouched() // which takes a while
			close(h.gone)
			if h.again {
				h.say(news{Again: true})
			}
			return
		}
		h.say(news{Status: &s})
	}
}

// say tells the server, if it still is there.
func (h *heading) say(n news) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_ = tell(h.conn, n)
}

// serve waits until nothing is left, or for the order to end. That the server is
// gone is one as well, with no grace.
func (h *heading) serve() (again bool, err error) {
	var o received
	var more bool
	select {
	case <-h.gone:
		if h.alone {
			return h.again, nil
		}
		o, more = <-h.orders
	case o, more = <-h.orders:
	}
	if !more || o.End == nil {
		return false, nil
	}
	h.ending.Store(true)
	found := h.left(*o.End)
	if _, err := os.Stat("/proc/" + strconv.Itoa(h.leader)); err == nil || found > 0 {
		_ = unix.Kill(-1, unix.SIGTERM)
		_ = unix.Kill(-1, unix.SIGCONT)
	}
	select {
	case <-h.gone:
	case <-time.After(*o.End):
		for range 100 { // what forks while it is killed is killed again
			_ = unix.Kill(-1, unix.SIGKILL)
			select {
			case <-h.gone:
			case <-time.After(5 * time.Millisecond):
				continue
			}
			break
		}
	}
	select {
	case <-h.gone:
		again = h.untouched()
	default:
	}
	h.say(news{Ended: &found, Asked: true, Again: again})
	return again, nil
}

// untouched reports whether this process is as it was before the command, which
// may be its last act: so the next command finds it so.
func (h *heading) untouched() bool {
	now, ok := traitsOf()
	return ok && h.known && now == h.before
}

// left counts what the command left running: not a helper that ends by itself
// before long, as git's, where there is a grace at all.
func (h *heading) left(grace time.Duration) int {
	_, err := os.Stat("/proc/" + strconv.Itoa(h.leader))
	found := h.others()
	for range 10 {
		if found == 0 || grace <= 0 || err == nil {
			break
		}
		select {
		case <-h.gone:
			return 0
		case <-time.After(5 * time.Millisecond):
			found = h.others()
		}
	}
	return found
}

// others counts the living processes beside this one and the command.
func (h *heading) others() int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	n := 0
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && pid != 1 && pid != h.leader && alive(pid) {
			n++
		}
	}
	return n
}
