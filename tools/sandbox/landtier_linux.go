package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// landed runs commands under Landlock and seccomp, for where namespaces are
// refused. Each has a warden; the next one waits already.
type landed struct {
	Settings
	self   *os.File
	groups cgroups

	mu     sync.Mutex
	spare  *awaiting // may be nil
	held   map[*held]bool
	closed bool
}

// awaiting is a warden without a command yet.
type awaiting struct {
	cell *cell
	done func() // waits until the process is gone
}

// openLandlock checks that Landlock works here, and is not user 0: it leaves
// capabilities alone.
func openLandlock(s Settings) (Sandbox, error) {
	if err := landlockWorks(); err != nil {
		return nil, err
	}
	if os.Getuid() == 0 || os.Geteuid() == 0 {
		return nil, errors.New("it does not take the powers of user 0 away (chown, mknod, mount): run as another user, or install bubblewrap")
	}
	if s.Self == "" {
		s.Self = "/proc/self/exe"
	}
	if err := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return nil, fmt.Errorf("close descriptors on exec (Linux 5.11 or newer is needed): %w", err)
	}
	self, err := os.Open(s.Self)
	if err != nil {
		return nil, fmt.Errorf("the program for the inside: %w", err)
	}
	l := &landed{Settings: s, self: self, held: map[*held]bool{}}
	l.groups, _ = findCgroups() // without them limits of each process hold
	return l, nil
}

func (l *landed) Enforcement() Enforcement {
	e := Enforcement{Tier: Landlock, Writes: true, Reads: true, Network: true, Sockets: true, Processes: true, Limits: true, Notes: []string{
		"protected paths and files with secrets in the workspace are put back by a comparison after the run, not held during it",
		"mode, times and attributes of the user's own files elsewhere can be changed",
		"names and arguments of other processes can be seen, and the processors that they run on set",
		"shared memory, semaphores and queues of System V and POSIX queues are not there",
		"a hard link that was made before leads out of the workspace",
		"no network means no local one either, and there is no list of hosts: the network is none or all of it",
		"package caches can be read and not written; /tmp and /dev/shm are not there",
	}}
	if l.groups.version == 0 {
		e.Notes = append(e.Notes, "memory is bounded for each process, and watched for all of them: there is no control group to bound it")
	}
	return e
}

// Start runs c under its own warden.
func (l *landed) Start(ctx context.Context, p *Policy, c *Command) (Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	reach, err := l.land(p)
	if err != nil {
		return nil, err
	}
	w, err := l.warden()
	if err != nil {
		return nil, err
	}
	bounds, err := l.groups.bind(c.ID, p.Limits, append(slices.Clone(p.Roots), p.Scratch))
	if err == nil {
		if err = bounds.add(w.cell.pid); err != nil {
			err = errors.Join(err, bounds.release())
		}
	}
	if err != nil {
		w.cell.conn.Close()
		w.done()
		return nil, err
	}
	w.cell.land = reach
	h, err := w.cell.start(ctx, p, c, bounds, w.done)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		h.End(0)
		return nil, errClosed
	}
	l.held[h] = true
	l.mu.Unlock()
	go func() { <-h.over; l.mu.Lock(); delete(l.held, h); l.mu.Unlock() }()
	go l.refill()
	return h, nil
}

// warden returns the spare one, or a new one.
func (l *landed) warden() (*awaiting, error) {
	l.mu.Lock()
	w := l.spare
	l.spare = nil
	closed := l.closed
	l.mu.Unlock()
	if closed {
		return nil, errClosed
	}
	if w != nil {
		return w, nil
	}
	return l.boot()
}

// refill starts the next one ahead of its command.
func (l *landed) refill() {
	w, err := l.boot()
	if err != nil {
		return // the next command tells
	}
	l.mu.Lock()
	if !l.closed && l.spare == nil {
		l.spare, w = w, nil
	}
	l.mu.Unlock()
	if w != nil {
		w.cell.conn.Close()
		w.done()
	}
}

// boot starts a warden and waits until it is there.
func (l *landed) boot() (*awaiting, error) {
	mine, theirs, err := pair()
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{Path: "/proc/self/fd/4", Args: []string{"sandbox", inside, "warden"}, Dir: "/", Env: []string{insideMark + "=1"},
		ExtraFiles: []*os.File{theirs, l.self}, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		mine.Close()
		return nil, fmt.Errorf("start a warden: %w", err)
	}
	gone := make(chan struct{})
	go func() { _ = cmd.Wait(); close(gone) }()
	cell, err := newCell(mine)
	if err != nil {
		_ = cmd.Process.Kill()
		<-gone
		return nil, fmt.Errorf("start a warden: %w", err)
	}
	return &awaiting{cell, func() { <-gone }}, nil
}

// Close ends what still runs.
func (l *landed) Close() error {
	l.mu.Lock()
	spare, running := l.spare, l.held
	l.spare, l.held, l.closed = nil, map[*held]bool{}, true
	l.mu.Unlock()
	if spare != nil {
		spare.cell.conn.Close()
		spare.done()
	}
	for h := range running {
		h.End(0)
	}
	return l.self.Close()
}
