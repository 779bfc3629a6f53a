//go:build linux

package stories

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// standing opens a stream and returns what says that it has ended.
func (tm *team) standing(path, token, session string) (ended chan struct{}) {
	tm.t.Helper()
	r, err := http.NewRequestWithContext(tm.t.Context(), "GET", tm.url+path, nil)
	if err != nil {
		tm.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Accept", "text/event-stream")
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	res, err := tm.client.Do(r)
	if err != nil || res.StatusCode != 200 {
		tm.t.Fatal(res, err)
	}
	ended = make(chan struct{})
	go func() {
		defer close(ended)
		defer res.Body.Close()
		io.Copy(io.Discard, res.Body)
	}()
	return ended
}

// runsOn starts a command that runs for long in a call, and returns what its
// request came to.
func (c *caller) runsOn(seconds string) (status chan int) {
	c.tm.t.Helper()
	status = make(chan int, 1)
	own := &caller{tm: c.tm, token: c.token, session: c.session, id: c.id + 1000}
	c.id++
	go func() {
		code, _, _, err := own.post(context.Background(), "tools/call", map[string]any{"name": "safe_bash", "arguments": map[string]any{"command": "sleep " + seconds}})
		if err != nil {
			code = -1
		}
		status <- code
	}()
	eventually(c.tm.t, "the command runs", func() bool { return runs("sleep " + seconds) })
	return status
}

// job starts a command in the background.
func (c *caller) job(seconds string) {
	c.tm.t.Helper()
	if r := c.call("safe_bash", map[string]any{"command": "sleep " + seconds, "background": true}); !r.Running {
		c.tm.t.Fatalf("%+v", r)
	}
}

// newer makes a call of the era without sessions, in the background.
func (tm *team) newer(token, seconds string) (status chan int) {
	tm.t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": "safe_bash", "arguments": map[string]any{"command": "sleep " + seconds},
		"_meta": map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": map[string]any{"name": "story", "version": "1"}, "io.modelcontextprotocol/clientCapabilities": map[string]any{}}}})
	if err != nil {
		tm.t.Fatal(err)
	}
	r, err := http.NewRequest("POST", tm.url+"/mcp", strings.NewReader(string(body)))
	if err != nil {
		tm.t.Fatal(err)
	}
	for k, v := range map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "safe_bash"} {
		r.Header.Set(k, v)
	}
	status = make(chan int, 1)
	go func() {
		res, err := tm.client.Do(r)
		if err != nil {
			status <- -1
			return
		}
		defer res.Body.Close()
		io.Copy(io.Discard, res.Body)
		status <- res.StatusCode
	}()
	eventually(tm.t, "the command runs", func() bool { return runs("sleep " + seconds) })
	return status
}

// A token that another process revokes ends all that runs on its behalf, over
// every transport: calls, jobs, streams, and the sessions that only it used.
// What its principal does by another token goes on, and so do others.
func TestRevokedTokenEndsWhatRuns(t *testing.T) { revokes(t, teamOf(t, two)) }

// So it is where another process serves the principal.
func TestRevokedTokenOfUsers(t *testing.T) { revokes(t, usersOf(t, users)) }

func revokes(t *testing.T, tm *team) {
	laptop, desktop, bob := tm.token("alice"), tm.tokenNamed("desktop", "alice"), tm.token("bob")
	tm.start()
	a, d, b := tm.session(laptop), tm.session(desktop), tm.session(bob)
	call, other, newer := a.runsOn("943.210"), b.runsOn("898.765"), tm.newer(laptop, "887.654")
	a.job("932.109")
	d.job("921.098")
	shared := &caller{tm: tm, token: laptop, session: d.session, id: 500}
	shared.job("910.987")
	stream, sse, kept := tm.standing("/mcp", laptop, a.session), tm.standing("/sse", laptop, ""), tm.standing("/mcp", desktop, d.session)

	tm.must("token", "revoke", "alice")
	for what, ended := range map[string]chan struct{}{"GET /mcp": stream, "GET /sse": sse} {
		eventually(t, what+" ends", func() bool {
			select {
			case <-ended:
				return true
			default:
				return false
			}
		})
	}
	for _, seconds := range []string{"943.210", "932.109", "910.987", "887.654"} {
		eventually(t, "the end of sleep "+seconds, func() bool { return !runs("sleep " + seconds) })
	}
	for what, status := range map[string]chan int{"a call": call, "a call of the newer era": newer} {
		if code := <-status; code != 401 {
			t.Errorf("%s was answered with %d", what, code)
		}
	}
	eventually(t, "the end of the session", func() bool {
		code, _, _, _ := (&caller{tm: tm, token: desktop, session: a.session}).post(t.Context(), "ping", nil)
		return code == 404
	})
	if r := d.bash("echo here"); r.Stdout != "here\n" || !runs("sleep 921.098") || !runs("sleep 898.765") {
		t.Errorf("what is others' ended: %+v", r)
	}
	select {
	case <-kept:
		t.Error("the stream of another token ended")
	case <-other:
		t.Error("bob's call ended")
	default:
	}
	if said := tm.said(); !strings.Contains(said, "a credential holds no more") {
		t.Errorf("the log does not tell: %s", said)
	}
}

// Who is taken out of the principals is not served any more, at once, and what
// runs for them ends.
func TestPrincipalTakenOut(t *testing.T) {
	tm := teamOf(t, two)
	alice, bob := tm.token("alice"), tm.token("bob")
	tm.start()
	a, b := tm.session(alice), tm.session(bob)
	a.job("876.543")
	call := b.runsOn("865.432")
	b.job("854.321")
	tm.write("home/.config/handrail/config.yaml", "principals: {") // half a file changes nothing
	if r := b.bash("echo here"); r.Stdout != "here\n" {
		t.Errorf("%+v", r)
	}
	tm.write("home/.config/handrail/config.yaml", strings.Replace(two, "  bob: {workspace: WORK/bob}\n", "", 1))
	eventually(t, "bob's commands end", func() bool { return !runs("sleep 865.432") && !runs("sleep 854.321") })
	if code := <-call; code != 401 {
		t.Errorf("his call was answered with %d", code)
	}
	if code, _, _, err := b.post(t.Context(), "ping", nil); code != 403 {
		t.Errorf("he is answered with %d, %v", code, err)
	}
	if r := a.bash("echo here"); r.Stdout != "here\n" || !runs("sleep 876.543") {
		t.Errorf("alice is not served: %+v", r)
	}
}

// tokenNamed makes a token of a principal under a name of its own.
func (tm *team) tokenNamed(name, principal string) string {
	tm.t.Helper()
	for _, word := range strings.Fields(tm.must("token", "create", "--principal", principal, name)) {
		if strings.HasPrefix(word, "hrt_") {
			return word
		}
	}
	tm.t.Fatal("no token was printed")
	return ""
}
