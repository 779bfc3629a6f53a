package mcpserver

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"handrail/mcpserver/link"
)

// remote is the place of another process in a queue; end ends that process.
func remote(t *testing.T, q *Queue, principal string) (r *RemoteQueue, end func()) {
	t.Helper()
	a, b, err := link.Pair()
	if err != nil {
		t.Fatal(err)
	}
	front, err1 := link.New(a, os.Getuid())
	worker, err2 := link.New(b, os.Getuid())
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { front.Close(); worker.Close() })
	go q.Serve(front, principal)
	return &RemoteQueue{Dial: worker.Dial}, func() { worker.Close() }
}

func running(q *Queue) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running
}

// Calls of other processes have their places in one queue: as many as there are,
// no more, in turn; and what a process held is free when it is gone.
func TestRemoteQueue(t *testing.T) {
	q := &Queue{All: 2, Each: 2, Waiting: 1}
	a, _ := remote(t, q, "a")
	b, _ := remote(t, q, "b")
	for range 2 {
		if waited, err := a.Enter(t.Context(), ""); waited || err != nil {
			t.Fatal(waited, err)
		}
	}
	entered := make(chan error, 2)
	go func() {
		waited, err := b.Enter(t.Context(), "")
		if !waited {
			err = errors.New("it did not wait")
		}
		entered <- err
	}()
	until(t, "b waits", func() bool { return waiting(q) == 1 })
	if _, err := b.Enter(t.Context(), ""); !errors.Is(err, ErrFull) {
		t.Errorf("%v", err)
	}
	gone, leave := context.WithCancel(t.Context())
	withdrawn := make(chan error, 1)
	go func() { _, err := a.Enter(gone, ""); withdrawn <- err }()
	until(t, "a waits too", func() bool { return waiting(q) == 2 })
	leave()
	if err := <-withdrawn; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	until(t, "a waits no more", func() bool { return waiting(q) == 1 })
	a.Leave("")
	if err := <-entered; err != nil {
		t.Fatal(err)
	}
	if n := running(q); n != 2 {
		t.Errorf("%d run", n)
	}
	for _, c := range append(a.held, b.held...) { // as the kernel does where a process dies
		c.Close()
	}
	until(t, "what was held is free", func() bool { return running(q) == 0 })

	c, end := remote(t, q, "c")
	end()
	if _, err := c.Enter(t.Context(), ""); err == nil {
		t.Error("a place of no queue")
	}
}

// Credentials and cookies stop at the front, on both ways; what MCP needs goes
// through, and a process that is not there is told of in plain words.
func TestForward(t *testing.T) {
	var seen http.Header
	behind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r.Header
		w.Header().Set("Set-Cookie", "a=b")
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Mcp-Session-Id", "s")
		w.Header().Set("Content-Type", "text/event-stream")
	}))
	defer behind.Close()
	address := behind.Listener.Addr().String()
	f := NewForward(func(context.Context) (net.Conn, error) { return net.Dial("tcp", address) }, nil)
	front := httptest.NewServer(f)
	defer front.Close()
	r, err := http.NewRequest("GET", front.URL+"/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Authorization", "Cookie", "Proxy-Authorization", "X-Forwarded-For", "X-Forwarded-Access-Token", "Mcp-Protocol-Version", "Accept"} {
		r.Header.Set(name, "value")
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	for name := range seen {
		if name != "Mcp-Protocol-Version" && name != "Accept" && name != "Connection" && name != "User-Agent" {
			t.Errorf("the worker sees %s: %v", name, seen[name])
		}
	}
	if seen.Get("Mcp-Protocol-Version") != "value" || seen.Get("Accept") != "value" || res.Header.Get("Mcp-Session-Id") != "s" || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("%v, %v", seen, res.Header)
	}
	if len(res.Header.Values("Set-Cookie"))+len(res.Header.Values("Access-Control-Allow-Origin")) > 0 {
		t.Errorf("%v", res.Header)
	}
	behind.Close()
	if res, err := http.Get(front.URL + "/mcp"); err != nil || res.StatusCode != http.StatusBadGateway {
		t.Errorf("%v, %v", res, err)
	}
	if n := f.Running(); n != 0 {
		t.Errorf("%d requests are under way", n)
	}
}
