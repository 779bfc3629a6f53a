package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"
)

// The older transport, HTTP+SSE (deprecated since 2025-03-26), is a wire like
// stdio: what the client posts to /message comes in, what goes out is an event
// of the stream that it opened at /sse. So questions, notifications and
// cancellation are the same. It speaks the era with sessions only.
const keepAlive = 15 * time.Second // between comments on a silent stream

// streams are the open SSE streams of a Server, by session. The zero value has
// none.
type streams struct {
	mu   sync.Mutex
	open map[string]*wire
}

func (s *streams) add(w *wire) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[string]*wire{}
	}
	if len(s.open) >= maxSessions {
		return false
	}
	s.open[w.sess.id] = w
	return true
}

func (s *streams) get(id string) *wire {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[id]
}

func (s *streams) drop(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, id)
}

func (s *streams) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

func (s *streams) all() []*wire {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.open))
}

// close ends every stream.
func (s *streams) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.open {
		w.fail(errClosing)
	}
}

// stream serves GET /sse: one session, until the client goes.
func (s *Server) stream(rw http.ResponseWriter, r *http.Request) {
	if s.closing.Load() {
		http.Error(rw, errClosing.Error(), http.StatusServiceUnavailable)
		return
	}
	ctx, fail := attached(overTransport(r.Context(), "sse"))
	defer fail(nil)
	w := newWire(s, &events{to: rw, control: http.NewResponseController(rw)}, fail)
	w.legacy = true
	w.ctx = s.mcp.WithContext(ctx, w.sess)
	w.used.add(credentialOf(ctx))
	heldBy(ctx).keep(func() bool { return w.calls() > 0 || len(w.used.list()) > 0 }) // what a renewed one went on with
	if !s.streams.add(w) {
		http.Error(rw, "too many sessions are open", http.StatusServiceUnavailable)
		return
	}
	defer s.streams.drop(w.sess.id)
	if err := s.mcp.RegisterSession(w.ctx, w.sess); err != nil {
		http.Error(rw, "the session could not be opened", http.StatusInternalServerError)
		return
	}
	defer s.end(w)
	if err := w.to.(*events).open(rw); err != nil {
		return
	}
	if err := w.event("endpoint", []byte(s.message+"?sessionId="+w.sess.id)); err != nil {
		return
	}
	go w.notify()
	tick := time.NewTicker(keepAlive)
	defer tick.Stop()
	for w.ctx.Err() == nil {
		select {
		case <-w.ctx.Done():
		case <-tick.C:
			_ = w.event("", nil)
		}
	}
	fail(errGone)
	w.wait()
}

// post serves POST /message?sessionId=…: one message of a session.
func (s *Server) post(rw http.ResponseWriter, r *http.Request) {
	w := s.streams.get(r.URL.Query().Get("sessionId"))
	if w == nil {
		http.Error(rw, "there is no such session", http.StatusNotFound)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(rw, "the message could not be read", http.StatusBadRequest)
		return
	}
	w.used.add(credentialOf(r.Context()))
	w.take(r.Context(), frame{text: bytes.TrimSpace(body)})
	rw.WriteHeader(http.StatusAccepted)
}

// events writes each line that it gets as an event.
type events struct {
	to      io.Writer
	control *http.ResponseController
}

func (e *events) Write(line []byte) (int, error) {
	return len(line), e.event("message", bytes.TrimSuffix(line, []byte("\n")))
}

// open begins the stream.
func (e *events) open(rw http.ResponseWriter) error {
	h := rw.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // for proxies: not to hold it back
	rw.WriteHeader(http.StatusOK)
	return e.control.Flush()
}

// message writes one message as an event.
func (e *events) message(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return e.event("message", b)
}

// event writes one event, or a comment where it has no name.
func (e *events) event(name string, data []byte) error {
	text := ": keep-alive\n\n"
	if name != "" {
		text = fmt.Sprintf("event: %s\ndata: %s\n\n", name, data)
	}
	if _, err := io.WriteString(e.to, text); err != nil {
		return err
	}
	return e.control.Flush()
}

// event sends an event other than a message.
func (w *wire) event(name string, data []byte) error {
	e, ok := w.to.(*events)
	if !ok {
		return nil
	}
	w.out.Lock()
	defer w.out.Unlock()
	err := e.event(name, data)
	if err != nil {
		w.fail(err)
	}
	return err
}

// newWire is a wire of the server that writes to to. Its context is still to be
// set.
func newWire(s *Server, to io.Writer, fail context.CancelCauseFunc) *wire {
	w := &wire{mcp: s.mcp, log: s.log, closing: s.closing, to: to, fail: fail, slots: make(chan struct{}, maxTools), open: map[any]*request{}}
	w.sess = newSession()
	return w
}
