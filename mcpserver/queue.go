package mcpserver

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// Queue bounds the calls that run at once, of each principal and of all, and is
// fair: a free place goes to the waiting principals in turn, however many calls
// each of them has waiting. It is safe for concurrent use; a nil *Queue bounds
// nothing.
type Queue struct {
	// All is how many calls run at once, Each how many of one principal. Waiting
	// is how many of one principal may wait. All must be more than zero.
	All, Each, Waiting int

	mu      sync.Mutex
	running int
	of      map[string]*line
	turn    []*line // the principals that have calls waiting, next first
}

// line is one principal's calls.
type line struct {
	of      string
	running int
	waiting []chan struct{}
}

// ErrFull is what Enter returns where too many calls of a principal wait.
var ErrFull = errors.New("too many calls of yours wait already")

// Enter waits for a place, for as long as ctx lives, and says whether it had to.
// Leave gives the place back.
func (q *Queue) Enter(ctx context.Context, principal string) (waited bool, err error) {
	if q == nil {
		return false, nil
	}
	q.mu.Lock()
	if q.of == nil {
		q.of = map[string]*line{}
	}
	l := q.of[principal]
	if l == nil {
		l = &line{of: principal}
		q.of[principal] = l
	}
	if len(l.waiting) == 0 && q.running < q.All && l.running < q.Each {
		q.running++
		l.running++
		q.mu.Unlock()
		return false, nil
	}
	if len(l.waiting) >= q.Waiting {
		q.mu.Unlock()
		return false, ErrFull
	}
	place := make(chan struct{})
	if !slices.Contains(q.turn, l) {
		q.turn = append(q.turn, l)
	}
	l.waiting = append(l.waiting, place)
	q.mu.Unlock()
	select {
	case <-place:
		return true, nil
	case <-ctx.Done():
	}
	if !q.withdraw(l, place) { // it had been given the place meanwhile
		q.Leave(principal)
	}
	return true, context.Cause(ctx)
}

// withdraw takes a waiting call out of its line.
func (q *Queue) withdraw(l *line, place chan struct{}) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, p := range l.waiting {
		if p == place {
			l.waiting = append(l.waiting[:i], l.waiting[i+1:]...)
			q.forget(l)
			return true
		}
	}
	return false
}

// Leave gives a place back.
func (q *Queue) Leave(principal string) {
	if q == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.of[principal]
	q.running--
	l.running--
	q.next()
	q.forget(l)
}

// forget drops a line that has no calls. The lock is held.
func (q *Queue) forget(l *line) {
	if l.running == 0 && len(l.waiting) == 0 {
		delete(q.of, l.of)
	}
}

// next lets waiting calls in while there are places: one of each principal in
// turn. The lock is held.
func (q *Queue) next() {
	for passed := 0; passed < len(q.turn) && q.running < q.All; {
		l := q.turn[0]
		q.turn = q.turn[1:]
		if len(l.waiting) == 0 {
			continue
		}
		passed++
		if l.running < q.Each {
			close(l.waiting[0])
			l.waiting = l.waiting[1:]
			l.running++
			q.running++
			passed = 0
		}
		if len(l.waiting) > 0 {
			q.turn = append(q.turn, l)
		}
	}
}

// place is a place for one call of this principal.
func (s *Server) place(ctx context.Context) (leave func(), waited bool, err error) {
	if waited, err = s.queue.Enter(ctx, s.principal); err != nil {
		return nil, waited, err
	}
	return func() { s.queue.Leave(s.principal) }, waited, nil
}
