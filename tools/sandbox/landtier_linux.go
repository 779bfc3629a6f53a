package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// landed runs commands under Landlock and seccomp, for where namespaces are
// refused. Each has a warden.
type landed struct {
	Settings
	wardens *wardens
	groups  cgroups

	mu     sync.Mutex
	held   map[*held]bool
	closed bool
	gates  bool // they were tried, and work here
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
	l := &landed{Settings: s, wardens: &wardens{self: self}, held: map[*held]bool{}}
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
		"no network means no local one either; with a list of hosts a command reaches their proxy and nothing else, and one that forbids to be traced not even that",
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
	over := func() {}
	if p.Network == Domains && !p.Open {
		way, err := l.proxy(ctx, p)
		if err != nil {
			return nil, err
		}
		over = func() { way.Close() }
		through := *c
		through.Env = proxied(c.Env, way.Addr().String(), p.ProxyToken)
		c, reach.Proxy = &through, uint16(way.Addr().(*net.TCPAddr).Port)
		p.Proxy(way)
	}
	return l.start(ctx, p, c, reach, over)
}

// start runs c with what reach gives. over is called once when nothing of it is
// left, or nothing ran.
func (l *landed) start(ctx context.Context, p *Policy, c *Command, reach *land, over func()) (*held, error) {
	limits := p.Limits.or(DefaultLimits())
	w, within, err := l.bounded(limits, c.ID, append(slices.Clone(p.Roots), p.Scratch))
	if err != nil {
		over()
		return nil, err
	}
	again := false
	w.cell.land = reach
	w.cell.again = func(_ *cell, b *bounds) {
		again = true
		l.wardens.give(&awaiting{w.cell, w.gone, limits, b})
	}
	h, err := w.cell.start(ctx, p, c, within, func() {
		if !again {
			<-w.gone
		}
		over()
	})
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
	go l.wardens.refill(limits)
	return h, nil
}

// bounded returns a warden in the bounds of a call.
func (l *landed) bounded(limits Limits, id string, dirs []string) (*awaiting, *bounds, error) {
	for {
		w, err := l.wardens.take(limits)
		if err != nil {
			return nil, nil, err
		}
		b, err := w.bound(l.groups, id, limits, dirs)
		if err == nil {
			return w, b, nil
		}
		served := w.bounds != nil
		w.end()
		if !served {
			return nil, nil, err
		}
	}
}

// Close ends what still runs.
func (l *landed) Close() error {
	l.mu.Lock()
	running := l.held
	l.held, l.closed = nil, true
	l.mu.Unlock()
	for h := range running {
		h.End(0)
	}
	return l.wardens.close()
}
