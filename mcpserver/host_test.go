package mcpserver

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"handrail/mcpserver/auth"
)

// hosted is a host on loopback with the principals alice and bob, each with a
// workspace of their own.
type hosted struct {
	*Host
	t      testing.TB
	url    string
	client *http.Client
	roots  map[string]string
	stop   func() error  // as a signal would; the error is Serve's
	add    func(*Server) // to a server before it serves; may be nil
}

func host(t testing.TB, change func(*Host, *Options)) *hosted {
	t.Helper()
	return hostOver(t, nil, http.DefaultClient, change)
}

// hostOver is a host that speaks TLS where conf is not nil.
func hostOver(t testing.TB, conf *tls.Config, client *http.Client, change func(*Host, *Options)) *hosted {
	t.Helper()
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	h := &hosted{t: t, client: client, roots: map[string]string{"alice": place(t), "bob": place(t)}}
	o := Options{Version: "test", Homes: []string{"/nonexistent"}, Log: log}
	h.Host = &Host{Log: log, Farewell: 5 * time.Second, Authenticate: func(r *http.Request) (auth.Caller, error) {
		name, ok := strings.CutSuffix(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), "-token")
		if _, known := h.roots[name]; !ok || !known {
			return auth.Caller{}, &auth.Refusal{Code: auth.InvalidToken, Err: errors.New("no such token")}
		}
		return auth.Caller{Principal: name}, nil
	}}
	if change != nil {
		change(h.Host, &o)
	}
	h.Open = func(principal string) (*Tenant, error) {
		box, err := toolbox(filepath.Join(filepath.Dir(h.roots[principal]), "audit.jsonl"))
		if err != nil {
			return nil, err
		}
		o := o
		o.Toolbox, o.Principal, o.Roots = box, principal, []string{h.roots[principal]}
		s, err := New(o)
		if err == nil && h.add != nil {
			h.add(s)
		}
		return &Tenant{Server: s, Close: box.Close}, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.url = "http://" + l.Addr().String()
	if conf != nil {
		h.url = "https://" + l.Addr().String()
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(ctx, l, conf) }()
	stopped := false
	h.stop = func() error {
		cancel()
		stopped = true
		select {
		case err := <-ended:
			return err
		case <-time.After(patience):
			return errors.New("the host does not end")
		}
	}
	t.Cleanup(func() {
		if !stopped {
			if err := h.stop(); err != nil {
				t.Error(err)
			}
		}
	})
	return h
}

