package mcpserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"handrail/mcpserver/auth"
)

// secure is a host over TLS and a client that speaks HTTP/2, or HTTP/1.1 only.
func secure(t *testing.T, http2 bool, change func(*Host, *Options)) *hosted {
	t.Helper()
	lender := httptest.NewTLSServer(http.NotFoundHandler()) // of a certificate
	lent := lender.TLS.Certificates[0]
	lender.Close()
	key, err := x509.MarshalPKCS8PrivateKey(lent.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	files := auth.Files{Certificate: write("cert.pem", "CERTIFICATE", lent.Certificate[0]), Key: write("key.pem", "PRIVATE KEY", key)}
	conf, err := files.Server(nil)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(lender.Certificate())
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: http2}
	t.Cleanup(tr.CloseIdleConnections)
	return hostOver(t, conf, &http.Client{Transport: tr}, change)
}

// Every transport works over TLS by both versions of HTTP; that a client goes
// away, by a reset stream too, ends its command.
func TestTLS(t *testing.T) {
	for version, http2 := range map[int]bool{1: false, 2: true} {
		t.Run(fmt.Sprintf("HTTP %d", version), func(t *testing.T) {
			h := secure(t, http2, nil)
			res, err := h.client.Get(h.url + "/healthz")
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.ProtoMajor != version || res.StatusCode != 200 {
				t.Fatalf("%s %s", res.Proto, res.Status)
			}
			session := h.open("alice")
			if status, _, text := h.send("POST", "/mcp", "alice", callOf(1, "echo over TLS"), "Mcp-Session-Id", session); status != 200 || !strings.Contains(text, "over TLS") {
				t.Errorf("%d %s", status, text)
			}
			id, answer := h.asked("alice", session, nil)
			h.send("POST", "/mcp", "alice", `{"jsonrpc":"2.0","id":"`+id+`","result":{"action":"accept","content":{"decision":"allow once"}}}`, "Mcp-Session-Id", session)
			if a := <-answer; a.Structured.Approval != "approved" || !exists(h.roots["alice"], "ask-it.txt") {
				t.Errorf("%+v", a)
			}
			if a := h.write("bob", nil); a.ResultType != "input_required" {
				t.Errorf("the era without sessions: %+v", a)
			}

			ctx, leave := context.WithCancel(context.Background())
			r, _ := http.NewRequestWithContext(ctx, "POST", h.url+"/mcp", strings.NewReader(callOf(2, "echo $$ > pid; sleep 1000")))
			for k, v := range map[string]string{"Authorization": "Bearer alice-token", "Content-Type": "application/json", "Mcp-Session-Id": session} {
				r.Header.Set(k, v)
			}
			go func() {
				if res, err := h.client.Do(r); err == nil {
					io.Copy(io.Discard, res.Body)
					res.Body.Close()
				}
			}()
			pid := pidIn(t, h.roots["alice"])
			leave()
			until(t, "the end of the command", func() bool { return !alive(pid) })

			p := h.pipe("bob")
			p.request("initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "sse", "version": "1"}})
			p.start("tools/call", map[string]any{"name": "safe_bash", "arguments": map[string]any{"command": "echo $$ > pid; sleep 1000"}})
			pid = pidIn(t, h.roots["bob"])
			p.in.Close()
			until(t, "the end of the command of /sse", func() bool { return !alive(pid) })
		})
	}
}

// The bounds of the gate hold over HTTP/2: how long a message may be, how long it
// may take to come. A stream that is silent for longer than a write may take stays.
func TestTLSBounds(t *testing.T) {
	h := secure(t, true, func(h *Host, _ *Options) {
		h.MaxBody = 1 << 20
		h.waits = waits{header: 10 * time.Second, body: 500 * time.Millisecond, write: 300 * time.Millisecond}
	})
	if status, _, text := h.send("POST", "/mcp", "alice", `{"x":"`+strings.Repeat("a", 2<<20)+`"}`); status != 413 {
		t.Errorf("a long message: %d %s", status, text)
	}
	slow, hold := io.Pipe()
	defer hold.Close()
	r, _ := http.NewRequest("POST", h.url+"/mcp", slow)
	r.Header.Set("Authorization", "Bearer alice-token")
	r.Header.Set("Content-Type", "application/json")
	res, err := h.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 400 {
		t.Errorf("a message that does not end: %s", res.Status)
	}
	session := h.open("alice")
	_, answer := h.asked("alice", session, nil) // the stream is open, and now silent
	if status, _, text := h.send("POST", "/mcp", "alice", callOf(3, "sleep 1.5; echo late"), "Mcp-Session-Id", session); !strings.Contains(text, "late") {
		t.Errorf("a call that takes long: %d %s", status, text)
	}
	select {
	case a := <-answer:
		t.Errorf("the silent stream ended: %+v", a)
	default:
	}
}
