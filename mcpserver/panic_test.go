package mcpserver

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"handrail/mcpserver/auth"
)

// A panic in one request, wherever it comes, is that request's: what runs beside
// it, in the same session, another one and for another principal, ends well.
func TestPanicOverHTTPHarmsNothingElse(t *testing.T) {
	h := host(t, func(h *Host, _ *Options) {
		known := h.Authenticate
		h.Authenticate = auth.Method(func(r *http.Request) (auth.Caller, error) {
			if strings.HasPrefix(r.Header.Get("Authorization"), "Bearer boom") {
				panic("boom")
			}
			return known(r)
		})
	})
	sessions := map[string]string{"alice": h.open("alice"), "bob": h.open("bob")}
	h.Host.mu.Lock()
	server := h.Host.tenants["alice"].Server
	h.Host.mu.Unlock()
	server.mcp.AddTool(mcp.NewTool("boom"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) { panic("boom") })

	type answer struct {
		status int
		text   string
	}
	answers := make(chan answer, 2)
	for who, session := range sessions {
		go func() {
			status, _, text := h.send("POST", "/mcp", who, callOf(1, "sleep 1; echo unharmed"), "Mcp-Session-Id", session)
			answers <- answer{status, text}
		}()
	}
	for n := range 3 {
		boom := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"boom","arguments":{}}}`, 10+n)
		if _, _, text := h.send("POST", "/mcp", "alice", boom, "Mcp-Session-Id", sessions["alice"]); strings.Contains(text, "goroutine") {
			t.Errorf("the client is shown the server's stack: %s", text)
		}
		if status, _, _ := h.send("POST", "/mcp", "boom", hello); status != 500 {
			t.Errorf("a panic before the server: %d", status)
		}
	}
	for range 2 {
		if a := <-answers; a.status != 200 || !strings.Contains(a.text, "unharmed") {
			t.Errorf("%d %s", a.status, a.text)
		}
	}
	if _, _, text := h.send("POST", "/mcp", "alice", callOf(2, "echo still here"), "Mcp-Session-Id", sessions["alice"]); !strings.Contains(text, "still here") {
		t.Error(text)
	}
}
