package mcpserver

import (
	"bufio"
	"context"
	"crypto/sha256"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"handrail/internal/store"
	"handrail/mcpserver/auth"
)

// tokens makes a host take the tokens of a real store, and returns what makes one.
// renewed says of the callers that they renew it.
func tokens(t *testing.T, renewed bool) (h *hosted, make func(name string, life time.Duration) string) {
	t.Helper()
	st, err := store.Open(t.Context(), store.Options{Place: filepath.Join(t.TempDir(), "state", "store.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	h = host(t, func(h *Host, _ *Options) {
		h.Authenticate = auth.Tokens(func(ctx context.Context, sum [sha256.Size]byte) (auth.Caller, error) {
			kept, err := st.Bearer(ctx, sum)
			return auth.Caller{Principal: kept.Principal, Credential: kept.ID, Ends: kept.Expires, Renewed: renewed}, err
		})
	})
	return h, func(name string, life time.Duration) string {
		t.Helper()
		token, sum := auth.NewToken()
		if _, err := st.AddToken(t.Context(), store.Token{Name: name, Principal: "alice", Expires: time.Now().Add(life)}, sum); err != nil {
			t.Fatal(err)
		}
		return "Bearer " + token
	}
}

// listening opens a stream; what is read from it comes, and nothing more when it
// has ended.
func (h *hosted) listening(path, token, session string) chan string {
	h.t.Helper()
	r, err := http.NewRequest("GET", h.url+path, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header = http.Header{"Authorization": {token}, "Mcp-Session-Id": {session}, "Accept": {"text/event-stream"}}
	res, err := http.DefaultClient.Do(r)
	if err != nil || res.StatusCode != 200 {
		h.t.Fatalf("%v, %v", res, err)
	}
	h.t.Cleanup(func() { res.Body.Close() })
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(res.Body); in.Scan(); {
			if data, ok := strings.CutPrefix(in.Text(), "data: "); ok {
				lines <- data
			}
		}
	}()
	return lines
}

// over reports whether a stream has ended.
func over(lines chan string) bool {
	for {
		select {
		case _, open := <-lines:
			if !open {
				return true
			}
		default:
			return false
		}
	}
}

// greeted opens a session with a token.
func (h *hosted) greeted(token string) string {
	h.t.Helper()
	status, head, text := h.send("POST", "/mcp", "", hello, "Authorization", token)
	if status != 200 {
		h.t.Fatalf("%d %s", status, text)
	}
	return head.Get("Mcp-Session-Id")
}

const job = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"safe_bash","arguments":{"command":"echo $$ > pid.new; mv pid.new pid; sleep 1000","background":true}}}`

// A token that comes to its end ends what runs on its behalf, without anybody
// asking; a session that another one was used in goes on.
func TestExpiredTokenEndsWhatRuns(t *testing.T) {
	h, token := tokens(t, false)
	long := token("long", time.Hour)
	short := token("short", 6*time.Second)
	own, shared := h.greeted(short), h.greeted(short)
	if status, _, text := h.send("POST", "/mcp", "", callOf(1, "true"), "Authorization", long, "Mcp-Session-Id", shared); status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	if status, _, text := h.send("POST", "/mcp", "", job, "Authorization", short, "Mcp-Session-Id", shared); status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	background := pidIn(t, h.roots["alice"])
	if err := os.Remove(filepath.Join(h.roots["alice"], "pid")); err != nil {
		t.Fatal(err)
	}
	answered := make(chan int, 1)
	go func() {
		status, _, _ := h.send("POST", "/mcp", "", callOf(2, "echo $$ > pid.new; mv pid.new pid; sleep 1000"), "Authorization", short, "Mcp-Session-Id", own)
		answered <- status
	}()
	call := pidIn(t, h.roots["alice"])
	stream, sse := h.listening("/mcp", short, own), h.listening("/sse", short, "")
	until(t, "the end of the command", func() bool { return !alive(call) })
	until(t, "the end of the job", func() bool { return !alive(background) })
	until(t, "the end of the streams", func() bool { return over(stream) && over(sse) })
	if status := <-answered; status != 401 {
		t.Errorf("the call was answered with %d", status)
	}
	until(t, "the end of the session", func() bool { return h.Sessions() == 1 })
	if status, _, text := h.send("POST", "/mcp", "", callOf(3, "echo here"), "Authorization", long, "Mcp-Session-Id", shared); status != 200 || !strings.Contains(text, "here") {
		t.Errorf("the session of another token: %d %s", status, text)
	}
	// Nobody looks any more where nothing is open.
	if status, _, _ := h.send("DELETE", "/mcp", "", "", "Authorization", long, "Mcp-Session-Id", shared); status != 200 {
		t.Errorf("its end: %d", status)
	}
	until(t, "the end of the watch", func() bool {
		h.standing.mu.Lock()
		defer h.standing.mu.Unlock()
		return !h.standing.watching && len(h.standing.known) == 0
	})
}

// A credential that its client renews ends a stream by its time, not what runs:
// with the next one the session goes on. A stream that is a session goes on with
// the call that runs in it.
func TestRenewedCredential(t *testing.T) {
	h, token := tokens(t, true)
	first := token("first", 6*time.Second)
	session := h.greeted(first)
	stream, sse := h.listening("/mcp", first, session), h.listening("/sse", first, "")
	if status, _, text := h.send("POST", "/mcp", "", job, "Authorization", first, "Mcp-Session-Id", session); status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	background := pidIn(t, h.roots["alice"])
	work := func(id int, sign string) string {
		return callOf(id, "touch begun-"+sign+"; while [ ! -e go-"+sign+" ]; do sleep 0.05; done; echo finished")
	}
	answered := make(chan string, 1)
	go func() {
		_, _, text := h.send("POST", "/mcp", "", work(2, "a"), "Authorization", first, "Mcp-Session-Id", session)
		answered <- text
	}()
	endpoint := <-sse
	for _, m := range []string{hello, work(3, "b")} {
		if status, _, text := h.send("POST", endpoint, "", m, "Authorization", first); status != 202 {
			t.Fatalf("%d %s", status, text)
		}
	}
	until(t, "the calls", func() bool { return exists(h.roots["alice"], "begun-a") && exists(h.roots["alice"], "begun-b") })
	until(t, "the end of the stream", func() bool { return over(stream) })
	if status, _, _ := h.send("POST", "/mcp", "", callOf(4, "true"), "Authorization", first, "Mcp-Session-Id", session); status != 401 {
		t.Errorf("a request after its end: %d", status)
	}
	for _, sign := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(h.roots["alice"], "go-"+sign), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if text := <-answered; !strings.Contains(text, "finished") {
		t.Errorf("the call was ended: %s", text)
	}
	said := ""
	for line := range sse { // until it ends
		said += line
	}
	if !strings.Contains(said, "finished") {
		t.Errorf("the call over SSE was ended: %s", said)
	}
	second := token("second", time.Hour)
	if status, _, text := h.send("POST", "/mcp", "", callOf(5, "echo here"), "Authorization", second, "Mcp-Session-Id", session); status != 200 || !strings.Contains(text, "here") {
		t.Errorf("the session: %d %s", status, text)
	}
	if !alive(background) {
		t.Error("the job was ended")
	}
}

// Where nobody can say for long whether credentials hold, what they opened ends.
func TestNobodyKnowsWhetherItHolds(t *testing.T) {
	h, token := tokens(t, false)
	var asked bool
	h.Withdrawn = func(context.Context, []auth.Caller) ([]string, error) {
		asked = true
		return nil, io.ErrUnexpectedEOF
	}
	long := token("long", time.Hour)
	stream := h.listening("/sse", long, "")
	until(t, "the question", func() bool {
		h.standing.mu.Lock()
		defer h.standing.mu.Unlock()
		return asked
	})
	if over(stream) {
		t.Error("one fault ends it")
	}
	h.standing.mu.Lock()
	h.standing.answered = time.Now().Add(-2 * doubt)
	h.standing.mu.Unlock()
	until(t, "the end of the stream", func() bool { return over(stream) })
}
