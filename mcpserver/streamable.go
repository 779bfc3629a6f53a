package mcpserver

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Streamable HTTP in both eras. The library's own loses notifications, lets a
// session's requests take them from each other, keeps all that it ever streamed,
// and leaves questions open that nobody waits for. So a session is a wire here as
// on stdio, and every request has the stream of its own response (see exchange).
// The era of 2026-07-28 has no sessions: there a principal and its workspace are
// one, and so is this Server (see Host).
const (
	idle        = 30 * time.Minute // without a request, after which a session ends
	maxSessions = 1000             // of one Server at once
	stateless   = "http"           // the session of the era without sessions
)

// visit serves /mcp.
func (s *Server) visit(rw http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodPost:
		s.take(rw, r)
	case r.Method != http.MethodGet && r.Method != http.MethodDelete,
		mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion)):
		rw.Header().Set("Allow", http.MethodPost)
		http.Error(rw, "this method is not served", http.StatusMethodNotAllowed)
	case !speaks(rw, r):
	default:
		if w := s.visitor(rw, r); w == nil {
			return
		} else if r.Method == http.MethodDelete {
			s.visits.end(w.sess.id, errEnded)
		} else {
			w.listen(rw, r)
		}
	}
}

// speaks answers a request of a protocol version that nobody knows, and reports
// whether it may go on. Clients of 2025-03-26 do not name theirs.
func speaks(rw http.ResponseWriter, r *http.Request) bool {
	version := r.Header.Get(mcp.HeaderProtocolVersion)
	if version == "" || mcp.IsValidProtocolVersion(version) {
		return true
	}
	http.Error(rw, "this protocol version is not spoken", http.StatusBadRequest)
	return false
}

// visitor is the session that a request names. It answers the request where
// there is none, and returns nil.
func (s *Server) visitor(rw http.ResponseWriter, r *http.Request) *wire {
	id := r.Header.Get(server.HeaderKeySessionID)
	w := s.visits.get(id)
	switch {
	case id == "":
		http.Error(rw, "want "+server.HeaderKeySessionID, http.StatusBadRequest)
	case w == nil:
		http.Error(rw, "there is no such session", http.StatusNotFound)
	default:
		w.used.add(credentialOf(r.Context()))
	}
	return w
}

// take serves POST: one message.
func (s *Server) take(rw http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(rw, "the message could not be read", http.StatusBadRequest)
		return
	}
	text = bytes.TrimSpace(text)
	x := newExchange(rw, r)
	defer x.end()
	m, id, fault := parse(text)
	switch {
	case fault != nil:
		x.refuse(m.ID, fault)
	case modern(r, m):
		s.once(x, r, m, id, text)
	case m.Method == string(mcp.MethodInitialize) && id != nil:
		s.greet(x, r, m, text)
	case !speaks(rw, r):
	default:
		if w := s.visitor(rw, r); w != nil {
			w.exchange(x, r, m, id, text)
		}
	}
}

// greet opens a session. Its name is ours, whatever the request says.
func (s *Server) greet(x *exchange, r *http.Request, m message, text []byte) {
	if s.closing.Load() {
		x.close(m.ID)
		return
	}
	ctx, fail := context.WithCancelCause(overTransport(context.WithoutCancel(r.Context()), "http"))
	w := newWire(s, io.Discard, fail)
	w.ctx = s.mcp.WithContext(ctx, w.sess)
	w.used.add(credentialOf(ctx))
	if !s.visits.add(w, s.end) {
		fail(nil)
		http.Error(x.rw, "too many sessions are open", http.StatusServiceUnavailable)
		return
	}
	if err := s.mcp.RegisterSession(w.ctx, w.sess); err != nil {
		s.visits.end(w.sess.id, nil)
		http.Error(x.rw, "the session could not be opened", http.StatusInternalServerError)
		return
	}
	response := w.serve(w.ctx, m, text, x.send)
	if _, failed := response.(mcp.JSONRPCError); failed || response == nil {
		s.visits.end(w.sess.id, nil)
	} else {
		x.rw.Header().Set(server.HeaderKeySessionID, w.sess.id)
	}
	x.respond(response, http.StatusOK)
}

