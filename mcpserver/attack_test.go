package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// modern sends a request of the era of 2026-07-28.
func (h *hosted) modern(who string, id any, method, name string, params map[string]any) (int, toolAnswer) {
	h.t.Helper()
	params["_meta"] = map[string]any{mcp.MetaKeyProtocolVersion: "2026-07-28", mcp.MetaKeyClientCapabilities: forms(),
		"io.modelcontextprotocol/clientInfo": map[string]any{"name": "attack", "version": "1"}}
	message := map[string]any{"jsonrpc": "2.0", "method": method, "params": params}
	if id != nil {
		message["id"] = id
	}
	b, err := json.Marshal(message)
	if err != nil {
		h.t.Fatal(err)
	}
	status, head, text := h.send("POST", "/mcp", who, string(b), "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method, "Mcp-Name", name)
	if strings.HasPrefix(head.Get("Content-Type"), "text/event-stream") {
		_, text, _ = strings.Cut(text, "data: ")
	}
	var m struct{ Result toolAnswer }
	_ = json.Unmarshal([]byte(text), &m) // a refusal has no result
	return status, m.Result
}

func (h *hosted) write(who string, more map[string]any) toolAnswer {
	h.t.Helper()
	_, a := h.modern(who, 1, "tools/call", "safe_write", params("safe_write", write("ask-it.txt"), more))
	return a
}

// A state is for one principal, one call and one use, over HTTP too.
func TestStolenState(t *testing.T) {
	h := host(t, nil)
	yes := accept("allow once")
	there := func(who string) bool { return exists(h.roots[who], "ask-it.txt") }
	for what, more := range map[string]map[string]any{
		"an answer without a state": {"inputResponses": map[string]any{"approval": yes}},
		"an invented state":         retry("e30.e30", yes),
		"another principal's state": retry(h.write("alice", nil).RequestState, yes),
	} {
		if a := h.write("bob", more); a.ResultType != "input_required" || there("bob") || there("alice") {
			t.Errorf("%s: %+v", what, a)
		}
	}
	state := h.write("alice", nil).RequestState
	if a := h.write("bob", retry(state, yes)); there("bob") || a.ResultType != "input_required" {
		t.Errorf("stolen: %+v", a)
	}
	for i := range 2 { // the theft has not used it up; its first use does
		if a := h.write("alice", retry(state, yes)); (a.Structured.Approval == "approved") != (i == 0) {
			t.Errorf("use %d: %+v", i+1, a)
		}
	}
}

// asked opens a call on a session that is asked about, and returns the question's
// id and where the response will be.
func (h *hosted) asked(who, session string, more map[string]any) (id string, answer chan toolAnswer) {
	h.t.Helper()
	b, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params("safe_write", write("ask-it.txt"), more)})
	r, _ := http.NewRequest("POST", h.url+"/mcp", strings.NewReader(string(b)))
	for k, v := range map[string]string{"Authorization": "Bearer " + who + "-token", "Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Session-Id": session} {
		r.Header.Set(k, v)
	}
	res, err := h.client.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	events := bufio.NewReader(res.Body)
	next := func() (m wireMessage) {
		for {
			line, err := events.ReadString('\n')
			if err != nil {
				return m
			}
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				_ = json.Unmarshal([]byte(data), &m)
				return m
			}
		}
	}
	q := next()
	if q.Method != "elicitation/create" || json.Unmarshal(q.ID, &id) != nil || len(id) < 26 {
		h.t.Fatalf("%s: %+v", res.Status, q)
	}
	answer = make(chan toolAnswer, 1)
	go func() {
		defer res.Body.Close()
		var a toolAnswer
		_ = json.Unmarshal(next().Result, &a)
		answer <- a
	}()
	return id, answer
}

