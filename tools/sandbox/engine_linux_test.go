package sandbox

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// TestEngineThatCloses: an engine closes connections that nobody used for a
// while, also at the moment when the next request is on its way. Go sends a POST
// or DELETE no second time, since it may have been heard.
func TestEngineThatCloses(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "engine.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				in := bufio.NewReader(c)
				r, err := http.ReadRequest(in)
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, r.Body)
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
				_, _ = in.ReadByte() // another one comes
			}()
		}
	}()
	e, err := openEngine(Podman, socket)
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{http.MethodPost, http.MethodDelete, http.MethodGet} {
		for _, size := range []int{0, 4 << 10, 1 << 20} {
			for range 3 {
				if err := e.call(t.Context(), method, "/containers/create", map[string]string{"Image": strings.Repeat("x", size)}, nil); err != nil {
					t.Errorf("%s of %d bytes: %v", method, size, err)
				}
			}
		}
	}
}

// containerIsGone: a warm container that was ended by somebody else is not what
// the next command fails by.
func containerIsGone(t *testing.T, socket string) {
	p := harbour(t, socket)
	b := p.sb.(*watched).Sandbox.(*containers)
	for name, end := range map[string]struct{ method, path string }{
		"killed":  {http.MethodPost, "/containers/%s/kill"},
		"removed": {http.MethodDelete, "/containers/%s?force=true&v=true"},
	} {
		if r := p.run(t, p.base(), `echo before`); r.out != "before\n" {
			t.Fatalf("%s: %+v", name, r)
		}
		b.mu.Lock()
		var ids []string
		for _, boxes := range b.idle {
			for _, box := range boxes {
				ids = append(ids, box.id)
			}
		}
		b.mu.Unlock()
		if len(ids) == 0 {
			t.Fatal("nothing is warm")
		}
		for _, id := range ids {
			if err := b.engine.call(t.Context(), end.method, fmt.Sprintf(end.path, id), nil, nil); err != nil {
				t.Fatal(err)
			}
		}
		if r := p.run(t, p.base(), `echo after`); r.out != "after\n" || r.Code != 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
