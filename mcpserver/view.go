package mcpserver

import (
	"context"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// view is the session as one request sees it: what is said and asked for the
// request goes out on the stream that its response will take, and before it. (A
// client forgets a request with its response: what comes later is lost on it.)
type view struct {
	*session
	send func(any) error

	begin sync.Once
	out   chan mcp.JSONRPCNotification // nil until there is something to say
	last  chan struct{}                // closed when nothing more comes
	idle  chan struct{}                // closed when all is written
}

func newView(s *session, send func(any) error) *view {
	return &view{session: s, send: send, last: make(chan struct{}), idle: make(chan struct{})}
}

// NotificationChannel takes what is said for this request. After finish it takes
// nothing.
func (v *view) NotificationChannel() chan<- mcp.JSONRPCNotification {
	v.begin.Do(func() {
		v.out = make(chan mcp.JSONRPCNotification, backlog)
		go v.pump()
	})
	return v.out
}

// pump writes notifications in the order in which they come.
func (v *view) pump() {
	defer close(v.idle)
	for {
		select {
		case n := <-v.out:
			_ = v.send(n) // fails where the client has gone
		case <-v.last:
			for {
				select {
				case n := <-v.out:
					_ = v.send(n)
				default:
					return
				}
			}
		}
	}
}

// finish returns when all that was said for the request is written.
func (v *view) finish() {
	v.begin.Do(func() { close(v.idle) })
	close(v.last)
	<-v.idle
}

// RequestElicitation puts a question before the client's user.
func (v *view) RequestElicitation(ctx context.Context, r mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	var out mcp.ElicitationResult
	return &out, v.request(ctx, v.send, mcp.MethodElicitationCreate, r.Params, &out)
}

// ListRoots asks the client for its workspace roots.
func (v *view) ListRoots(ctx context.Context, _ mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	var out mcp.ListRootsResult
	return &out, v.request(ctx, v.send, mcp.MethodListRoots, nil, &out)
}