// A question is answered on its own session, by its own name, and not by what
// came along with the call.
func TestForeignAnswers(t *testing.T) {
	h := host(t, nil)
	mine, other := h.open("alice"), h.open("alice")
	id, answer := h.asked("alice", mine, retry("e30.e30", accept("allow once")))
	yes := `{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"decision":"allow once"}}}`
	h.send("POST", "/mcp", "alice", fmt.Sprintf(yes, `"`+id+`"`), "Mcp-Session-Id", other)
	if status, _, _ := h.send("POST", "/mcp", "bob", fmt.Sprintf(yes, `"`+id+`"`), "Mcp-Session-Id", mine); status != 404 {
		t.Errorf("another principal's answer: %d", status)
	}
	for n := range 20 {
		h.send("POST", "/mcp", "alice", fmt.Sprintf(yes, fmt.Sprint(n)), "Mcp-Session-Id", mine)
		h.send("POST", "/mcp", "alice", fmt.Sprintf(yes, fmt.Sprintf(`"%d"`, n)), "Mcp-Session-Id", mine)
	}
	select {
	case a := <-answer:
		t.Fatalf("somebody answered: %+v", a)
	default:
	}
	h.send("POST", "/mcp", "alice", fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"result":{"action":"decline"}}`, id), "Mcp-Session-Id", mine)
	if a := <-answer; a.Structured.Approval != "declined" || exists(h.roots["alice"], "ask-it.txt") {
		t.Errorf("%+v", a)
	}
}

// A session has the name that the server gives it, and one principal cannot open
// so many that others find none.
func TestSessionNames(t *testing.T) {
	h := host(t, nil)
	const fixed = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if status, head, _ := h.send("POST", "/mcp", "alice", hello, "Mcp-Session-Id", fixed); status != 200 || head.Get("Mcp-Session-Id") == fixed {
		t.Errorf("the caller chose the session's name: %d %v", status, head)
	}
	if status, _, _ := h.send("POST", "/mcp", "alice", callOf(1, "true"), "Mcp-Session-Id", fixed); status != 404 {
		t.Errorf("the chosen name is a session: %d", status)
	}
	for h.Sessions() < maxSessions {
		h.open("alice")
	}
	if status, _, _ := h.send("POST", "/mcp", "alice", hello); status != 503 {
		t.Errorf("one session too many: %d", status)
	}
	h.open("bob")
}

// Clients of one principal that have no session number their requests alike.
func TestSameNumbers(t *testing.T) {
	h := host(t, nil)
	long := make(chan toolAnswer, 1)
	go func() {
		_, a := h.modern("alice", 1, "tools/call", "safe_bash", params("safe_bash", map[string]any{"command": "touch begun; while [ ! -e go ]; do sleep 0.02; done; echo finished"}, nil))
		long <- a
	}()
	until(t, "the call", func() bool { return exists(h.roots["alice"], "begun") })
	if _, a := h.modern("alice", 1, "tools/call", "safe_bash", params("safe_bash", map[string]any{"command": "echo short"}, nil)); a.Structured.Stdout != "short\n" {
		t.Errorf("%+v", a)
	}
	cancel := map[string]any{"requestId": 1}
	if status, _ := h.modern("alice", nil, "notifications/cancelled", "", cancel); status != 202 {
		t.Errorf("cancelling: %d", status)
	}
	h.send("POST", "/mcp", "alice", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	session := h.open("alice")
	h.send("POST", "/mcp", "alice", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, "Mcp-Session-Id", session)
	h.modern("alice", 2, "tools/call", "safe_write", params("safe_write", write("go"), nil))
	if a := <-long; a.Structured.Stdout != "finished\n" {
		t.Errorf("another client ended it: %+v", a)
	}
}

// A panic in one call is that call's failure.
func TestPanicHarmsNoOther(t *testing.T) {
	h := host(t, nil)
	h.add = func(s *Server) {
		s.mcp.AddTool(mcp.NewTool("test_panic", mcp.WithDescription("fails")), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			panic("by intent")
		})
	}
	session := h.open("alice")
	other := make(chan string, 1)
	go func() {
		_, _, text := h.send("POST", "/mcp", "alice", callOf(1, "touch begun; while [ ! -e go ]; do sleep 0.02; done; echo finished"), "Mcp-Session-Id", session)
		other <- text
	}()
	until(t, "the call", func() bool { return exists(h.roots["alice"], "begun") })
	for range 3 {
		if status, _, text := h.send("POST", "/mcp", "alice", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"test_panic","arguments":{}}}`, "Mcp-Session-Id", session); status != 200 || !strings.Contains(text, `"error"`) || strings.Contains(text, "by intent") {
			t.Errorf("%d %s", status, text)
		}
	}
	h.modern("alice", 2, "tools/call", "safe_write", params("safe_write", write("go"), nil))
	if text := <-other; !strings.Contains(text, "finished") {
		t.Errorf("%s", text)
	}
}

// dial opens a connection to the host, without a client that would mend what is
// sent.
func (h *hosted) dial() net.Conn {
	h.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	return c
}

// raw sends text and returns all that comes back until the server closes or is
// silent for a second.
func (h *hosted) raw(text string) string {
	h.t.Helper()
	c := h.dial()
	_, _ = io.WriteString(c, text)
	_ = c.SetReadDeadline(time.Now().Add(time.Second))
	all, _ := io.ReadAll(c)
	return string(all)
}

