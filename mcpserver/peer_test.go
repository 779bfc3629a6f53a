package mcpserver

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// patience is how long tests wait for what must come; never a measure of speed.
const patience = 30 * time.Second

// peer is a client that sees every message as it is.
type peer struct {
	t       testing.TB
	in      io.WriteCloser
	out     io.Closer      // where the server writes to, of a process
	leaving atomic.Bool    // what cannot be sent is no fault
	modern  bool           // sends the _meta of 2026-07-28
	can     map[string]any // capabilities

	mu     sync.Mutex
	next   int
	answer map[string]chan wireMessage
	// asked gets requests, told notifications and what has no request.
	asked, told chan wireMessage
	over        chan struct{} // closed when the server's output ends
}

type wireMessage struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *rpcError       `json:"error,omitempty"`
}

func newPeer(t testing.TB, from io.Reader, to io.WriteCloser) *peer {
	p := &peer{t: t, in: to, answer: map[string]chan wireMessage{}, over: make(chan struct{}),
		asked: make(chan wireMessage, 1000), told: make(chan wireMessage, 1000)}
	go func() {
		defer close(p.over)
		r := bufio.NewReader(from)
		for {
			line, err := r.ReadBytes('\n')
			if err != nil {
				return
			}
			var m wireMessage
			if err := json.Unmarshal(line, &m); err != nil {
				t.Errorf("the server wrote what is no message: %q", line)
				continue
			}
			p.mu.Lock()
			ch := p.answer[string(m.ID)]
			p.mu.Unlock()
			switch {
			case m.Method != "" && m.ID != nil:
				p.asked <- m
			case ch != nil:
				ch <- m
			default:
				p.told <- m
			}
		}
	}()
	return p
}

func (p *peer) send(v any) {
	p.t.Helper()
	line, ok := v.(string)
	if !ok {
		b, err := json.Marshal(v)
		if err != nil {
			p.t.Fatal(err)
		}
		line = string(b)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil && !p.leaving.Load() {
		p.t.Errorf("sending: %v", err)
	}
}

// start sends a request and returns its id and where the response will be.
func (p *peer) start(method string, params map[string]any) (int, chan wireMessage) {
	p.t.Helper()
	if params == nil {
		params = map[string]any{}
	}
	if p.modern {
		meta, _ := params["_meta"].(map[string]any)
		if meta == nil {
			meta = map[string]any{}
		}
		meta[mcp.MetaKeyProtocolVersion] = "2026-07-28"
		meta["io.modelcontextprotocol/clientInfo"] = map[string]any{"name": "peer", "version": "2"}
		meta[mcp.MetaKeyClientCapabilities] = p.can
		params["_meta"] = meta
	}
	p.mu.Lock()
	p.next++
	id := p.next
	ch := make(chan wireMessage, 2)
	p.answer[fmt.Sprint(id)] = ch
	p.mu.Unlock()
	p.send(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	return id, ch
}

func (p *peer) await(what string, ch chan wireMessage) wireMessage {
	p.t.Helper()
	select {
	case m := <-ch:
		return m
	case <-p.over:
		select {
		case m := <-ch:
			return m
		default:
		}
		p.t.Fatalf("%s: the server's output ended", what)
	case <-time.After(patience):
		p.t.Fatalf("%s: nothing came", what)
	}
	return wireMessage{}
}

// question waits for the server to ask the client while the call behind ch is
// open.
func (p *peer) question(ch chan wireMessage) wireMessage {
	p.t.Helper()
	select {
	case q := <-p.asked:
		return q
	case m := <-ch:
		p.t.Fatalf("the call was not asked about: %s %v", m.Result, m.Error)
	case <-p.over:
		p.t.Fatal("the server's output ended")
	case <-time.After(patience):
		p.t.Fatal("no question came")
	}
	return wireMessage{}
}

func (p *peer) request(method string, params map[string]any) wireMessage {
	p.t.Helper()
	_, ch := p.start(method, params)
	return p.await(method, ch)
}

// hello opens the session in the era of p, with capabilities can.
func (p *peer) hello(modern bool, can map[string]any) *peer {
	p.t.Helper()
	if can == nil {
		can = map[string]any{}
	}
	p.modern, p.can = modern, can
	if modern {
		if m := p.request("server/discover", nil); m.Error != nil {
			p.t.Fatal(m.Error)
		}
		return p
	}
	m := p.request("initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": can,
		"clientInfo": map[string]any{"name": "peer", "version": "1"}})
	if m.Error != nil {
		p.t.Fatal(m.Error)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return p
}

// toolAnswer is the result of tools/call.
type toolAnswer struct {
	ResultType string `json:"resultType"`
	IsError    bool   `json:"isError"`
	Content    []struct {
		Type, Text string
	} `json:"content"`
	Structured struct {
		Verdict  string `json:"verdict"`
		Approval string `json:"approval"`
		Rule     string `json:"rule"`
		Reason   string `json:"reason"`
		Instead  string `json:"instead"`
		CallID   string `json:"call_id"`
		ExitCode *int   `json:"exit_code"`
		Stdout   string `json:"stdout"`
	} `json:"structuredContent"`
	RequestState  string `json:"requestState"`
	InputRequests map[string]struct {
		Method string `json:"method"`
		Params struct {
			Message         string         `json:"message"`
			RequestedSchema map[string]any `json:"requestedSchema"`
		} `json:"params"`
	} `json:"inputRequests"`
}

func (a toolAnswer) text() string {
	if len(a.Content) == 0 {
		return ""
	}
	return a.Content[0].Text
}

func (p *peer) read(m wireMessage) (a toolAnswer) {
	p.t.Helper()
	if m.Error != nil {
		p.t.Fatalf("the call failed: %v", m.Error)
	}
	if err := json.Unmarshal(m.Result, &a); err != nil {
		p.t.Fatalf("%v in %s", err, m.Result)
	}
	if a.ResultType != "input_required" {
		conforms(p.t, m.Result)
	}
	return a
}

// call calls a tool; more goes beside name and arguments.
func (p *peer) call(tool string, args any, more map[string]any) toolAnswer {
	p.t.Helper()
	return p.read(p.request("tools/call", params(tool, args, more)))
}

func params(tool string, args any, more map[string]any) map[string]any {
	all := map[string]any{"name": tool, "arguments": args}
	for k, v := range more {
		all[k] = v
	}
	return all
}

// write is the arguments of safe_write for a file of the workspace.
func write(name string) map[string]any { return map[string]any{"path": name, "content": "hello\n"} }

func exists(root, name string) bool {
	_, err := os.Lstat(filepath.Join(root, name))
	return err == nil
}

// forms are the capabilities of a client that shows forms.
func forms() map[string]any { return map[string]any{"elicitation": map[string]any{}} }

// eras runs f in both protocol eras.
func eras(t *testing.T, f func(t *testing.T, modern bool)) {
	for name, modern := range map[string]bool{"2025-11-25": false, "2026-07-28": true} {
		t.Run(name, func(t *testing.T) { f(t, modern) })
	}
}
