//go:build linux

package stories

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	library "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// asker answers every question with its word.
type asker string

func (a asker) Elicit(context.Context, mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{Action: mcp.ElicitationResponseActionAccept, Content: map[string]any{"decision": string(a)}}}, nil
}

// askedOverSSE makes a call over HTTP+SSE, and approves what it is asked.
func (tm *team) askedOverSSE(token, command string) result {
	tm.t.Helper()
	ctx, cancel := context.WithTimeout(tm.t.Context(), patience)
	defer cancel()
	send := func(method, path, body string) *http.Response {
		r, err := http.NewRequestWithContext(ctx, method, tm.url+path, strings.NewReader(body))
		if err != nil {
			tm.t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		res, err := tm.client.Do(r)
		if err != nil || res.StatusCode > 202 {
			tm.t.Fatalf("%s %s: %v, %v", method, path, res, err)
		}
		return res
	}
	stream := send("GET", "/sse", "")
	defer stream.Body.Close()
	path, asked := "", false
	post := func(body string) { send("POST", path, body).Body.Close() }
	for lines := bufio.NewScanner(stream.Body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		var m struct {
			ID     json.RawMessage
			Method string
			Result json.RawMessage
		}
		switch {
		case !ok:
		case path == "":
			path = data
			post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"story","version":"1"}}}`)
		case json.Unmarshal([]byte(data), &m) != nil:
			tm.t.Fatal(data)
		case string(m.ID) == "1":
			post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			post(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"safe_bash","arguments":{"command":` + strconv.Quote(command) + `}}}`)
		case m.Method == "elicitation/create":
			asked = true
			post(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"action":"accept","content":{"decision":"allow once"}}}`)
		case string(m.ID) == "2" && m.Method == "":
			if !asked {
				tm.t.Errorf("nobody was asked: %s", m.Result)
			}
			return read(tm.t, m.Result)
		}
	}
	tm.t.Fatalf("the stream ended: %s", tm.said())
	return result{}
}

// A client is asked through the front on every transport; one that goes away
// ends its command in the worker.
func TestUsersAreAsked(t *testing.T) {
	tm := usersOf(t, users)
	token := tm.token("alice")
	tm.start()
	head := map[string]string{"Authorization": "Bearer " + token}
	for _, transported := range []string{"http", "http old", "sse"} {
		t.Run(transported, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			var tr transport.Interface
			var err error
			options := []library.ClientOption{library.WithElicitationHandler(asker("allow once"))}
			if transported == "sse" {
				tr, err = transport.NewSSE(tm.url+"/sse", transport.WithHeaders(head))
			} else {
				tr, err = transport.NewStreamableHTTP(tm.url+"/mcp", transport.WithHTTPHeaders(head))
			}
			if err != nil {
				t.Fatal(err)
			}
			if transported != "http" {
				//lint:ignore SA1019 the older era is what is tested here
				options = append(options, library.WithLegacyProtocolOnly())
			}
			c := library.NewClient(tr, options...)
			if err := c.Start(ctx); err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			var hello mcp.InitializeRequest
			hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
			hello.Params.ClientInfo = mcp.Implementation{Name: "library", Version: "1"}
			if _, err := c.Initialize(ctx, hello); err != nil {
				t.Fatal(err)
			}
			var call mcp.CallToolRequest
			command := "echo K=1 > .env && id -u"
			if transported == "sse" { // on which the library's client cannot be asked
				command = "id -u"
			}
			call.Params.Name, call.Params.Arguments = "safe_bash", map[string]any{"command": command}
			answer, err := c.CallTool(ctx, call)
			if err != nil {
				t.Fatal(err)
			}
			b, err := json.Marshal(answer)
			if err != nil {
				t.Fatal(err)
			}
			if r := read(t, b); r.Verdict != "allow" || r.Stdout != strconv.Itoa(aliceUser)+"\n" || transported != "sse" && !strings.Contains(string(b), `"approved"`) {
				t.Errorf("%s", b)
			}
		})
	}

	if r := tm.askedOverSSE(token, "echo K=2 > .env && id -u"); r.Stdout != strconv.Itoa(aliceUser)+"\n" {
		t.Errorf("%+v", r)
	}

	a := tm.session(token)
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, _, _, err := (&caller{tm: tm, token: token, session: a.session, id: 100}).post(ctx, "tools/call", map[string]any{"name": "safe_bash", "arguments": map[string]any{"command": "sleep 943.210"}})
		left <- err
	}()
	eventually(t, "the command runs", func() bool { return runs("sleep 943.210") })
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	eventually(t, "its client has gone and the command ends", func() bool { return !runs("sleep 943.210") })
}

// A worker that dies takes its own calls and sessions with it, and no other's;
// the next request starts it again. Of a front or a keeper that dies, nothing is
// left. SIGTERM lets calls end.
func TestUsersWhoDie(t *testing.T) {
	tm := usersOf(t, users)
	alice, bob := tm.token("alice"), tm.token("bob")
	kill := func(p process) {
		t.Helper()
		if err := syscall.Kill(p.pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	tm.start()
	a, b := tm.session(alice), tm.session(bob)
	mine, theirs := a.slow("sleep 932.109"), b.slow("sleep 3.2109; echo through")
	kill(tm.part("worker", "alice"))
	if r := <-mine; !strings.HasPrefix(r.Reason, "no answer: ") { // 502, or the stream of the answer ends
		t.Errorf("%+v", r)
	}
	eventually(t, "the worker is dead and its command ends", func() bool { return !runs("sleep 932.109") })
	if r := <-theirs; r.Stdout != "through\n" {
		t.Errorf("bob's call: %+v", r)
	}
	eventually(t, "alice's old session is not known to the new worker", func() bool {
		status, _, _, err := (&caller{tm: tm, token: alice, session: a.session}).post(t.Context(), "tools/list", nil)
		return err == nil && status == 404
	})
	if r := tm.session(alice).bash("id -u"); r.Stdout != strconv.Itoa(aliceUser)+"\n" {
		t.Errorf("%+v", r)
	}
	if r := b.bash("echo still"); r.Stdout != "still\n" {
		t.Errorf("bob's session: %+v", r)
	}

	t.Run("SIGTERM", func(t *testing.T) {
		last := b.slow("sleep 2.1098; echo in time")
		tm.stop()
		if r := <-last; r.Stdout != "in time\n" {
			t.Errorf("%+v\n%s", r, tm.said())
		}
		tm.gone("the server was stopped")
	})
	for _, part := range []string{"keeper", "front"} {
		t.Run(part, func(t *testing.T) {
			tm := tm.again(t)
			tm.start()
			_ = tm.session(bob).slow("sleep 921.098")
			if part == "keeper" {
				kill(process{pid: tm.server.Process.Pid})
			} else {
				kill(tm.part("front", ""))
			}
			if err := tm.server.Wait(); err == nil {
				t.Errorf("it ended well: %s", tm.said())
			}
			tm.gone("the " + part + " was killed")
		})
	}
}

// All principals' calls wait in one queue, and a worker that dies gives its
// places back; over TLS too, to a client that would rather speak HTTP/2.
func TestUsersShareAQueue(t *testing.T) {
	tm := usersOf(t, strings.Replace(users, "limits: {", "tls: {certificate: DIR/cert.pem, key: DIR/key.pem}, limits: {calls: 1, ", 1))
	cert, key := certificateOf(t, 1)
	if err := errors.Join(os.WriteFile(tm.dir+"/cert.pem", []byte(cert), 0o644), os.WriteFile(tm.dir+"/key.pem", []byte(key), 0o600), os.Chown(tm.dir+"/key.pem", frontUser, frontUser)); err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(cert))
	alice, bob := tm.token("alice"), tm.token("bob")
	tm.start()
	tm.client.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	a, b := tm.session(alice), tm.session(bob)
	held := a.slow("sleep 910.987")
	done := make(chan result, 1)
	go func() {
		_, _, answer, err := (&caller{tm: tm, token: bob, session: b.session, id: 1000}).post(context.Background(), "tools/call", map[string]any{"name": "safe_bash", "arguments": map[string]any{"command": "date +%s%N"}})
		if err != nil {
			t.Error(err)
		}
		done <- read(t, answer)
	}()
	time.Sleep(500 * time.Millisecond) // bob's call is there by then, or comes later: it runs after the kill either way
	killed := time.Now().UnixNano()
	if err := syscall.Kill(tm.part("worker", "alice").pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r := <-done
	if at, err := strconv.ParseInt(strings.TrimSpace(r.Stdout), 10, 64); err != nil || at < killed {
		t.Errorf("bob's call ran while alice's had the only place: %+v, %v", r, err)
	}
	<-held
	if res, err := tm.client.Get(tm.url + "/healthz"); err != nil || res.ProtoMajor != 2 {
		t.Errorf("%v, %v", res, err)
	}
}

// What cannot be kept apart is refused before anything listens, with the reason.
func TestUsersThatAreNotServed(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{`user: "23450:23450", `, "", "http: {user: handrail}"},
		{`, user: "23452:23452"`, "", "principal bob has no Unix user"},
		{`"23452:23452"`, `"23451:23451"`, "that of principal alice too"},
		{`"23452:23452"`, `"23450:23450"`, "that of what listens"},
		{`"23452:23452"`, `nobody-of-that-name`, "there is no Unix user nobody-of-that-name"},
		{`"23452:23452"`, `"23452"`, "there is no Unix user 23452"},
		{`"23452:23452"`, `root`, "is root"},
		{`"23452:23452"`, `"0:23452"`, "is root"},
		{`"23452:23452"`, `"23452:0"`, "in the group root"},
		{`"23452:23452"`, `"4294967295:5"`, "is no number"},
		{"llm:", "store: postgres://db/handrail\nllm:", "a store each"},
		{"DIR/work/bob", "DIR/work/of-root", "belongs to user 0"},
		{"DIR/work/bob", "DIR/work/of-alice", "belongs to user 23451"},
		{"DIR/work/bob", "DIR/work/open", "writable by everybody"},
		{"DIR/work/bob", "DIR/closed/bob", "permission denied"},
		{"DIR/work/bob", "DIR/work/alice/bob", "permission denied"},
		{"DIR/lib/state", "DIR/closed/state", "every user of the server must be able to reach it"},
		{"DIR/lib/state", "DIR/work/of-alice", "is root's"},
	} {
		tm := usersOf(t, strings.Replace(users, c.from, c.to, 1))
		for dir, uid := range map[string]int{"/work/of-root": 0, "/work/of-alice": aliceUser, "/work/open": bobUser, "/closed": 0} {
			mode := os.FileMode(0o700)
			if dir == "/work/open" {
				mode = 0o777
			}
			if err := errors.Join(os.MkdirAll(tm.dir+"/work", 0o755), os.Mkdir(tm.dir+dir, 0o700), os.Chmod(tm.dir+dir, mode), os.Chown(tm.dir+dir, uid, uid)); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		cmd := tm.command("serve", "--transport", "http", "--listen", "127.0.0.1:0")
		run := exec.CommandContext(ctx, cmd.Path, cmd.Args[1:]...)
		run.Env, run.Dir = cmd.Env, cmd.Dir
		out, err := run.CombinedOutput()
		cancel()
		if err == nil || !strings.Contains(string(out), c.want) || strings.Contains(string(out), "listening") {
			t.Errorf("%s -> %s: %v, %s; want %q", c.from, c.to, err, out, c.want)
		}
	}
}