// No path but the real ones leads anywhere, and none without a credential.
func TestPaths(t *testing.T) {
	h := host(t, nil)
	h.Metadata = http.NotFoundHandler()
	for _, path := range []string{"//mcp", "/mcp/", "/mcp/../sse", "/./mcp", "/mcp%2f..%2fsse", "/%6dcp", "/MCP", "/mcp;x", "/sse/../mcp", "/healthz/../mcp",
		"/healthz/", "/healthz%2f..%2fmcp", "/.well-known/oauth-protected-resource/../../mcp", "/mcp\x00", "http://evil.example/mcp", "*", "/mcp?access_token=alice-token"} {
		for _, method := range []string{"POST", "GET", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PUT", "HEAD"} {
			got := h.raw(method + " " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: " + fmt.Sprint(len(hello)) + "\r\n\r\n" + hello)
			if strings.HasPrefix(got, "HTTP/1.1 2") && !(method == "OPTIONS" && path == "*") {
				t.Errorf("%s %s: %.200s", method, path, got)
			}
		}
	}
	if n := h.Sessions(); n != 0 {
		t.Errorf("%d sessions are open", n)
	}
}

// What proxies and servers have read differently starts nothing, and nothing
// becomes another protocol.
func TestMalformedRequests(t *testing.T) {
	h := host(t, nil)
	session := h.open("alice")
	call := callOf(1, "touch smuggled")
	head := "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer alice-token\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMcp-Session-Id: " + session + "\r\n"
	anonymous := strings.Replace(head, "Authorization: Bearer alice-token\r\n", "", 1)
	inner := fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", anonymous, len(call), call)
	chunked := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(call), call)
	for what, text := range map[string]string{
		"a request behind a chunked body":    head + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + inner,
		"two lengths":                        head + fmt.Sprintf("Content-Length: 0\r\nContent-Length: %d\r\n\r\n%s", len(call), call),
		"a list of lengths":                  head + fmt.Sprintf("Content-Length: %d, 0\r\n\r\n%s", len(call), call),
		"a length with a sign":               head + fmt.Sprintf("Content-Length: +%d\r\n\r\n%s", len(call), call),
		"a coding nobody knows":              head + "Transfer-Encoding: xchunked\r\n\r\n" + chunked,
		"two codings":                        head + "Transfer-Encoding: chunked, identity\r\n\r\n" + chunked,
		"two headers of coding":              head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked,
		"a blank before the colon":           head + "Transfer-Encoding : chunked\r\n\r\n" + chunked,
		"a chunk's length with a sign":       head + "Transfer-Encoding: chunked\r\n\r\n+" + chunked,
		"no host":                            strings.Replace(head, "Host: 127.0.0.1\r\n", "", 1) + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(call), call),
		"two hosts":                          head + "Host: evil.example\r\n" + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(call), call),
		"two credentials":                    anonymous + "Authorization: Basic eDp5\r\nAuthorization: Bearer bob-token\r\n" + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(call), call),
		"two origins":                        head + "Origin: http://127.0.0.1\r\nOrigin: https://evil.example\r\n" + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(call), call),
		"HTTP/2 without being asked":         "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00",
		"a request behind one without a end": anonymous + "Content-Length: 4\r\n\r\ntrue" + inner,
	} {
		if got := h.raw(text); strings.Contains(got, "HTTP/1.1 200") || exists(h.roots["alice"], "smuggled") {
			t.Errorf("%s: %.300s", what, got)
		}
	}
	for _, to := range []string{"websocket", "h2c"} {
		got := h.raw("GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer alice-token\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: " + to +
			"\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
		if !strings.HasPrefix(got, "HTTP/1.1 4") {
			t.Errorf("%s: %.200s", to, got)
		}
	}
	if got := h.raw("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + strings.Repeat("a", 128<<10) + "\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 431") {
		t.Errorf("a long header: %.200s", got)
	}
}

// Who sends or reads slowly is dropped, and others do not notice.
func TestSlowClients(t *testing.T) {
	h := host(t, func(h *Host, _ *Options) {
		h.waits = waits{header: 200 * time.Millisecond, body: 200 * time.Millisecond, write: 200 * time.Millisecond}
	})
	dropped := func(what string, c net.Conn) {
		t.Helper()
		if _, err := io.Copy(io.Discard, c); err != nil && strings.Contains(err.Error(), "timeout") {
			t.Errorf("%s: the connection stays", what)
		}
	}
	header, body, refused, reader := h.dial(), h.dial(), h.dial(), h.dial()
	io.WriteString(header, "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n")
	io.WriteString(body, "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer alice-token\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	io.WriteString(refused, "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{")
	io.WriteString(reader, "GET /sse HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer alice-token\r\n\r\n")
	in := bufio.NewReaderSize(reader, 16)
	endpoint := ""
	for endpoint == "" {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		endpoint, _ = strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !strings.HasPrefix(endpoint, "/message") {
			endpoint = ""
		}
	}
	dropped("a slow header", header)
	dropped("a slow body", body)
	dropped("a slow body of a request that is refused", refused)
	session := h.open("alice")
	until(t, "the end of the stream that nobody reads", func() bool {
		h.send("POST", endpoint, "alice", fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"tools/list"}`, fmt.Sprint(time.Now().UnixNano())))
		if status, _, text := h.send("POST", "/mcp", "alice", callOf(1, "echo unharmed"), "Mcp-Session-Id", session); status != 200 || !strings.Contains(text, "unharmed") {
			t.Errorf("another client: %d %s", status, text)
		}
		return h.Sessions() == 1
	})
}