// send sends one request; headers are pairs, an empty value leaves one out.
func (h *hosted) send(method, path, who, body string, headers ...string) (int, http.Header, string) {
	h.t.Helper()
	r, err := http.NewRequest(method, h.url+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Content-Type", "application/json")
	if who != "" {
		r.Header.Set("Authorization", "Bearer "+who+"-token")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	res, err := h.client.Do(r.WithContext(ctx))
	if err != nil {
		return 0, nil, err.Error()
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	return res.StatusCode, res.Header, string(text)
}

const hello = `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"attack","version":"0"}}}`

func callOf(id int, command string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"safe_bash","arguments":{"command":%q}}}`, id, command)
}

// open opens a session of streamable HTTP.
func (h *hosted) open(who string) string {
	h.t.Helper()
	status, head, text := h.send("POST", "/mcp", who, hello)
	if status != 200 || len(head.Get("Mcp-Session-Id")) < 26 {
		h.t.Fatalf("%d %v %s", status, head, text)
	}
	return head.Get("Mcp-Session-Id")
}

// What is no business of a stranger, a page or another principal.
func TestGate(t *testing.T) {
	h := host(t, func(h *Host, _ *Options) {
		h.Origins, h.Names, h.MetadataURL, h.MaxBody = []string{"https://app.example"}, []string{"mcp.example"}, "https://mcp.example/.well-known/oauth-protected-resource", 1<<20
	})
	alice := h.open("alice")
	for _, c := range []struct {
		what, method, path, who, body string
		headers                       []string
		want                          int
	}{
		{"no token", "POST", "/mcp", "", hello, nil, 401},
		{"a wrong token", "POST", "/mcp", "mallory", hello, nil, 401},
		{"a token in the query", "POST", "/mcp?access_token=alice-token", "", hello, nil, 401},
		{"no token, /sse", "GET", "/sse", "", "", nil, 401},
		{"a foreign origin", "POST", "/mcp", "alice", hello, []string{"Origin", "https://evil.example"}, 403},
		{"a foreign origin, GET /mcp", "GET", "/mcp", "alice", "", []string{"Origin", "https://evil.example", "Mcp-Session-Id", alice}, 403},
		{"a foreign origin, GET /sse", "GET", "/sse", "alice", "", []string{"Origin", "https://evil.example"}, 403},
		{"a foreign origin, DELETE", "DELETE", "/mcp", "alice", "", []string{"Origin", "https://evil.example", "Mcp-Session-Id", alice}, 403},
		{"the origin null", "POST", "/mcp", "alice", hello, []string{"Origin", "null"}, 403},
		{"an origin that begins like ours", "POST", "/mcp", "alice", hello, []string{"Origin", "https://app.example.evil.example"}, 403},
		{"an origin that is allowed", "POST", "/mcp", "alice", hello, []string{"Origin", "https://app.example"}, 200},
		{"our own origin", "POST", "/mcp", "alice", hello, []string{"Origin", h.url}, 200},
		{"a foreign host (DNS rebinding)", "POST", "/mcp", "alice", hello, []string{"Host", "evil.example"}, 421},
		{"a foreign host with our port", "POST", "/mcp", "alice", hello, []string{"Host", "evil.example" + h.url[strings.LastIndex(h.url, ":"):]}, 421},
		{"our host name", "POST", "/mcp", "alice", hello, []string{"Host", "MCP.example:443"}, 200},
		{"another principal's session", "POST", "/mcp", "bob", callOf(1, "true"), []string{"Mcp-Session-Id", alice}, 404},
		{"another principal's stream", "GET", "/mcp", "bob", "", []string{"Mcp-Session-Id", alice}, 404},
		{"a session that was never opened", "POST", "/mcp", "alice", callOf(1, "true"), []string{"Mcp-Session-Id", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}, 404},
		{"a stream without a session", "GET", "/mcp", "alice", "", nil, 400},
		{"no session", "POST", "/mcp", "alice", callOf(1, "true"), nil, 400},
		{"text/plain", "POST", "/mcp", "alice", hello, []string{"Content-Type", "text/plain"}, 415},
		{"a form", "POST", "/message?sessionId=x", "alice", hello, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415},
		{"a body that is too large", "POST", "/mcp", "alice", `{"x":"` + strings.Repeat("a", 2<<20) + `"}`, nil, 413},
		{"a field given twice", "POST", "/mcp", "alice", `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}`, []string{"Mcp-Session-Id", alice}, 400},
		{"an id that is no number", "POST", "/mcp", "alice", `{"jsonrpc":"2.0","id":1e400,"method":"ping"}`, []string{"Mcp-Session-Id", alice}, 400},
		{"a parameter that is no number", "POST", "/mcp", "alice", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"safe_bash","arguments":{"command":"true","timeout_ms":1e400}}}`, []string{"Mcp-Session-Id", alice}, 400},
		{"another principal's end", "DELETE", "/mcp", "bob", "", []string{"Mcp-Session-Id", alice}, 404},
		{"the session still is", "POST", "/mcp", "alice", callOf(2, "true"), []string{"Mcp-Session-Id", alice}, 200},
		{"its end", "DELETE", "/mcp", "alice", "", []string{"Mcp-Session-Id", alice}, 200},
		{"after its end", "POST", "/mcp", "alice", callOf(3, "true"), []string{"Mcp-Session-Id", alice}, 404},
		{"nothing else", "GET", "/", "alice", "", nil, 404},
		{"health", "GET", "/healthz", "", "", nil, 200},
		{"readiness", "GET", "/readyz", "", "", nil, 200},
	} {
		status, head, text := h.send(c.method, c.path, c.who, c.body, c.headers...)
		if status != c.want {
			t.Errorf("%s: %d %.200s, want %d", c.what, status, text, c.want)
		}
		if status == http.StatusUnauthorized && (!strings.Contains(head.Get("WWW-Authenticate"), `resource_metadata="https://mcp.example/`) || strings.Contains(text, "token")) {
			t.Errorf("%s: %v %s", c.what, head, text)
		}
		if head.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: pages may read the answer", c.what)
		}
	}
}

