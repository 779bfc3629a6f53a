package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// ahead is how many heads wait in an open session at first, and most how many at
// all: one that has ended its command serves the next, since to start one takes
// ten milliseconds of a processor. Where more than ahead were not needed for the
// time of a spell, one is ended.
const (
	ahead = 2
	most  = 16
	spell = 2 * time.Minute
)

// kept is a cell that waits for a command, in bounds already: to move a process
// into a control group takes the kernel milliseconds.
type kept struct {
	*cell
	bounds *bounds // nil: none yet
}

// sessionKey names what a session was opened for.
type sessionKey struct {
	files  string // of the plan
	limits Limits // what waits in it is bounded already
}

// session is an open sandbox that serves the base profile.
type session struct {
	key    sessionKey
	id     string // unlike that of any other
	w      *wrapper
	conn   *net.UnixConn // to the agent
	ready  chan kept     // closed when the agent is gone
	users  int           // commands, and who is about to start one; under bubble.mu
	idle   *time.Timer   // under bubble.mu; may be nil
	worked atomic.Bool   // a head came
	soon   atomic.Int64  // heads that are about to wait: ordered, or at their end
	stale  bool          // not the open one any more: closed when the last user leaves

	mu    sync.Mutex // for the end of ready, and who changes how many wait
	over  bool       // ready is closed
	least int        // how many waited at least
	since time.Time  // when that began to be counted
}

// shared returns the open session, opened or replaced as files ask for, with the
// caller as a user of it. It is nil where sessions do not work.
func (b *bubble) shared(files *plan, p *Policy) (*session, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, errClosed
	}
	if b.solo {
		return nil, nil
	}
	key := sessionKey{files.key(), p.Limits.or(DefaultLimits())}
	if b.session != nil && b.session.key != key {
		b.retire(b.session)
	}
	if b.session == nil {
		s, err := b.openSession(files, key, p)
		if err != nil {
			return nil, err
		}
		b.session = s
	}
	if b.session.idle != nil {
		b.session.idle.Stop()
	}
	b.session.users++
	return b.session, nil
}

// openSession starts a sandbox with an agent in it. It sees the host's /proc, as
// heads could not mount their own without; commands see only that of their own.
func (b *bubble) openSession(files *plan, key sessionKey, p *Policy) (*session, error) {
	mine, theirs, err := pair()
	if err != nil {
		return nil, err
	}
	net := b.network(&Policy{})
	args := append(fence(&Policy{}, net), "--as-pid-1", "--cap-drop", "ALL", "--cap-add", "CAP_SYS_ADMIN", "--cap-add", "CAP_SETPCAP")
	args = append(append(args, files.args...), "--bind", "/proc", "/proc")
	expect, err := files.expect(p.Roots)
	if err != nil {
		mine.Close()
		theirs.Close()
		return nil, err
	}
	w, err := b.boot(booting{args: args, net: net}, theirs, "agent", expect)
	theirs.Close()
	if err != nil {
		mine.Close()
		return nil, err
	}
	s := &session{key: key, id: strings.ToLower(rand.Text()[:8]), w: w, conn: mine, ready: make(chan kept, most)}
	go s.collect(b.groups, p.Limits)
	s.soon.Store(ahead)
	for range ahead {
		if _, err := mine.Write([]byte{0}); err != nil {
			s.close()
			return nil, w.blame(err)
		}
	}
	return s, nil
}

// collect takes the sockets of heads from the agent, and bounds them as a call
// with limits is.
func (s *session) collect(groups cgroups, limits Limits) {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.over = true
		close(s.ready)
	}()
	for i := 0; ; i++ {
		h, err := take(s.conn)
		if err != nil || len(h.files) != 1 {
			return
		}
		c, err := conn(h.files[0])
		if err != nil {
			return
		}
		fresh, err := newCell(c)
		if err != nil {
			return
		}
		s.worked.Store(true)
		fresh.settling = &s.soon
		fresh.again = func(c *cell, b *bounds) { s.give(kept{c, b}) }
		k := kept{cell: fresh}
		if b, err := groups.bind(fmt.Sprintf("ahead-%d-%s", i, s.id), limits, nil); err == nil { // else the call is told why
			if k.bounds = b; b.add(fresh.pid) != nil {
				_ = b.release()
				k.bounds = nil
			}
		}
		s.give(k)
		s.soon.Add(-1)
	}
}