// exchange takes one message of a session: a notification or an answer at once, a
// request with its response.
func (w *wire) exchange(x *exchange, r *http.Request, m message, id any, text []byte) {
	w.busy.Add(1)
	defer w.rest()
	switch {
	case m.Method == "":
		if name, ok := id.(string); ok {
			w.sess.answered(name, reply{m.Result, faultOf(m.Error)})
		}
		x.accept()
		return
	case id == nil && m.Method == string(mcp.MethodNotificationCancelled):
		w.cancel(m.Params)
		x.accept()
		return
	case id == nil:
		w.handle(w.ctx, text)
		x.accept()
		return
	}
	if w.closing.Load() && m.begins() {
		x.close(m.ID)
		return
	}
	req, fault := w.admit(with(w.ctx, r.Context()), id)
	if fault != nil {
		x.refuse(m.ID, fault)
		return
	}
	defer w.wg.Done()
	defer w.leave(id)
	defer req.cancel(nil)
	defer context.AfterFunc(r.Context(), func() { req.cancel(parted(r.Context())) })() // who goes away ends the call
	response := w.serve(req.ctx, m, text, x.send)
	if response == nil || req.cancelled.Load() {
		x.accept()
		return
	}
	x.respond(response, unread(response))
}

// parted is why the context of a request ended: the server ended it, or else the
// client went away, of which net/http says no more than that.
func parted(ctx context.Context) error {
	if err := context.Cause(ctx); err != context.Canceled {
		return err
	}
	return errGone
}

// attached is a context that ends with parent, the context of a request, and has
// its parting as its cause.
func attached(parent context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, fail := context.WithCancelCause(context.WithoutCancel(parent))
	stop := context.AfterFunc(parent, func() { fail(parted(parent)) })
	return ctx, func(err error) { stop(); fail(err) }
}

// rest notes that a request of the session has ended.
func (w *wire) rest() {
	w.seen.Store(time.Now().UnixNano())
	w.busy.Add(-1)
}

// listen serves GET: a stream for what belongs to no request.
func (w *wire) listen(rw http.ResponseWriter, r *http.Request) {
	w.busy.Add(1)
	defer w.rest()
	e := &events{to: rw, control: http.NewResponseController(rw)}
	if err := e.open(rw); err != nil {
		return
	}
	tick := time.NewTicker(keepAlive)
	defer tick.Stop()
	for err := error(nil); err == nil; {
		select {
		case <-r.Context().Done():
			return
		case <-w.ctx.Done():
			return
		case <-tick.C:
			err = e.event("", nil)
		case n := <-w.sess.notifications:
			err = e.message(n)
		}
	}
}

// visits are the sessions of streamable HTTP, by name. The zero value has none.
type visits struct {
	mu     sync.Mutex
	open   map[string]*wire
	finish func(*wire)
}

// add takes a session in; finish is called once when it has ended.
func (v *visits) add(w *wire, finish func(*wire)) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.open == nil {
		v.open, v.finish = map[string]*wire{}, finish
	}
	if len(v.open) >= maxSessions {
		return false
	}
	v.open[w.sess.id] = w
	w.seen.Store(time.Now().UnixNano())
	time.AfterFunc(idle, func() { v.expire(w) })
	return true
}

// expire ends a session that was silent for long, or looks again later.
func (v *visits) expire(w *wire) {
	left := time.Until(time.Unix(0, w.seen.Load()).Add(idle))
	switch {
	case w.ctx.Err() != nil: // it has ended already
	case w.busy.Load() > 0:
		time.AfterFunc(idle, func() { v.expire(w) })
	case left > 0:
		time.AfterFunc(left, func() { v.expire(w) })
	default:
		v.end(w.sess.id, errIdle)
	}
}

func (v *visits) get(id string) *wire {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.open[id]
}

// end ends a session with all that runs in it, for the reason why.
func (v *visits) end(id string, why error) {
	v.mu.Lock()
	w := v.open[id]
	delete(v.open, id)
	v.mu.Unlock()
	if w != nil {
		w.fail(why)
		w.wait()
		v.finish(w)
	}
}

// count is how many sessions there are.
func (v *visits) count() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.open)
}

func (v *visits) all() []*wire {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Collect(maps.Values(v.open))
}

// close ends every session.
func (v *visits) close() {
	v.mu.Lock()
	var ids []string
	for id, w := range v.open {
		w.fail(errClosing)
		ids = append(ids, id)
	}
	v.mu.Unlock()
	for _, id := range ids {
		v.end(id, errClosing)
	}
}
