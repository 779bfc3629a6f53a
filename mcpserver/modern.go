package mcpserver

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// modern reports whether a message is of the era of 2026-07-28: its header or its
// _meta says so.
func modern(r *http.Request, m message) bool {
	return mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion)) || mcp.IsModernProtocol(m.version())
}

// version is the protocol version that a message names, if any.
func (m message) version() string {
	if !bytes.Contains(m.Params, []byte(mcp.MetaKeyProtocolVersion)) && !bytes.Contains(m.Params, []byte{'\\'}) {
		return ""
	}
	var p struct {
		Meta *mcp.Meta `json:"_meta"`
	}
	if json.Unmarshal(m.Params, &p) != nil {
		return ""
	}
	return p.Meta.ProtocolVersion()
}

// once serves a message of the era without sessions: on a session of its own, so
// that no id of one client means anything to another of this principal. Who wants
// a request to end closes it.
func (s *Server) once(x *exchange, r *http.Request, m message, id any, text []byte) {
	if fault := s.sound(r, m, id); fault != nil {
		x.refuse(m.ID, fault)
		return
	}
	if id == nil {
		x.accept()
		return
	}
	s.touch()
	if s.closing.Load() && m.begins() {
		x.close(m.ID)
		return
	}
	ctx, fail := attached(overTransport(r.Context(), "http"))
	defer fail(nil)
	w := newWire(s, nil, fail)
	w.ctx, w.slots = ctx, s.slots
	if !s.passing.add(w) {
		x.refuse(m.ID, &rpcError{mcp.INTERNAL_ERROR, "too many requests are open"})
		return
	}
	defer s.passing.drop(w.sess.id)
	response := w.serve(ctx, m, text, x.send)
	if response == nil {
		x.accept()
		return
	}
	code := http.StatusOK
	if e, ok := response.(mcp.JSONRPCError); ok {
		code = status(e.Error.Code)
	}
	x.respond(response, code)
}

// sound checks what the era of 2026-07-28 wants of a request over HTTP: headers
// that say the same as the body, and no part of the era of sessions.
func (s *Server) sound(r *http.Request, m message, id any) *rpcError {
	header, body := r.Header.Get(mcp.HeaderProtocolVersion), m.version()
	mismatch := func(said string) *rpcError { return &rpcError{Code: mcp.HEADER_MISMATCH, Message: said} }
	switch {
	case m.Method == "":
		return &rpcError{Code: mcp.INVALID_REQUEST, Message: "answers are brought by calling again in this era"}
	case header == "":
		return mismatch(mcp.HeaderProtocolVersion + " is missing")
	case id == nil:
		return nil // a notification needs no _meta
	case body == "":
		return &rpcError{Code: mcp.INVALID_PARAMS, Message: mcp.MetaKeyProtocolVersion + " is missing in _meta"}
	case header != body:
		return mismatch(mcp.HeaderProtocolVersion + " and " + mcp.MetaKeyProtocolVersion + " differ")
	case r.Header.Get(mcp.HeaderLastEventID) != "":
		return mismatch(mcp.HeaderLastEventID + " has no meaning in this era: send the request again")
	}
	if !mcp.IsValidProtocolVersion(body) {
		return nil // the library names those that are spoken
	}
	if err := mcp.ValidateStandardHeaders(r.Header.Get, body, mcp.MCPMethod(m.Method), m.Params); err != nil {
		return mismatch(err.Error())
	}
	var call struct {
		Name string `json:"name"`
	}
	if m.Method != string(mcp.MethodToolsCall) || json.Unmarshal(m.Params, &call) != nil {
		return nil
	}
	tool := s.mcp.GetTool(call.Name)
	if tool == nil {
		return nil // the library says so
	}
	first := func(name string) (string, bool) {
		values := r.Header.Values(name)
		if len(values) == 0 {
			return "", false
		}
		return values[0], true
	}
	if err := mcp.ValidateParamHeadersLookup(first, &tool.Tool, m.Params); err != nil {
		return mismatch(err.Error())
	}
	return nil
}

// touch notes a request of the era without sessions, and sees to it that what
// hangs on it ends when none comes any more.
func (s *Server) touch() {
	s.lately.Lock()
	defer s.lately.Unlock()
	if s.last.IsZero() {
		time.AfterFunc(idle, s.sweep)
	}
	s.last = time.Now()
}

func (s *Server) sweep() {
	s.lately.Lock()
	left := time.Until(s.last.Add(idle))
	if s.passing.count() > 0 {
		left = idle
	}
	if left > 0 {
		time.AfterFunc(left, s.sweep)
		s.lately.Unlock()
		return
	}
	s.last = time.Time{}
	s.lately.Unlock()
	s.endSession(stateless)
}
