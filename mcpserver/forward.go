package mcpserver

import (
	"context"
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
	used    users // credentials
	log     *slog.Logger
}

// NewForward makes one that opens a connection for each request: dial also starts
// the process where it does not run. log may be nil.
func NewForward(dial func(context.Context) (net.Conn, error), log *slog.Logger) *Forward {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Forward{log: log, proxy: &httputil.ReverseProxy{
		FlushInterval: -1, // nothing waits
		ErrorLog:      slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		Transport: &http.Transport{
			DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
			DisableKeepAlives:  true, // one that was just closed would lose a request
			DisableCompression: true,
		},
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", "principal"
			r.Out.Host = r.In.Host
			r.Out.Header = passed(r.Out.Header, "Content-Type", "Accept", "Origin", "Last-Event-Id", "User-Agent")
			if name := credentialOf(r.In.Context()); name != "" {
				r.Out.Header.Set(CredentialHeader, name)
			}
		},
		ModifyResponse: func(r *http.Response) error {
			r.Header = passed(r.Header, "Content-Type", "Cache-Control", "X-Accel-Buffering", "Allow")
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil {
				log.Error("a request could not be forwarded", "path", r.URL.Path, "err", err)
			}
			http.Error(w, "the process that serves you ended or could not be started, and what ran in it has ended too: open a new session", http.StatusBadGateway)
		},
	}}
}

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
	f.proxy.ServeHTTP(w, r)
}

// Running is how many requests are under way, streams too.
func (f *Forward) Running() int { return int(f.running.Load()) }