// The library's own client asks and is asked, in both eras.
func TestHTTPClient(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		h := host(t, nil)
		for word, want := range map[string]string{"allow once": "approved", "deny": "declined"} {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			tr, err := transport.NewStreamableHTTP(h.url+"/mcp", transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer alice-token"}))
			if err != nil {
				t.Fatal(err)
			}
			options := []client.ClientOption{client.WithElicitationHandler(&person{Action: mcp.ElicitationResponseActionAccept, Content: map[string]any{"decision": word}})}
			if !modern {
				//lint:ignore SA1019 the older era is what is tested here
				options = append(options, client.WithLegacyProtocolOnly())
			}
			c := client.NewClient(tr, options...)
			if err := c.Start(ctx); err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			var in mcp.InitializeRequest
			in.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
			in.Params.ClientInfo = mcp.Implementation{Name: "library", Version: "1"}
			if _, err := c.Initialize(ctx, in); err != nil {
				t.Fatal(err)
			}
			var call mcp.CallToolRequest
			name := "ask-" + strings.Fields(word)[0] + ".txt"
			call.Params.Name, call.Params.Arguments = "safe_write", write(name)
			result, err := c.CallTool(ctx, call)
			if err != nil {
				t.Fatal(err)
			}
			var a toolAnswer
			b, _ := json.Marshal(result)
			if err := json.Unmarshal(b, &a); err != nil {
				t.Fatal(err)
			}
			check(t, a, want, exists(h.roots["alice"], name))
		}
	})
}

// pipe is a client on HTTP+SSE that looks to a peer like a pair of streams.
func (h *hosted) pipe(who string) *peer {
	h.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, _ := http.NewRequestWithContext(ctx, "GET", h.url+"/sse", nil)
	r.Header.Set("Authorization", "Bearer "+who+"-token")
	res, err := h.client.Do(r)
	if err != nil || res.StatusCode != 200 {
		h.t.Fatalf("%v, %v", res, err)
	}
	h.t.Cleanup(func() { cancel(); res.Body.Close() })
	events := bufio.NewReader(res.Body)
	next := func() (name, data string, err error) {
		for {
			line, err := events.ReadString('\n')
			if err != nil {
				return "", "", err
			}
			switch line = strings.TrimSuffix(line, "\n"); {
			case strings.HasPrefix(line, "event: "):
				name = line[7:]
			case strings.HasPrefix(line, "data: "):
				data = line[6:]
			case line == "" && name != "":
				return name, data, nil
			}
		}
	}
	name, endpoint, err := next()
	if err != nil || name != "endpoint" {
		h.t.Fatalf("%s %s %v", name, endpoint, err)
	}
	from, write := io.Pipe()
	go func() {
		for {
			_, data, err := next()
			if err != nil {
				write.CloseWithError(io.EOF)
				return
			}
			if _, err := io.WriteString(write, data+"\n"); err != nil {
				return
			}
		}
	}()
	return newPeer(h.t, from, poster{h, who, endpoint, cancel})
}

// poster posts each line that it gets.
type poster struct {
	*hosted
	who, path string
	cancel    func()
}

func (p poster) Write(line []byte) (int, error) {
	if status, _, text := p.send("POST", p.path, p.who, string(line)); status != 202 {
		return 0, fmt.Errorf("%d %s", status, text)
	}
	return len(line), nil
}

