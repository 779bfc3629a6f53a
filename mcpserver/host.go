package mcpserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"handrail/mcpserver/auth"
)

// Tenant is one principal's server with what hangs on it: one of this process, or
// where Server is nil the way to that of another.
type Tenant struct {
	Server  *Server
	Forward *Forward
	Close   func() error // may be nil
}

func (t *Tenant) handler() http.Handler {
	if f := t.Forward; t.Server == nil {
		return routes(f.ServeHTTP, f.ServeHTTP, f.ServeHTTP)
	}
	return t.Server.Handler()
}

// running is how many calls run, or for another process how many requests.
func (t *Tenant) running() int {
	if t.Server == nil {
		return t.Forward.Running()
	}
	return int(t.Server.running.Load())
}

func (t *Tenant) sessions() int {
	if t.Server == nil {
		return 0
	}
	return t.Server.Sessions()
}

// Host serves principals over HTTP: streamable HTTP at /mcp, HTTP+SSE at /sse
// and /message. Every principal has a Server of its own, so that no name of a
// session, job or question of one means anything to another. The zero value
// serves nobody.
type Host struct {
	// Authenticate says who sends a request. An error is answered with 401.
	Authenticate auth.Method
	// Withdrawn names those of the credentials that hold no more although their time
	// has not come: what runs on their behalf is ended. It is asked once a second
	// while there is any such thing. Nil stands for a server that takes none back.
	Withdrawn func(context.Context, []auth.Caller) (credentials []string, err error)
	// Open makes the server of a principal, at its first request. An error is
	// answered with 403: who is known need not be served.
	Open func(principal string) (*Tenant, error)
	// Front says that the front of the server sends all requests, and nobody else can:
	// by which credential, in CredentialHeader, and when one holds no more.
	Front bool
	// Origins are browser origins (scheme://host[:port]) that may send requests,
	// beside the server's own on loopback.
	Origins []string
	// Names are the host names (without port) by which the server is reached,
	// beside loopback. Any other Host header is refused: a page can point a name of
	// its own at this machine (DNS rebinding).
	Names []string
	// Metadata, where not nil, answers /.well-known/oauth-protected-resource, and
	// MetadataURL is what a refusal points to (RFC 9728).
	Metadata    http.Handler
	MetadataURL string
	// Ready says by an error why no calls can be served now; nil means that they
	// can.
	Ready func(context.Context) error
	// MaxBody bounds a request in bytes; zero means 16 MiB.
	MaxBody int64
	// Farewell is how long running calls have to end when the host closes; zero
	// means 30 s. Hurry, where not nil, ends that time when it is closed.
	Farewell time.Duration
	Hurry    <-chan struct{}
	Log      *slog.Logger

	closing  atomic.Bool
	waits    waits
	standing standing

	mu      sync.Mutex
	tenants map[string]*tenant
}

// waits are for how long the host waits for a client: for a request's header, for
// all of its body, and for a write, so that who reads no faster is dropped.
type waits struct{ header, body, write time.Duration }

// http2 bounds a connection of HTTP/2, which carries many requests. Streams that
// a client opens and resets count until their handlers have ended. A peer that is
// gone without a word is asked for a sign of life: its commands are to end.
func (w waits) http2() *http.HTTP2Config {
	return &http.HTTP2Config{MaxConcurrentStreams: 128, SendPingTimeout: w.write, PingTimeout: w.write / 2, WriteByteTimeout: w.write}
}

func (h *Host) wait() waits {
	if h.waits == (waits{}) {
		return waits{header: 10 * time.Second, body: 30 * time.Second, write: 30 * time.Second}
	}
	return h.waits
}

// tenant is opened once; a failure is not kept.
type tenant struct {
	mu sync.Mutex
	*Tenant
	mux http.Handler
}

func (h *Host) log() *slog.Logger {
	if h.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return h.Log
}

