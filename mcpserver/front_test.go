package mcpserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"handrail/mcpserver/auth"
)

// fronted is a worker, and a front before it that knows alice by the credential c.
type fronted struct {
	worker, front *hosted
	down          atomic.Bool                 // nothing gets to the worker
	dials         atomic.Int64                // that did not get there
	gone          atomic.Bool                 // c was taken back
	ends          atomic.Pointer[auth.Caller] // what is known of c; nil: it never ends
}

func front(t *testing.T) *fronted {
	t.Helper()
	f := &fronted{worker: host(t, func(h *Host, _ *Options) {
		h.Front = true
		h.Authenticate = func(r *http.Request) (auth.Caller, error) {
			return auth.Caller{Principal: "alice", Credential: r.Header.Get(CredentialHeader)}, nil
		}
	})}
	f.front = host(t, func(h *Host, _ *Options) {
		h.Authenticate = func(*http.Request) (auth.Caller, error) {
			if c := f.ends.Load(); c != nil {
				return *c, nil
			}
			return auth.Caller{Principal: "alice", Credential: "c"}, nil
		}
		h.Withdrawn = func(context.Context, []auth.Caller) ([]string, error) {
			if f.gone.Load() {
				return []string{"c"}, nil
			}
			return nil, nil
		}
	})
	address := strings.TrimPrefix(f.worker.url, "http://")
	forward := NewForward(func(ctx context.Context) (net.Conn, error) {
		if f.down.Load() {
			f.dials.Add(1)
			return nil, errors.New("the worker is not there")
		}
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}, f.front.Log)
	f.front.Host.Open = func(string) (*Tenant, error) { return &Tenant{Forward: forward}, nil }
	return f
}

// What the front says of credentials no client can say, whatever it writes.
func TestFrontForwardsItsPathsOnly(t *testing.T) {
	f := front(t)
	f.front.open("alice")
	for _, path := range []string{"/credentials", "//credentials", "/./credentials", "/%63redentials", "/%2fcredentials", "/mcp/../credentials", "/mcp/..%2fcredentials",
		"/mcp%2f..%2fcredentials", "/credentials/", "/credentials%3f", "/mcp/credentials", "/healthz/../credentials", "/", "/debug/pprof/"} {
		for _, method := range []string{"GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD"} {
			status := f.raw(t, method, path+"?withdrawn=c&lapsed=c")
			if status < 300 || status > 499 {
				t.Errorf("%s %s: %d", method, path, status)
			}
		}
	}
	time.Sleep(100 * time.Millisecond) // what was withdrawn would be ended meanwhile
	if n := f.worker.Sessions(); n != 1 {
		t.Errorf("%d sessions", n)
	}
	if status, _, text := f.worker.send("GET", entrusted+"?withdrawn=c", "", ""); status != http.StatusMethodNotAllowed || f.worker.Sessions() != 1 {
		t.Errorf("%d %s", status, text)
	}
	if status, _, text := f.worker.send("POST", entrusted+"?withdrawn=c", "", ""); status != 200 {
		t.Errorf("%d %s", status, text)
	}
	until(t, "what the front says counts", func() bool { return f.worker.Sessions() == 0 })
}

// raw sends a request whose path nobody has put in order.
func (f *fronted) raw(t *testing.T, method, target string) int {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(f.front.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", method, target)
	res, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%s %s: %v", method, target, err)
	}
	res.Body.Close()
	return res.StatusCode
}

// That a credential holds no more is told until the worker has heard it.
func TestFrontTellsUntilHeard(t *testing.T) {
	f := front(t)
	f.front.open("alice")
	f.down.Store(true)
	f.gone.Store(true)
	until(t, "it was told in vain, twice", func() bool { return f.dials.Load() >= 2 })
	if n := f.worker.Sessions(); n != 1 {
		t.Fatalf("%d sessions", n)
	}
	f.down.Store(false)
	until(t, "the worker has heard it", func() bool { return f.worker.Sessions() == 0 })
}

// A credential that is renewed is told of once when it has come to its time, and
// what waits at the worker by it ends.
func TestFrontTellsOfALapseOnce(t *testing.T) {
	f := front(t)
	f.ends.Store(&auth.Caller{Principal: "alice", Credential: "c", Renewed: true, Ends: time.Now().Add(1500 * time.Millisecond)})
	session := f.front.open("alice")
	stream := f.front.listening("/mcp", "Bearer alice-token", session)
	until(t, "the stream has ended", func() bool { return over(stream) })
	if n := f.worker.Sessions(); n != 1 {
		t.Errorf("%d sessions", n)
	}
	f.down.Store(true)
	time.Sleep(2500 * time.Millisecond) // two looks
	if n := f.dials.Load(); n != 0 {
		t.Errorf("told %d times more", n)
	}
}

// A closing server says so.
func TestFrontIsClosing(t *testing.T) {
	f := front(t)
	f.front.open("alice")
	f.down.Store(true)
	if status, _, text := f.front.send("POST", "/mcp", "alice", hello); status != http.StatusBadGateway {
		t.Errorf("%d %s", status, text)
	}
	f.front.Host.closing.Store(true)
	if status, _, text := f.front.send("POST", "/mcp", "alice", hello); status != http.StatusServiceUnavailable || !strings.Contains(text, "closing") {
		t.Errorf("%d %s", status, text)
	}
	f.front.Host.closing.Store(false)
}
