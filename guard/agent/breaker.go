package agent

import (
	"errors"
	"time"
)

// Times and counts of the breaker.
const (
	trips = 3                // failures in a row that open it
	rest  = 60 * time.Second // how long it stays open
)

// breaker stops asking a server that fails again and again. The zero value is
// closed. It is guarded by the Agent's lock.
type breaker struct {
	failures int
	caused   bool // one of them could have been the caller's doing
	last     error
	until    time.Time // open until then; zero: closed
}

// open returns why the server is not asked now, or nil. What callers can cause
// stays theirs: a breaker that such a failure helped to trip is ErrTime.
func (b *breaker) open(now time.Time) error {
	if b.until.IsZero() || now.After(b.until) {
		return nil
	}
	if b.caused {
		return ErrTime
	}
	return b.last
}

// note takes the end of a conversation into account and reports whether the
// breaker opened by it, or closed again after it was open.
func (b *breaker) note(err error, now time.Time) (opened, closed bool) {
	late := errors.Is(err, ErrTime)
	if !late && !errors.Is(err, ErrServer) {
		closed = !b.until.IsZero()
		*b = breaker{}
		return false, closed
	}
	b.failures++
	b.caused, b.last = b.caused || late, err
	if b.failures < trips {
		return false, false
	}
	opened = b.until.IsZero()
	b.until = now.Add(rest)
	return opened, false
}