// Serve serves until ctx ends: then it takes no more calls, lets those that run
// end for as long as Farewell, and ends the rest. With a TLS configuration the
// listener speaks TLS.
func (h *Host) Serve(ctx context.Context, l net.Listener, t *tls.Config) error {
	base, drop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer drop(nil)
	srv := &http.Server{Handler: h, TLSConfig: t,
		ReadHeaderTimeout: h.wait().header, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return base },
		ErrorLog:    slog.NewLogLogger(h.log().Handler(), slog.LevelDebug),
		HTTP2:       h.wait().http2(),
	}
	if t != nil {
		l = tls.NewListener(l, t)
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		h.Close()
		return err
	case <-ctx.Done():
	}
	h.closing.Store(true)
	h.log().Info("closing: running calls may end", "within", h.farewell())
	h.drain()
	drop(errClosing) // what still runs is ended with its request
	h.Close()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	if err := srv.Shutdown(last); err != nil {
		return errors.Join(err, srv.Close())
	}
	return nil
}

func (h *Host) farewell() time.Duration {
	if h.Farewell <= 0 {
		return 30 * time.Second
	}
	return h.Farewell
}

// drain waits for the calls that run, as long as Farewell.
func (h *Host) drain() {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(h.farewell()); h.count((*Tenant).running) > 0; {
		select {
		case <-h.Hurry:
			h.log().Warn("calls are ended at once")
			return
		case <-tick.C:
		}
		if time.Now().After(end) {
			h.log().Warn("calls did not end in time and are ended")
			return
		}
	}
}

// Close ends every session with what runs in it, and closes the tenants.
func (h *Host) Close() error {
	h.mu.Lock()
	open := h.tenants
	h.tenants = nil
	h.mu.Unlock()
	var errs []error
	for _, t := range open {
		t.mu.Lock()
		if t.Tenant != nil {
			if t.Server != nil {
				t.Server.CloseSessions()
			}
			if t.Close != nil {
				errs = append(errs, t.Close())
			}
		}
		t.mu.Unlock()
	}
	return errors.Join(errs...)
}

// of returns the server of a principal. While the host closes only those that are
// open go on; they take nothing new.
func (h *Host) of(principal string) (http.Handler, error) {
	h.mu.Lock()
	if h.closing.Load() && h.tenants[principal] == nil {
		h.mu.Unlock()
		return nil, errClosing
	}
	if h.tenants == nil {
		h.tenants = map[string]*tenant{}
	}
	t := h.tenants[principal]
	if t == nil {
		t = &tenant{}
		h.tenants[principal] = t
	}
	h.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.Tenant == nil {
		opened, err := h.Open(principal)
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", principal, err)
		}
		if opened.Server != nil {
			opened.Server.closing = &h.closing
		} else {
			opened.Forward.closing = &h.closing
		}
		t.Tenant, t.mux = opened, opened.handler()
	}
	return t.mux, nil
}

// Sessions is how many sessions are open, of all principals that this process
// serves.
func (h *Host) Sessions() int { return h.count((*Tenant).sessions) }

// count adds up what f says of each principal's server.
func (h *Host) count(f func(*Tenant) int) (n int) {
	for _, t := range h.servers() {
		n += f(t)
	}
	return n
}

// servers are those of the principals that came.
func (h *Host) servers() (list []*Tenant) {
	h.mu.Lock()
	open := slices.Collect(maps.Values(h.tenants))
	h.mu.Unlock()
	for _, t := range open {
		t.mu.Lock()
		if t.Tenant != nil {
			list = append(list, t.Tenant)
		}
		t.mu.Unlock()
	}
	return list
}

// Handler serves the principal of s: /mcp, /sse and /message. Who may reach it
// is for the caller to see to (see Host).
func (s *Server) Handler() http.Handler {
	return routes(s.visit, s.stream, s.post)
}

// routes are all the paths of a principal: nothing else gets to a Server, or to the
// process that has it.
func routes(mcp, sse, message http.HandlerFunc) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", mcp)
	mux.HandleFunc("GET /sse", sse)
	mux.HandleFunc("POST /message", message)
	return mux
}

// Sessions is how many sessions are open over HTTP.
func (s *Server) Sessions() int { return s.streams.count() + s.visits.count() }

// CloseSessions ends every session of HTTP with what runs in it.
func (s *Server) CloseSessions() {
	s.streams.close()
	s.passing.close()
	s.visits.close()
	s.endSession(stateless)
}