// give puts a head among those that wait. Where they are enough it is ended.
func (s *session) give(k kept) {
	s.mu.Lock()
	kept := false
	if !s.over && !s.endSpell() {
		select {
		case s.ready <- k:
			kept = true
		default:
		}
	}
	s.mu.Unlock()
	if !kept {
		k.discard()
	}
}

// endSpell begins another spell where one has come to its end, and reports whether
// in all of that more heads waited than have to. s.mu is held.
func (s *session) endSpell() bool {
	if time.Since(s.since) < spell {
		return false
	}
	enough := s.least > ahead
	s.least, s.since = len(s.ready), time.Now()
	return enough
}

// waiting returns a head that waits, if there is one: its cell is nil where there
// is none, ok is false where there will be none.
func (s *session) waiting() (k kept, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ok = true
	select {
	case k, ok = <-s.ready:
	default:
	}
	s.least = min(s.least, len(s.ready))
	return k, ok
}

// cell returns a head that waits, and orders another one where none waits after
// it.
func (s *session) cell(ctx context.Context) (kept, error) {
	c, ok := s.waiting()
	if ok && len(s.ready) == 0 && (c.cell == nil || s.soon.Load() == 0) {
		s.soon.Add(1)
		if _, err := s.conn.Write([]byte{0}); err != nil {
			if c.cell != nil {
				c.discard()
			}
			return kept{}, fmt.Errorf("the session's sandbox: %w", err)
		}
	}
	if c.cell != nil {
		return c, nil
	}
	select {
	case c, ok = <-s.ready:
		if !ok {
			return kept{}, s.w.blame(errors.New("the session's sandbox has ended"))
		}
		return c, nil
	case <-ctx.Done():
		return kept{}, ctx.Err()
	}
}

// discard ends a cell that was not used.
func (k kept) discard() {
	k.conn.Close()
	if k.bounds != nil {
		_ = k.bounds.release()
	}
}

// bounded puts the cell into the bounds of a call. One of a session has them.
func (b *bubble) bounded(k kept, p *Policy, id string) (*bounds, error) {
	dirs := append(slices.Clone(p.Roots), p.Scratch, b.caches.dir)
	if k.bounds != nil {
		now := newBounds(p.Limits, dirs) // what was written before is not this call's
		now.group = k.bounds.group
		return now, nil
	}
	now, err := b.groups.bind(id, p.Limits, dirs)
	if err != nil {
		k.discard()
		return nil, err
	}
	if err := now.add(k.pid); err != nil {
		k.discard()
		return nil, errors.Join(err, now.release())
	}
	return now, nil
}

// leave ends a use of s.
func (b *bubble) leave(s *session) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s.users--
	if s.users > 0 {
		return
	}
	if s.stale {
		go s.close()
		return
	}
	s.idle = time.AfterFunc(b.Idle, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if s.users == 0 && b.session == s {
			b.retire(s)
		}
	})
}

// retire takes s out of use; its commands may end. b.mu is held.
func (b *bubble) retire(s *session) {
	b.session = nil
	s.stale = true
	if s.users == 0 {
		go s.close()
	}
}

// drop takes s out of use where it is broken. One that never worked shows that
// none will.
func (b *bubble) drop(s *session, broken bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !broken {
		return
	}
	b.solo = b.solo || !s.worked.Load()
	if b.session == s {
		b.retire(s)
	}
}

// close ends the agent and with it all that is in the sandbox.
func (s *session) close() {
	s.conn.Close()
	go func() {
		for k := range s.ready {
			k.discard()
		}
	}()
	s.w.end()
}
