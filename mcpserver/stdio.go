package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// The library's own stdio transport has one session for the whole process, runs
// a call on the read loop when its queue is full (where a question can never be
// answered), reads lines of any length and answers calls that were cancelled.
// So this one reads and writes, and leaves the protocol to HandleMessage.
const (
	maxLine  = 16 << 20         // bytes of one message
	maxCalls = 10000            // requests that are open at once
	maxTools = 100              // tool calls that run at once; the others wait
	farewell = 10 * time.Second // for calls to end once the client has gone
)

// wire is one client on a pair of streams.
type wire struct {
	ctx     context.Context
	mcp     *server.MCPServer
	sess    *session
	log     *slog.Logger
	slots   chan struct{}
	closing *atomic.Bool // of the server: nothing new begins
	// legacy wires speak the era with sessions only: there a client that asks for
	// the other one is to fall back.
	legacy bool
	wg     sync.WaitGroup

	out  sync.Mutex // held while writing to to
	to   io.Writer
	fail context.CancelCauseFunc

	mu   sync.Mutex
	open map[any]*request

	used users // over HTTP

	// over streamable HTTP: requests that are open, and when the last one ended
	busy, seen atomic.Int64
}

// request is a request of the client that has no response yet.
type request struct {
	ctx       context.Context
	cancel    context.CancelCauseFunc
	cancelled atomic.Bool // by the client: no response is sent
}

// ServeStdio serves one client, both protocol eras, one message a line, until
// in ends (nil) or ctx does. Calls that run then are ended with everything they
// started. Only MCP is written to out.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	// A client that is gone must not end this process by SIGPIPE before it has
	// ended the commands it started. (Ignoring the signal would pass on to them.)
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)

	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	w := newWire(s, out, fail)
	w.ctx = s.mcp.WithContext(ctx, w.sess)
	if err := s.mcp.RegisterSession(w.ctx, w.sess); err != nil {
		return fmt.Errorf("opening a session: %w", err)
	}
	defer s.end(w)
	go w.notify()

	err := w.read(in)
	fail(errGone)
	w.wait()
	return err
}

// Why a session or a call ends.
var (
	errGone      = errors.New("the client has gone")
	errCancelled = errors.New("the client cancelled it")
	errEnded     = errors.New("the client ended its session")
	errIdle      = errors.New("its session was silent for too long")
	errClosing   = errors.New("the server is closing")
)

// end forgets what hangs on the session.
func (s *Server) end(w *wire) {
	s.mcp.UnregisterSession(context.WithoutCancel(w.ctx), w.sess.id)
	s.endSession(w.sess.id)
}

// endSession forgets what hangs on a session of any transport.
func (s *Server) endSession(id string) {
	s.space.end(id)
	s.box.EndSession(id)
}

// read takes messages from in until it ends or the context does.
func (w *wire) read(in io.Reader) error {
	type next struct {
		line frame
		err  error
	}
	lines := make(chan next)
	go func() {
		r := bufio.NewReaderSize(in, 64<<10)
		for {
			line, err := readFrame(r)
			select {
			case lines <- next{line, err}:
			case <-w.ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	for {
		select {
		case <-w.ctx.Done():
			return context.Cause(w.ctx)
		case n := <-lines:
			switch {
			case n.err == io.EOF:
				return nil
			case n.err != nil:
				return fmt.Errorf("reading from the client: %w", n.err)
			}
			w.take(w.ctx, n.line)
		}
	}
}

// take puts one message where it belongs; by is on whose behalf it came. It never
// blocks: answers to our own requests come through here too.
func (w *wire) take(by context.Context, f frame) {
	if f.long {
		w.refuse(f.id(), mcp.INVALID_REQUEST, fmt.Sprintf("the message is longer than %d bytes", maxLine))
		return
	}
	if len(f.text) == 0 {
		return
	}
	m, id, fault := parse(f.text)
	if fault != nil {
		w.refuse(m.ID, fault.Code, fault.Message)
		return
	}
	switch {
	case m.Method == "":
		if name, ok := id.(string); ok {
			w.sess.answered(name, reply{m.Result, faultOf(m.Error)})
		}
	case id != nil && w.legacy && m.Method == string(mcp.MethodServerDiscover):
		w.refuse(m.ID, mcp.METHOD_NOT_FOUND, "this transport speaks the era of initialize only")
	case id == nil && m.Method == string(mcp.MethodNotificationCancelled):
		w.cancel(m.Params)
	case id == nil:
		w.handle(w.ctx, f.text)
	case w.closing.Load() && m.begins():
		w.refuse(m.ID, mcp.INTERNAL_ERROR, errClosing.Error())
	default:
		w.start(by, id, m, f.text)
	}
}

// admit notes a request that begins under its id; the fault is why it cannot. Who
// admits it says w.wg.Done in the end.
func (w *wire) admit(ctx context.Context, id any) (*request, *rpcError) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx.Err() != nil {
		return nil, &rpcError{mcp.INTERNAL_ERROR, "the session has ended"}
	}
	if _, twice := w.open[id]; twice {
		return nil, &rpcError{mcp.INVALID_REQUEST, "a request with this id is open"}
	}
	if len(w.open) >= maxCalls {
		return nil, &rpcError{mcp.INTERNAL_ERROR, "too many requests are open"}
	}
	r := &request{}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	w.open[id] = r
	w.wg.Add(1)
	return r, nil
}

// calls is how many requests are open.
func (w *wire) calls() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.open)
}

