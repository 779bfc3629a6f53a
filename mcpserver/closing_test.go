package mcpserver

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// closing begins the end of a host and returns where Serve's error will be.
func (h *hosted) closing(t *testing.T) <-chan error {
	t.Helper()
	stopped := make(chan error, 1)
	go func() { stopped <- h.stop() }()
	until(t, "the closing", func() bool {
		status, _, _ := h.send("GET", "/readyz", "", "")
		return status == 503
	})
	return stopped
}

// While a host closes, sessions that are open can bring to an end what runs in
// them; nothing new begins.
func TestClosingSessions(t *testing.T) {
	h := host(t, func(h *Host, _ *Options) { h.Farewell = time.Hour })
	session, other := h.open("alice"), h.open("alice")
	in := []string{"Mcp-Session-Id", session}
	_, _, text := h.send("POST", "/mcp", "alice", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"safe_bash","arguments":{"command":"echo $$ > pid; echo said; sleep 1000","background":true}}}`, in...)
	var job struct {
		Result struct {
			Structured struct {
				OutputID string `json:"output_id"`
			} `json:"structuredContent"`
		}
	}
	if _, data, ok := strings.Cut(text, "data: "); ok {
		text = data
	}
	if err := json.Unmarshal([]byte(text), &job); err != nil || job.Result.Structured.OutputID == "" {
		t.Fatalf("%s: %v", text, err)
	}
	p := h.pipe("bob")
	p.request("initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "sse", "version": "1"}})
	_, endless := p.start("tools/call", params("safe_bash", map[string]any{"command": "touch begun; while [ ! -e go ]; do sleep 0.02; done; echo finished"}, nil))
	until(t, "the call of bob", func() bool { return exists(h.roots["bob"], "begun") })
	cut := make(chan string, 1)
	go func() {
		_, _, text := h.send("POST", "/mcp", "alice", callOf(8, "touch cut; sleep 1000"), in...)
		cut <- text
	}()
	until(t, "the call to cancel", func() bool { return exists(h.roots["alice"], "cut") })
	id, answer := h.asked("alice", session, nil)
	stopped := h.closing(t)

	read := fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"safe_bash","arguments":{"output_id":%q,"stream":"stdout"}}}`, job.Result.Structured.OutputID)
	for _, c := range []struct {
		what, method, who, body, session string
		want                             int
		says                             string
	}{
		{"a new call", "POST", "alice", callOf(3, "true"), session, 503, "the server is closing"},
		{"a new session", "POST", "alice", hello, "", 503, "the server is closing"},
		{"a new session of another", "POST", "bob", hello, "", 503, "the server is closing"},
		{"another session's output", "POST", "alice", read, other, 200, "isError"},
		{"the output of the job", "POST", "alice", read, session, 200, "said"},
		{"the answer", "POST", "alice", fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"result":{"action":"accept","content":{"decision":"allow once"}}}`, id), session, 202, ""},
		{"a cancellation", "POST", "alice", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":8}}`, session, 202, ""},
		{"the end of a session", "DELETE", "alice", "", other, 200, ""},
	} {
		if status, _, text := h.send(c.method, "/mcp", c.who, c.body, "Mcp-Session-Id", c.session); status != c.want || !strings.Contains(text, c.says) {
			t.Errorf("%s: %d %s, want %d %s", c.what, status, text, c.want, c.says)
		}
	}
	if status, _, _ := h.send("GET", "/sse", "bob", ""); status != 503 {
		t.Errorf("a new stream: %d", status)
	}
	if status, _ := h.modern("bob", 1, "tools/call", "safe_bash", params("safe_bash", map[string]any{"command": "true"}, nil)); status != 503 {
		t.Errorf("a call of the newer era: %d", status)
	}
	if m := p.request("tools/call", params("safe_bash", map[string]any{"command": "true"}, nil)); m.Error == nil || !strings.Contains(m.Error.Message, "closing") {
		t.Errorf("a new call over /sse: %s %v", m.Result, m.Error)
	}
	if a := <-answer; a.Structured.Approval != "approved" || !exists(h.roots["alice"], "ask-it.txt") {
		t.Errorf("the answered call: %+v", a)
	}
	<-cut
	if err := os.WriteFile(filepath.Join(h.roots["bob"], "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if m := <-endless; !strings.Contains(string(m.Result), "finished") {
		t.Errorf("%s %v", m.Result, m.Error)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// Whoever ends a call, the client where there still is one, and the audit, are
// told who it was.
func TestWhyItEnded(t *testing.T) {
	hurry := make(chan struct{})
	h := host(t, func(h *Host, _ *Options) { h.Farewell, h.Hurry = time.Hour, hurry })
	begin := func(session, mark string) chan string {
		got := make(chan string, 1)
		go func() {
			_, _, text := h.send("POST", "/mcp", "alice", callOf(1, "touch "+mark+"; sleep 1000"), "Mcp-Session-Id", session)
			got <- text
		}()
		until(t, "the call", func() bool { return exists(h.roots["alice"], mark) })
		return got
	}
	ended, cancelled, closed := h.open("alice"), h.open("alice"), h.open("alice")
	of := map[string]chan string{"the client ended its session": begin(ended, "a"), "the client cancelled it": begin(cancelled, "b"), "the server is closing": begin(closed, "c")}
	p := h.pipe("alice")
	p.request("initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "sse", "version": "1"}})
	p.start("tools/call", params("safe_bash", map[string]any{"command": "touch d; sleep 1000"}, nil))
	until(t, "the call over /sse", func() bool { return exists(h.roots["alice"], "d") })
	p.in.Close()
	until(t, "the end of the stream", func() bool { return h.Sessions() == 3 })
	h.send("DELETE", "/mcp", "alice", "", "Mcp-Session-Id", ended)
	h.send("POST", "/mcp", "alice", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, "Mcp-Session-Id", cancelled)
	<-of["the client cancelled it"]
	stopped := h.closing(t)
	close(hurry) // else this test would take an hour
	for _, why := range []string{"the client ended its session", "the server is closing"} {
		if text := <-of[why]; !strings.Contains(text, "cancelled: "+why) {
			t.Errorf("%s: the client is told %s", why, text)
		}
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	log, err := os.ReadFile(filepath.Join(filepath.Dir(h.roots["alice"]), "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, why := range []string{"the client ended its session", "the client cancelled it", "the server is closing", "the client has gone"} {
		if strings.Count(string(log), "cancelled: "+why) != 1 {
			t.Errorf("the audit does not tell once: %s", why)
		}
	}
}
