// Package egress is the proxy that is a contained command's only way out: it
// reaches the hosts of a list by name, at addresses that it has looked up and
// checked itself, and nothing else.
//
// It speaks HTTP with absolute targets and CONNECT, which is what curl, git,
// npm, pip, cargo and Go use. SOCKS it does not speak: nothing that a build
// needs depends on it, and one parser less is one way around less. A tunnel
// carries TLS for the host it was asked for; what that host's servers do with
// the connection, and what is sent to it, the proxy does not see.
package egress

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"handrail/guard/host"
)

// Bounds of one proxy. They are generous to builds and small to the server.
const (
	maxConns    = 256              // clients at once; more are closed at once
	maxHeader   = 64 << 10         // bytes of a request's head
	maxReply    = 256 << 10        // bytes of a response's head
	waitHeader  = 15 * time.Second // for a request's head, and a TLS client's first message
	waitResolve = 10 * time.Second
	waitDial    = 10 * time.Second
	waitIdle    = 10 * time.Minute // without a byte in either direction
)

// Proxy says what commands may reach. The zero value refuses everything. It
// must not change while it serves.
type Proxy struct {
	// Hosts are what may be reached.
	Hosts host.List
	// Open are ranges of addresses that would be refused (private, loopback,
	// this machine's own) and which the user's own configuration opens, as for a
	// registry inside a company.
	Open []netip.Prefix
	// Upstream is the proxy of the user's network, by which everything goes if
	// it is set: http or https, with user and password where it wants them. It
	// resolves the names, so that only names and ports are checked here.
	Upstream *url.URL
	// Resolver looks names up; nil is the system's.
	Resolver *net.Resolver
	// Token, where it is not empty, is what a client must show as the password
	// of Proxy-Authorization: for listeners that others can reach.
	Token string
	// Log is told of each decision, from several goroutines; it may be nil.
	Log func(Decision)
}

// Decision is what the proxy did with one request.
type Decision struct {
	// Host is a name in its one spelling; what was asked for, quoted, where that
	// is no name.
	Host string
	Port uint16 // 0 where none could be read
	// Addr is what was dialled; the zero value where nothing was.
	Addr    netip.AddrPort
	Allowed bool
	// Reason says in one line why it was refused, or why an allowed host could
	// not be reached.
	Reason string
	// Entry is what would have to stand in the list of hosts, or empty where
	// that would not help.
	Entry string
}

// Advice says in one line what was refused and how to allow it.
func (d Decision) Advice() string {
	switch {
	case d.Allowed && d.Reason == "":
		return fmt.Sprintf("handrail: connected to %s", d.target())
	case d.Allowed:
		return fmt.Sprintf("handrail: no connection to %s: %s", d.target(), d.Reason)
	case d.Entry == "":
		return fmt.Sprintf("handrail: refused to connect to %s: %s; a person can allow it when the call is repeated with `escalate`", d.target(), d.Reason)
	}
	return fmt.Sprintf("handrail: refused to connect to %s: %s; to allow it, name it in the command itself (`hosts: [%q]` in the user's config.yaml spares the question), or repeat the call with `escalate`", d.target(), d.Reason, d.Entry)
}

func (d Decision) target() string {
	if d.Port == 0 || d.Port == 80 || d.Port == 443 {
		return d.Host
	}
	return fmt.Sprintf("%s:%d", d.Host, d.Port)
}

// refusal is an error that is the policy's, not the network's.
type refusal struct{ reason, entry string }

func (r *refusal) Error() string { return r.reason }

// Serve answers what comes to l until l is closed, and returns when the last
// connection has ended. Its error is nil where l was closed.
func (p *Proxy) Serve(l net.Listener) error {
	if u := p.Upstream; u != nil && (u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		l.Close()
		return fmt.Errorf("upstream proxy %s: want http://HOST:PORT or https://HOST:PORT", u.Redacted())
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &server{Proxy: p}
	s.plain = s.forwarder()
	srv := &http.Server{
		Handler: s, BaseContext: func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: waitHeader, IdleTimeout: waitIdle, MaxHeaderBytes: maxHeader,
		ErrorLog: log.New(io.Discard, "", 0), DisableGeneralOptionsHandler: true,
	}
	err := srv.Serve(&limited{Listener: l, free: make(chan struct{}, maxConns)})
	cancel()
	srv.Close()
	s.end()
	s.plain.Transport.(*http.Transport).CloseIdleConnections()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// authorized reports whether r shows the token, as the password of Basic or as
// a bearer token.
func (p *Proxy) authorized(r *http.Request) bool {
	if p.Token == "" {
		return true
	}
	shown := r.Header.Values("Proxy-Authorization")
	if len(shown) != 1 {
		return false
	}
	kind, value, _ := strings.Cut(shown[0], " ")
	if strings.EqualFold(kind, "basic") {
		b, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			return false
		}
		_, value, _ = strings.Cut(string(b), ":")
	} else if !strings.EqualFold(kind, "bearer") {
		return false
	}
	a, b := sha256.Sum256([]byte(value)), sha256.Sum256([]byte(p.Token))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// check reads the target of a request and looks it up in the list.
func (p *Proxy) check(authority string, fallback uint16) (Decision, error) {
	name, port, err := host.Target(authority, fallback)
	if err != nil {
		return Decision{Host: fmt.Sprintf("%.100q", authority)}, &refusal{reason: err.Error()}
	}
	d := Decision{Host: name, Port: port}
	if !p.Hosts.Allows(name, port) {
		r := &refusal{"it is not among the hosts that commands may reach", name}
		if port != 80 && port != 443 {
			r.entry = fmt.Sprintf("%s:%d", name, port)
		}
		return d, r
	}
	return d, nil
}

// settle completes d by the error that came of it, and logs it.
func (p *Proxy) settle(d Decision, err error) Decision {
	var r *refusal
	switch d.Allowed = true; {
	case errors.As(err, &r):
		d.Allowed, d.Reason, d.Entry = false, r.reason, r.entry
	case err != nil:
		d.Reason = fmt.Sprintf("%.200q", err.Error())
	}
	if p.Log != nil {
		p.Log(d)
	}
	return d
}

// server is a Proxy that serves.
type server struct {
	*Proxy
	plain *reverse

	mu    sync.Mutex // guards ended, and that busy only grows before it
	ended bool
	busy  sync.WaitGroup
}

// begin reports whether a request may still begin, and counts it.
func (s *server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.busy.Add(1)
	}
	return !s.ended
}

// end lets no more requests begin and waits for those under way.
func (s *server) end() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.busy.Wait()
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.begin() {
		return
	}
	defer s.busy.Done()
	switch {
	case !s.authorized(r):
		w.Header().Set("Proxy-Authenticate", `Basic realm="handrail"`)
		http.Error(w, "handrail: this proxy serves the commands of one call only", http.StatusProxyAuthRequired)
	case r.Method == http.MethodConnect:
		s.tunnel(w, r)
	default:
		s.forward(w, r)
	}
}

// answer tells the client what came of d.
func answer(w http.ResponseWriter, d Decision) {
	code := http.StatusForbidden
	if d.Allowed {
		code = http.StatusBadGateway
	}
	w.Header().Set("Connection", "close")
	http.Error(w, d.Advice(), code)
}