// leave forgets a request that has ended.
func (w *wire) leave(id any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, id)
}

// start serves a request on its own goroutine.
func (w *wire) start(by context.Context, id any, m message, text []byte) {
	ctx, release := also(w.ctx, by)
	r, fault := w.admit(ctx, id)
	if fault != nil {
		release()
		w.refuse(m.ID, fault.Code, fault.Message)
		return
	}
	go func() {
		grow()
		defer w.wg.Done()
		defer release()
		defer r.cancel(nil)
		response := w.serve(r.ctx, m, text, w.send)
		w.leave(id)
		if response != nil && !r.cancelled.Load() {
			_ = w.send(response)
		}
	}()
	runtime.Gosched() // it goes before what is left to do for its message
}

// serve waits for a place, where a tool is called, and handles the request. What
// is said and asked for it goes to send, all of it before serve returns.
func (w *wire) serve(ctx context.Context, m message, text []byte, send func(any) error) any {
	if m.Method == string(mcp.MethodToolsCall) {
		heldBy(ctx).keep(func() bool { return true }) // it ends by itself, in time
		ctx = context.WithValue(ctx, callingKey{}, true)
		select {
		case w.slots <- struct{}{}:
			defer func() { <-w.slots }()
		case <-ctx.Done():
			return failure(m.ID, mcp.INTERNAL_ERROR, context.Cause(ctx).Error())
		}
	}
	v := newView(w.sess, send)
	defer v.finish()
	return w.handle(w.mcp.WithContext(ctx, v), text)
}

// handle lets the library handle a message. What panics is answered with an
// error and harms nothing else.
func (w *wire) handle(ctx context.Context, text []byte) (response any) {
	defer func() {
		if p := recover(); p != nil {
			w.log.Error("a message could not be handled", "panic", p)
			var m message
			_ = json.Unmarshal(text, &m) // it was read before
			if m.ID != nil {
				response = failure(m.ID, mcp.INTERNAL_ERROR, "the server failed while it handled this request")
			}
		}
	}()
	if r := w.mcp.HandleMessage(ctx, text); r != nil {
		return r
	}
	return nil
}

// cancel ends the request that a notifications/cancelled names.
func (w *wire) cancel(params json.RawMessage) {
	var p struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	_ = json.Unmarshal(params, &p) // what cannot be read names no request
	id, ok := idOf(p.RequestID)
	if !ok || id == nil {
		return
	}
	w.mu.Lock()
	r := w.open[id]
	w.mu.Unlock()
	if r != nil {
		r.cancelled.Store(true)
		r.cancel(errCancelled)
	}
}

// notify writes notifications as they come.
func (w *wire) notify() {
	for {
		select {
		case n := <-w.sess.notifications:
			_ = w.send(n)
		case <-w.ctx.Done():
			return
		}
	}
}

// wait gives the calls that still run time to end. The context has ended: no
// more are admitted.
func (w *wire) wait() {
	w.mu.Lock() // whoever is admitted has been
	left := len(w.open)
	w.mu.Unlock()
	done := make(chan struct{})
	go func() {
		w.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(farewell):
		w.log.Error("calls did not end in time", "of", left)
	}
}

// send writes one message. Where that fails the client has gone.
func (w *wire) send(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("writing to the client: %w", err)
	}
	w.out.Lock()
	defer w.out.Unlock()
	if _, err := w.to.Write(append(b, '\n')); err != nil {
		err = fmt.Errorf("writing to the client: %w", err)
		w.fail(err)
		return err
	}
	return nil
}

// refuse answers a message that is not handled; a nil id is sent as null.
func (w *wire) refuse(id json.RawMessage, code int, said string) {
	_ = w.send(failure(id, code, said))
}
