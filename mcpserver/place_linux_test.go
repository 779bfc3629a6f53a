package mcpserver

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

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

// The process of a principal says what its answer is, and has no more of the
// client's connection: no protocol of its own, nothing before the answer, nothing
// after it.
func TestForwardIsAnAnswer(t *testing.T) {
	for what, raw := range map[string]string{
		"another protocol": "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: own\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
		"hints before":     "HTTP/1.1 103 Early Hints\r\nSet-Cookie: a=b\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
		"words after":      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: Set-Cookie\r\n\r\n2\r\nok\r\n0\r\nSet-Cookie: a=b\r\n\r\n",
	} {
		f := NewForward(func(context.Context) (net.Conn, error) {
			c, worker := net.Pipe()
			go func() {
				defer worker.Close()
				if _, err := http.ReadRequest(bufio.NewReader(worker)); err == nil {
					_, _ = io.WriteString(worker, raw)
				}
			}()
			return c, nil
		}, nil)
		front := httptest.NewServer(f)
		c, err := net.Dial("tcp", front.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, "GET /mcp HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: own\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		want := http.StatusOK
		if what == "another protocol" {
			want = http.StatusBadGateway
		}
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || res.StatusCode != want || res.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v, %v", what, res, err)
			continue
		}
		said, err := io.ReadAll(res.Body)
		if err != nil || want == http.StatusOK && string(said) != "ok" || len(res.Header["Set-Cookie"])+len(res.Trailer) > 0 {
			t.Errorf("%s: %q, %v, %v, %v", what, said, err, res.Header, res.Trailer)
		}
		c.Close()
		front.Close()
	}
}

// A process that opens what it has no calls for is told so, and takes no
// descriptors.
func TestQueueOfAGreedyProcess(t *testing.T) {
	q := &Queue{All: 2, Each: 1, Waiting: 2}
	r, _ := remote(t, q, "a")
	var open []net.Conn
	defer func() {
		for _, c := range open {
			c.Close()
		}
	}()
	for range 50 {
		c, err := r.Dial()
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}
	for _, c := range open[5:] {
		if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		said := make([]byte, 2)
		if n, err := c.Read(said); err != nil || n != 1 || said[0] != placeFull {
			t.Fatalf("%q, %v", said[:n], err)
		}
		if _, err := c.Read(said); !errors.Is(err, io.EOF) {
			t.Fatalf("it is open still: %v", err)
		}
	}
}
