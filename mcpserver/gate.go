package mcpserver

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"handrail/mcpserver/auth"
)

const maxBody = 16 << 20

// ServeHTTP looks at every request before anything else does: where it comes
// from, who sends it, what it is. (MCP 2026-07-28, streamable HTTP: Origin must
// be validated; CVE-2025-66416 and its kin are servers that did not.)
func (h *Host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler {
				panic(p)
			}
			h.log().Error("a request failed", "panic", p, "path", r.URL.Path)
			http.Error(w, "the server failed while it handled this request", http.StatusInternalServerError)
		}
	}()
	if h.Front && r.URL.Path == entrusted {
		h.hear(w, r)
		return
	}
	w.Header().Set("X-Content-Type-Options", "nosniff")
	// Also of a request that is refused, the server reads the rest of the body.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(h.wait().body))
	switch {
	case !h.named(r.Host):
		http.Error(w, "this server is not known by that name", http.StatusMisdirectedRequest)
		return
	case !h.allowed(r):
		http.Error(w, "this origin is not allowed", http.StatusForbidden)
		return
	}
	switch {
	case r.URL.Path == "/healthz":
		io.WriteString(w, "ok\n")
	case r.URL.Path == "/readyz":
		h.ready(w, r)
	case h.Metadata != nil && strings.HasPrefix(r.URL.Path, "/.well-known/oauth-protected-resource"):
		h.Metadata.ServeHTTP(w, r)
	default:
		h.enter(w, r)
	}
}

func (h *Host) ready(w http.ResponseWriter, r *http.Request) {
	err := errClosing
	if !h.closing.Load() {
		err = nil
		if h.Ready != nil {
			err = h.Ready(r.Context())
		}
	}
	if err != nil {
		h.log().Warn("not ready", "err", err)
		http.Error(w, "not ready", http.StatusServiceUnavailable)
		return
	}
	io.WriteString(w, "ready\n")
}

// named reports whether the Host header is one of the server's names.
func (h *Host) named(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	return isLoopback(host) || slices.Contains(h.Names, host)
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// allowed reports whether the request comes from no page, or from one that may.
func (h *Host) allowed(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	if len(origins) > 1 {
		return false
	}
	if slices.Contains(h.Origins, origins[0]) {
		return true
	}
	u, err := url.Parse(origins[0])
	return err == nil && u.Host == r.Host && isLoopback(u.Hostname()) && (u.Scheme == "http" || u.Scheme == "https")
}

// enter lets a request through to its principal's server.
func (h *Host) enter(w http.ResponseWriter, r *http.Request) {
	if h.Authenticate == nil || h.Open == nil {
		http.Error(w, "this server serves nobody", http.StatusForbidden)
		return
	}
	came := time.Now()
	caller, err := h.Authenticate(r)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	r.Header.Del("Authorization") // nothing behind this needs it
	server, err := h.of(caller.Principal)
	switch {
	case errors.Is(err, errClosing):
		http.Error(w, "the server is closing", http.StatusServiceUnavailable)
		return
	case err != nil:
		h.log().Error("a principal cannot be served", "principal", caller.Principal, "err", err)
		http.Error(w, "this principal is not served", http.StatusForbidden)
		return
	}
	if !h.body(w, r) {
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // streams may be silent for long
	r, release := h.hold(r, caller, came)
	defer release()
	p := &patient{ResponseWriter: w, control: http.NewResponseController(w), wait: h.wait().write, hold: heldBy(r.Context())}
	server.ServeHTTP(p, r)
	if p.withdrawn() && !p.begun.Load() {
		h.refuse(w, r, &auth.Refusal{Code: auth.InvalidToken, Err: errWithdrawn})
	}
}

// refuse answers a request of which is not known who sends it. Why is for the
// log: who guesses is told nothing.
func (h *Host) refuse(w http.ResponseWriter, r *http.Request, err error) {
	h.log().Info("a request was refused", "from", r.RemoteAddr, "err", err)
	status, challenge := http.StatusUnauthorized, "Bearer"
	var fields []string
	var refusal *auth.Refusal
	if errors.As(err, &refusal) && refusal.Code != "" {
		fields = append(fields, `error="`+refusal.Code+`"`)
		if refusal.Scope != "" {
			fields = append(fields, `scope="`+refusal.Scope+`"`)
		}
		if refusal.Code == auth.InsufficientScope {
			status = http.StatusForbidden
		}
	}
	if h.MetadataURL != "" {
		fields = append(fields, `resource_metadata="`+h.MetadataURL+`"`)
	}
	if len(fields) > 0 {
		challenge += " " + strings.Join(fields, ", ")
	}
	w.Header().Set("WWW-Authenticate", challenge)
	http.Error(w, "who sends this request is not known", status)
}

// body reads the message of a POST and reports whether it may go on. Only JSON
// is taken: anything else a page could send without being asked (CORS). Other
// requests have none: while one is not read to its end, nobody sees that the
// client has gone.
func (h *Host) body(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodPost {
		if r.ContentLength != 0 {
			http.Error(w, "this method takes no body", http.StatusBadRequest)
		}
		return r.ContentLength == 0
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		http.Error(w, "want application/json", http.StatusUnsupportedMediaType)
		return false
	}
	most := h.MaxBody
	if most <= 0 {
		most = maxBody
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		http.Error(w, "the message is too long", http.StatusRequestEntityTooLarge)
		return false
	case err != nil:
		http.Error(w, "the message could not be read", http.StatusBadRequest)
		return false
	}
	r.Body = io.NopCloser(bytes.NewReader(text))
	return true
}

// patient gives every write its time: a client that does not read is dropped,
// one that waits for long is not. One whose credential holds no more gets nothing.
type patient struct {
	http.ResponseWriter
	control *http.ResponseController
	wait    time.Duration
	hold    *hold
	begun   atomic.Bool
}

func (p *patient) withdrawn() bool { return p.hold != nil && p.hold.ended.Load() }

func (p *patient) WriteHeader(status int) {
	if !p.withdrawn() {
		p.begun.Store(true)
		p.ResponseWriter.WriteHeader(status)
	}
}

func (p *patient) Write(b []byte) (int, error) {
	if p.withdrawn() {
		return 0, errWithdrawn
	}
	p.begun.Store(true)
	_ = p.control.SetWriteDeadline(time.Now().Add(p.wait))
	return p.ResponseWriter.Write(b)
}

// FlushError sends what was written. What follows may be long in coming: over
// HTTP/2 a deadline that passes meanwhile would end the stream.
func (p *patient) FlushError() error {
	if p.withdrawn() {
		return errWithdrawn
	}
	_ = p.control.SetWriteDeadline(time.Now().Add(p.wait))
	err := p.control.Flush()
	_ = p.control.SetWriteDeadline(time.Time{})
	return err
}

func (p *patient) Flush()                      { _ = p.FlushError() }
func (p *patient) Unwrap() http.ResponseWriter { return p.ResponseWriter }