func (p poster) Close() error { p.cancel(); return nil }

func TestSSE(t *testing.T) {
	h := host(t, nil)
	p := h.pipe("alice")
	p.can = map[string]any{"elicitation": map[string]any{}}
	if m := p.request("server/discover", nil); m.Error == nil || m.Error.Code != mcp.METHOD_NOT_FOUND {
		t.Errorf("the newer era is not refused: %s %v", m.Result, m.Error)
	}
	p.request("initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": p.can, "clientInfo": map[string]any{"name": "sse", "version": "1"}})
	_, answer := p.start("tools/call", map[string]any{"name": "safe_write", "arguments": write("ask-sse.txt")})
	question := <-p.asked
	if question.Method != "elicitation/create" {
		t.Fatalf("%+v", question)
	}
	endpoint := p.in.(poster).path
	forged := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"decision":"allow once"}}}`, question.ID)
	if status, _, _ := h.send("POST", endpoint, "bob", forged); status != 404 {
		t.Errorf("another principal answers: %d", status)
	}
	p.send(map[string]any{"jsonrpc": "2.0", "id": question.ID, "result": map[string]any{"action": "accept", "content": map[string]any{"decision": "allow once"}}})
	if m := <-answer; m.Error != nil || !exists(h.roots["alice"], "ask-sse.txt") {
		t.Errorf("%s %v", m.Result, m.Error)
	}
	// A client that goes away ends its command.
	p.start("tools/call", map[string]any{"name": "safe_bash", "arguments": map[string]any{"command": "echo $$ > pid; sleep 1000"}})
	pid := pidIn(t, h.roots["alice"])
	p.in.Close()
	until(t, "the end of the command", func() bool { return !alive(pid) })
	until(t, "the end of the session", func() bool { return h.Sessions() == 0 })
	if status, _, _ := h.send("POST", endpoint, "alice", hello); status != 404 {
		t.Errorf("the session still is: %d", status)
	}
}

// pidIn waits for the process that tells its number in root.
func pidIn(t *testing.T, root string) (pid int) {
	t.Helper()
	until(t, "the start of the command", func() bool {
		text, _ := os.ReadFile(filepath.Join(root, "pid"))
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return pid > 0
	})
	return pid
}

// A client that goes away ends its command over streamable HTTP, too; a host that
// closes lets calls end.
func TestHTTPDisconnect(t *testing.T) {
	h := host(t, nil)
	session := h.open("alice")
	ctx, cancel := context.WithCancel(context.Background())
	r, _ := http.NewRequestWithContext(ctx, "POST", h.url+"/mcp", strings.NewReader(callOf(1, "echo $$ > pid; sleep 1000")))
	for k, v := range map[string]string{"Authorization": "Bearer alice-token", "Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Session-Id": session} {
		r.Header.Set(k, v)
	}
	go func() {
		if res, err := h.client.Do(r); err == nil {
			io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
	}()
	pid := pidIn(t, h.roots["alice"])
	cancel()
	until(t, "the end of the command", func() bool { return !alive(pid) })

	answered := make(chan string, 1)
	go func() {
		_, _, text := h.send("POST", "/mcp", "alice", callOf(2, "touch begun; while [ ! -e go ]; do sleep 0.02; done; echo finished"), "Mcp-Session-Id", session)
		answered <- text
	}()
	until(t, "the call", func() bool { return exists(h.roots["alice"], "begun") })
	stopped := make(chan error, 1)
	go func() { stopped <- h.stop() }()
	until(t, "the closing", func() bool {
		status, _, _ := h.send("GET", "/readyz", "", "")
		return status == 503
	})
	if status, _, _ := h.send("POST", "/mcp", "alice", callOf(3, "true"), "Mcp-Session-Id", session); status != 503 {
		t.Errorf("a call is taken while the host closes: %d", status)
	}
	if err := os.WriteFile(filepath.Join(h.roots["alice"], "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if text := <-answered; !strings.Contains(text, "finished") {
		t.Errorf("%s", text)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}
