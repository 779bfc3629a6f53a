package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Places are where calls get their place before they run: a Queue, or by a
// RemoteQueue that of another process.
type Places interface {
	// Enter waits for a place, for as long as ctx lives, and says whether it had to.
	// Leave gives the place back.
	Enter(ctx context.Context, principal string) (waited bool, err error)
	Leave(principal string)
}

// What a queue says over a connection: one byte for each that asks.
const (
	placeGiven  = 'P'
	placeWaited = 'W' // given, after some time
	placeFull   = 'F'
)

// Serve gives places of the queue to another process, which serves one
// principal: each connection that it opens is a call that waits, and then runs,
// until it is closed. So a process that dies gives back what it had. It returns
// when the listener fails. A process that opens more than it can have calls is told
// that there is no place: it takes no descriptors of this one.
func (q *Queue) Serve(l net.Listener, principal string) error {
	var attended atomic.Int64
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		if attended.Load() > int64(2*q.Each+q.Waiting) { // twice: some were just closed
			_ = say(c, placeFull)
			c.Close()
			continue
		}
		attended.Add(1)
		go func() {
			defer attended.Add(-1)
			q.attend(c, principal)
		}()
	}
}

// say says one byte, to somebody who may not want to hear it: there is room for it
// in every socket that nobody filled.
func say(c net.Conn, what byte) error {
	if err := c.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	_, err := c.Write([]byte{what})
	return err
}

func (q *Queue) attend(c net.Conn, principal string) {
	defer c.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		defer cancel()
		_, _ = c.Read(make([]byte, 1)) // it says nothing: it closes
	}()
	waited, err := q.Enter(ctx, principal)
	switch {
	case errors.Is(err, ErrFull):
		_ = say(c, placeFull)
		return
	case err != nil:
		return
	}
	defer q.Leave(principal)
	said := byte(placeGiven)
	if waited {
		said = placeWaited
	}
	if say(c, said) == nil {
		<-ctx.Done()
	}
}

// RemoteQueue takes the places of one principal from the queue of another
// process (see Queue.Serve). It is safe for concurrent use.
type RemoteQueue struct {
	Dial func() (net.Conn, error)

	mu   sync.Mutex
	held []net.Conn // one is as good as another
}

// Enter waits for a place.
func (r *RemoteQueue) Enter(ctx context.Context, _ string) (waited bool, err error) {
	c, err := r.Dial()
	if err != nil {
		return false, fmt.Errorf("the queue of the server cannot be reached: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(time.Unix(1, 0)) })
	said := make([]byte, 1)
	_, err = c.Read(said)
	switch {
	case !stop() && ctx.Err() != nil:
		err = ctx.Err()
	case err != nil:
		err = fmt.Errorf("the queue of the server has gone: %w", err)
	case said[0] == placeFull:
		err = ErrFull
	case said[0] != placeGiven && said[0] != placeWaited:
		err = errors.New("the queue of the server is not understood")
	}
	if err != nil {
		c.Close()
		return true, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = append(r.held, c)
	return said[0] == placeWaited, nil
}

// Leave gives a place back.
func (r *RemoteQueue) Leave(string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last := len(r.held) - 1; last >= 0 {
		r.held[last].Close()
		r.held = r.held[:last]
	}
}
