package mcpserver

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"handrail/guard/rules"
)

// What a client calls itself goes into the audit without secrets, on one line, and
// so that everything in it is seen; whichever record it stands in.
func TestClientNames(t *testing.T) {
	h := host(t, nil)
	h.add = func(s *Server) {
		s.box.Redact = func(text string) string { return strings.ReplaceAll(text, "open sesame", "[known]") }
	}
	// Put together here, so that no scanner takes it for a real one.
	secret := "gh" + "p_" + "16C7e42F292c6912E7710c838347Ae178B4a"
	for i, name := range []string{
		"evil\x1b[2K\r\n{\"seq\":1}", "token " + secret, "open sesame", strings.Repeat("x", 90) + " " + secret, strings.Repeat("y", 1<<20), "\u202egpj.exe",
	} {
		say, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": map[string]any{"protocolVersion": "2025-11-25",
			"capabilities": map[string]any{"elicitation": map[string]any{}}, "clientInfo": map[string]any{"name": name, "version": "1"}}})
		if err != nil {
			t.Fatal(err)
		}
		status, head, text := h.send("POST", "/mcp", "alice", string(say))
		if status != 200 {
			t.Fatalf("%d %s", status, text)
		}
		session := head.Get("Mcp-Session-Id")
		h.send("POST", "/mcp", "alice", callOf(2, "true"), "Mcp-Session-Id", session)
		id, answer := h.asked("alice", session, nil)
		h.send("POST", "/mcp", "alice", fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"result":{"action":"decline"}}`, id), "Mcp-Session-Id", session)
		<-answer
		p := params("safe_bash", map[string]any{"command": "true"}, nil)
		p["_meta"] = map[string]any{mcp.MetaKeyProtocolVersion: "2026-07-28", mcp.MetaKeyClientCapabilities: forms(), "io.modelcontextprotocol/clientInfo": map[string]any{"name": name, "version": "1"}}
		b, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": p})
		if status, _, text := h.send("POST", "/mcp", "alice", string(b), "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "safe_bash"); status != 200 {
			t.Fatalf("%d %s", status, text)
		}
	}
	log, err := os.ReadFile(filepath.Join(filepath.Dir(h.roots["alice"]), "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, line := range strings.Split(strings.TrimSpace(string(log)), "\n") {
		var r struct{ Client, Event string }
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		seen[r.Client]++
		if strings.ContainsAny(r.Client, "\x1b\r\n\u202e") || strings.Contains(r.Client, secret[:20]) || strings.Contains(r.Client, "sesame") || len(r.Client) > 1000 {
			t.Errorf("%s: %q", r.Event, r.Client)
		}
	}
	if seen[`evil\u{1b}[2K\u{d}\u{a}{"seq":1} 1`] < 4 || seen["[known] 1"] < 4 {
		t.Errorf("%v", seen)
	}
}

// A tool that is turned off is in no list, and a call of it is refused in the
// guard's words and recorded, in both eras.
func TestToolsThatAreOff(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		h := host(t, func(_ *Host, o *Options) { o.Offers = func(tool string) bool { return tool != "safe_bash" } })
		h.add = func(s *Server) {
			off := rules.Custom(rules.Settings{Tools: map[string]rules.Tool{"safe_bash": {Enabled: rules.Off}}}, rules.Policy{})
			s.box.Guard.Rules = append(s.box.Guard.Rules, off...)
		}
		var a toolAnswer
		if modern {
			_, a = h.modern("alice", 1, "tools/call", "safe_bash", params("safe_bash", map[string]any{"command": "touch ran"}, nil))
		} else {
			session := h.open("alice")
			if _, _, text := h.send("POST", "/mcp", "alice", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "Mcp-Session-Id", session); strings.Contains(text, "safe_bash\"") || !strings.Contains(text, "safe_read") {
				t.Errorf("the list: %s", text)
			}
			_, _, text := h.send("POST", "/mcp", "alice", callOf(2, "touch ran"), "Mcp-Session-Id", session)
			var m struct{ Result toolAnswer }
			if err := json.Unmarshal([]byte(text), &m); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			a = m.Result
		}
		if a.Structured.Verdict != "deny" || a.Structured.Rule != "policy/tool" || exists(h.roots["alice"], "ran") {
			t.Errorf("%+v", a)
		}
		log, err := os.ReadFile(filepath.Join(filepath.Dir(h.roots["alice"]), "audit.jsonl"))
		if err != nil || strings.Count(string(log), `"rule":"policy/tool"`) == 0 {
			t.Errorf("it is not recorded: %s, %v", log, err)
		}
	})
}
