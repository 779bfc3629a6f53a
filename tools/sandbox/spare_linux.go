package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// spare is a process that waits to become the bubblewrap of a single command, in
// the bounds of that already: to move a process into a control group takes an
// idle kernel tens of milliseconds. A nil spare is none.
type spare struct {
	conn   *net.UnixConn
	pid    int // as the server sees it
	bounds *bounds
	idle   *time.Timer
}

// takeSpare returns the one that waits, if its bounds are those of l.
func (b *bubble) takeSpare(l Limits) *spare {
	b.mu.Lock()
	s := b.spare
	b.spare = nil
	b.mu.Unlock()
	if s == nil {
		return nil
	}
	s.idle.Stop()
	if s.bounds.limits != l.or(DefaultLimits()) {
		s.discard()
		return nil
	}
	return s
}

// refill starts the next one ahead of its command. Where it cannot, the command
// starts its own sandbox, and tells.
func (b *bubble) refill(l Limits) {
	b.mu.Lock()
	wanted := !b.closed && b.spare == nil && b.stage != nil && b.groups.version != 0
	b.mu.Unlock()
	if !wanted {
		return
	}
	s, err := b.newSpare(l)
	if err != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.spare != nil {
		go s.discard()
		return
	}
	b.spare = s
	s.idle = time.AfterFunc(b.Idle, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.spare == s {
			b.spare = nil
			go s.discard()
		}
	})
}

func (b *bubble) newSpare(l Limits) (*spare, error) {
	mine, theirs, err := pair()
	if err != nil {
		return nil, err
	}
	_, err = b.stage.ask(cue{Spare: true, Net: true}, theirs)
	theirs.Close()
	if err != nil {
		mine.Close()
		return nil, err
	}
	h, err := take(mine)
	if err != nil {
		mine.Close()
		return nil, err
	}
	s := &spare{conn: mine, pid: h.pid}
	if s.bounds, err = b.groups.bind(fmt.Sprintf("spare-%d", h.pid), l, nil); err != nil {
		mine.Close()
		return nil, err
	}
	if err := s.bounds.add(s.pid); err != nil {
		s.discard()
		return nil, err
	}
	return s, nil
}

// become lets it become what the cue starts.
func (s *spare) become(q cue, socket, errs *os.File) error {
	defer s.conn.Close()
	return send(s.conn, q, socket, errs)
}

// failed says that what s, if it was one, should become did not start.
func (s *spare) failed(err error) error {
	if s == nil {
		return err
	}
	s.discard()
	return errors.Join(errSpare, err)
}

// discard ends it with all that it became.
func (s *spare) discard() {
	if s == nil {
		return
	}
	s.conn.Close()
	_ = s.bounds.release()
}

// startSpare starts one; the stage is its parent, as of what it becomes.
func startSpare(self, socket *os.File) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	_, err = syscall.ForkExec("/proc/self/fd/4", []string{"sandbox", inside, "spare"}, &syscall.ProcAttr{Dir: "/", Env: []string{insideMark + "=1"},
		Files: []uintptr{null.Fd(), null.Fd(), null.Fd(), socket.Fd(), self.Fd()}, Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}})
	return err
}

// spareMain waits for its cue and becomes what it says. Our own namespaces need
// to be started: then it waits for their end, and they end with it.
func spareMain([]string) error {
	runtime.LockOSThread()
	if err := shut(); err != nil {
		return err
	}
	c, err := conn(os.NewFile(3, "server"))
	if err != nil {
		return err
	}
	if _, err := c.Write([]byte{0}); err != nil { // says who we are
		return err
	}
	in, err := take(c)
	if err != nil {
		return nil // it was not needed
	}
	var q cue
	if err := json.NewDecoder(c).Decode(&q); err != nil {
		return err
	}
	if len(q.Start) == 0 || len(in.files) != 2 {
		return errors.New("nothing to become")
	}
	fds := []uintptr{0, 0, in.files[1].Fd(), in.files[0].Fd(), 4} // as the stage gives them
	path, argv, sys := builder(q.Bare, q.Start)
	if q.Bare {
		sys.Pdeathsig = syscall.SIGKILL
		return parent(path, &syscall.ProcAttr{Dir: "/", Env: []string{}, Files: fds, Sys: sys}, argv, in.files)
	}
	for to, from := range fds {
		if uintptr(to) != from {
			err = unix.Dup3(int(from), to, 0)
		} else {
			_, err = unix.FcntlInt(from, unix.F_SETFD, 0) // not closed on exec
		}
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: %w", path, syscall.Exec(path, argv, []string{}))
}

// parent starts a process, lets go of what it was given, and waits for its end.
func parent(path string, attr *syscall.ProcAttr, argv []string, given []*os.File) error {
	pid, err := syscall.ForkExec(path, argv, attr)
	for _, f := range given {
		f.Close()
	}
	for err == nil {
		if _, err = syscall.Wait4(pid, nil, 0, nil); err == syscall.EINTR {
			err = nil
			continue
		}
		break
	}
	return err
}
