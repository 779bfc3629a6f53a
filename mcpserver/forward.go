package mcpserver

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync/atomic"
)

// Forward sends the requests of one principal, of which is known who sends them,
// to the process that serves it (a Host there). Streams go through as they come,
// and a client that goes away is seen there at once. Make it with NewForward.
type Forward struct {
	proxy   *httputil.ReverseProxy
	running atomic.Int64
	used    users        // credentials
	telling users        // credentials of which is told
	closing *atomic.Bool // of the Host; may be nil
	log     *slog.Logger
}

// NewForward makes one that opens a connection for each request: dial also starts
// the process where it does not run. log may be nil.
func NewForward(dial func(context.Context) (net.Conn, error), log *slog.Logger) *Forward {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	f := &Forward{log: log}
	f.proxy = &httputil.ReverseProxy{
		FlushInterval: -1, // nothing waits
		ErrorLog:      slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		Transport: &http.Transport{
			DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
			DisableKeepAlives:  true, // one that was just closed would lose a request
			DisableCompression: true,
		},
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.URL.RawPath = "http", "principal", ""
			r.Out.Host = r.In.Host
			r.Out.Header = passed(r.Out.Header, "Content-Type", "Accept", "Origin", "Last-Event-Id", "User-Agent")
			if name := credentialOf(r.In.Context()); name != "" {
				r.Out.Header.Set(CredentialHeader, name)
			}
		},
		ModifyResponse: func(r *http.Response) error {
			if r.StatusCode < 200 { // it would have the connection to itself
				return fmt.Errorf("the process of the principal answers with %d", r.StatusCode)
			}
			r.Header, r.Trailer = passed(r.Header, "Content-Type", "Cache-Control", "X-Accel-Buffering", "Allow"), nil
			r.Header.Set("X-Content-Type-Options", "nosniff")
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if f.closing != nil && f.closing.Load() {
				http.Error(w, errClosing.Error(), http.StatusServiceUnavailable)
				return
			}
			if r.Context().Err() == nil {
				log.Error("a request could not be forwarded", "path", r.URL.Path, "err", err)
			}
			http.Error(w, "the process that serves you ended or could not be started, and what ran in it has ended too: open a new session", http.StatusBadGateway)
		},
	}
	return f
}

// answer is what the proxy writes to: an answer and nothing before or after it.
// There is no way from it to the connection.
type answer struct {
	w     http.ResponseWriter
	begun bool
}

// Header is the header of the answer; after that has begun, nothing of it counts.
func (a *answer) Header() http.Header {
	if a.begun {
		return http.Header{}
	}
	return a.w.Header()
}

func (a *answer) WriteHeader(status int) {
	if status >= 200 {
		a.begun = true
		a.w.WriteHeader(status)
	}
}

func (a *answer) Write(b []byte) (int, error) {
	a.begun = true
	return a.w.Write(b)
}

func (a *answer) FlushError() error { return http.NewResponseController(a.w).Flush() }

// passed are the headers that the other side is to see: those named, and MCP's
// own. Credentials, cookies and what proxies add stay behind, whatever they are
// called; an answer sets no cookie and opens no origin.
func passed(h http.Header, names ...string) http.Header {
	out := http.Header{}
	for _, name := range names {
		if v := h.Values(name); len(v) > 0 {
			out[name] = v
		}
	}
	for name, v := range h {
		if strings.HasPrefix(name, "Mcp-") {
			out[name] = v
		}
	}
	return out
}

// ServeHTTP forwards one request.
func (f *Forward) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.running.Add(1)
	defer f.running.Add(-1)
	f.used.add(credentialOf(r.Context()))
	heldBy(r.Context()).keep(func() bool { return true }) // the other process says what waits and what runs
	f.proxy.ServeHTTP(&answer{w: w}, r)
}

// Running is how many requests are under way, streams too.
func (f *Forward) Running() int { return int(f.running.Load()) }
