package mcpserver

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// exchange answers one POST of streamable HTTP: with JSON, or, from the first
// message on that comes before the response, with a stream of events. Where that
// takes long, comments keep it open.
type exchange struct {
	rw      http.ResponseWriter
	events  *events
	streams bool // the client takes events

	mu   sync.Mutex
	open bool // the stream
	done bool
	beat *time.Timer
}

var errNoStream = errors.New("the client takes no events")

func newExchange(rw http.ResponseWriter, r *http.Request) *exchange {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	x := &exchange{rw: rw, events: &events{to: rw, control: http.NewResponseController(rw)},
		streams: accept == "" || strings.Contains(accept, "text/event-stream") || strings.Contains(accept, "*/*")}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.beat = time.AfterFunc(keepAlive, x.alive)
	return x
}

// alive shows that the request is still worked on.
func (x *exchange) alive() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.begin() == nil && x.events.event("", nil) == nil {
		x.beat.Reset(keepAlive)
	}
}

// begin opens the stream. The lock is held.
func (x *exchange) begin() error {
	switch {
	case x.done || !x.streams:
		return errNoStream
	case x.open:
		return nil
	}
	x.open = true
	return x.events.open(x.rw)
}

// send sends one message before the response.
func (x *exchange) send(v any) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.begin(); err != nil {
		return err
	}
	return x.events.message(v)
}

// respond sends the response: nothing comes after it. The status is for where it
// is not part of a stream.
func (x *exchange) respond(v any, status int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.finish() {
		_ = x.events.message(v)
		return
	}
	b, err := json.Marshal(v)
	if err != nil {
		http.Error(x.rw, "the response could not be written", http.StatusInternalServerError)
		return
	}
	x.rw.Header().Set("Content-Type", "application/json")
	x.rw.WriteHeader(status)
	_, _ = x.rw.Write(append(b, '\n'))
}

// accept says that there is nothing to answer.
func (x *exchange) accept() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.finish() {
		x.rw.WriteHeader(http.StatusAccepted)
	}
}

// finish ends the exchange and reports whether there is a stream. The lock is
// held.
func (x *exchange) finish() bool {
	x.done = true
	x.beat.Stop()
	return x.open
}

// end sees to it that nothing is written when the handler has returned.
func (x *exchange) end() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.finish()
}

// refuse answers a message that is not handled.
func (x *exchange) refuse(id json.RawMessage, fault *rpcError) {
	x.respond(failure(id, fault.Code, fault.Message), status(fault.Code))
}

// close refuses what would begin while the server closes.
func (x *exchange) close(id json.RawMessage) {
	x.respond(failure(id, mcp.INTERNAL_ERROR, errClosing.Error()), http.StatusServiceUnavailable)
}

// unread is the HTTP status of a response in the era with sessions: there only what
// is no request is told by it.
func unread(response any) int {
	if e, ok := response.(mcp.JSONRPCError); ok && (e.Error.Code == mcp.PARSE_ERROR || e.Error.Code == mcp.INVALID_REQUEST) {
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// status is the HTTP status of a JSON-RPC error (MCP 2026-07-28).
func status(code int) int {
	switch code {
	case mcp.METHOD_NOT_FOUND:
		return http.StatusNotFound
	case mcp.HEADER_MISMATCH, mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, mcp.UNSUPPORTED_PROTOCOL_VERSION,
		mcp.INVALID_REQUEST, mcp.INVALID_PARAMS, mcp.PARSE_ERROR:
		return http.StatusBadRequest
	}
	return http.StatusOK
}
