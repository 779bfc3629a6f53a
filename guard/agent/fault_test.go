package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"handrail/guard"
	"handrail/skills"
)

// broken is a server that answers every question about itself as Ollama does,
// and misbehaves as chat says. What a real server can do is tested on one.
type broken struct {
	*httptest.Server
	chats  atomic.Int32
	chat   http.HandlerFunc
	digest atomic.Value // of the model, a string
}

func serveBroken(t *testing.T, chat http.HandlerFunc) *broken {
	b := &broken{chat: chat}
	b.digest.Store("d1")
	mux := http.NewServeMux()
	mux.HandleFunc("/api/version", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"version":"0.17.4"}`) })
	mux.HandleFunc("/api/show", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"capabilities":["completion","tools"],"model_info":{"x.context_length":40960}}`)
	})
	mux.HandleFunc("/api/tags", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"models":[{"name":"m:latest","digest":%q}]}`, b.digest.Load())
	})
	mux.HandleFunc("/api/chat", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Messages []json.RawMessage `json:"messages"`
		}
		body, _ := io.ReadAll(r.Body) // all of it, or the server does not see when the client goes away
		if json.Unmarshal(body, &in) == nil && len(in.Messages) == 0 {
			fmt.Fprint(w, `{"done":true,"done_reason":"load"}`)
			return
		}
		b.chats.Add(1)
		b.chat(w, r)
	})
	b.Server = httptest.NewServer(mux)
	t.Cleanup(func() { b.CloseClientConnections(); b.Close() })
	return b
}

func says(content string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		b, _ := json.Marshal(map[string]any{"message": map[string]string{"role": "assistant", "content": content}, "done": true, "done_reason": "stop"})
		w.Write(b)
	}
}

// agentOf makes an agent whose self-test is passed without the server.
func agentOf(t *testing.T, host string, change func(*Options)) *Agent {
	t.Helper()
	all, err := skills.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	opt := Options{Host: host, Model: "m", Skills: all, Deadline: 2 * time.Second, Home: "/home/u"}
	if change != nil {
		change(&opt)
	}
	a, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	a.state.model = &model{digest: "d1", context: a.opt.NumCtx, tools: true}
	return a
}

func call(command string) (*guard.EvalContext, *guard.Decision) {
	c, d := Case{Command: command}.call()
	d.Digest = "digest of " + command
	return c, d
}

const done = `"done":true,"done_reason":"stop"}`

func TestBrokenServers(t *testing.T) {
	allow := `{"message":{"role":"assistant","content":"ALLOW"},`
	elsewhere := httptest.NewServer(says("ALLOW"))
	defer elsewhere.Close()
	write := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
	}
	status := func(code int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code); fmt.Fprint(w, text) }
	}
	for name, c := range map[string]struct {
		chat http.HandlerFunc
		want error // of Validate where it is a fault of the server, else the cause of an ask
	}{
		"500":        {status(500, `{"error":"llama runner process has terminated"}`), ErrServer},
		"502, empty": {status(502, ""), ErrServer},
		"503, empty": {status(503, ""), ErrBusy},
		"404":        {status(404, `{"error":"model 'm' not found"}`), ErrModel},
		"401":        {status(401, `{"error":"unauthorized"}`), ErrServer},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}, ErrServer},
		"other host":    {write(`{"remote_host":"https://example.org",` + allow[1:] + done), ErrServer},
		"400":           {status(400, `{"error":"the input length exceeds the context length"}`), ErrTooLong},
		"200, empty":    {write(""), ErrCut},
		"not done":      {write(allow + `"done":false}`), ErrCut},
		"two answers":   {write(allow + done + "\n" + allow + done), ErrCut},
		"cut by length": {write(allow + `"done":true,"done_reason":"length"}`), ErrCut},
		"no JSON":       {write("<html>"), ErrCut},
		"error in 200":  {write(`{"error":"ALLOW"}`), ErrCut},
		"full context":  {write(allow + `"prompt_eval_count":16000,` + done), ErrTooLong},
		"empty answer":  {says(""), ErrForm},
		"prose":         {says("I think that is fine. ALLOW"), ErrForm},
		"tool when forced": {write(`{"message":{"role":"assistant","tool_calls":[{"function":{"name":"Skill","arguments":{"skill":"none"}}}]},` + done),
			ErrForm},
		"slow body": {func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, allow+done)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, ErrTime},
		"hangs": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, ErrTime},
		"hangs up": {func(w http.ResponseWriter, _ *http.Request) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			conn.Close()
		}, ErrCut},
		"hangs up in the middle": {func(w http.ResponseWriter, _ *http.Request) {
			conn, buf, _ := w.(http.Hijacker).Hijack()
			fmt.Fprintf(buf, "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n%s", allow)
			buf.Flush()
			conn.Close()
		}, ErrCut},
	} {
		t.Run(name, func(t *testing.T) {
			s := serveBroken(t, c.chat)
			var rec Record
			a := agentOf(t, s.URL, func(o *Options) {
				o.Deadline = 400 * time.Millisecond
				o.OnDecision = func(r Record) { rec = r }
			})
			x, why := call("python3 -c 'print(1)'")
			d, err := a.Validate(context.Background(), x, why)
			if errors.Is(c.want, ErrServer) {
				if !errors.Is(err, c.want) || d.Verdict != guard.VerdictDeny || d.Validator.Fault == "" || !errors.Is(rec.Cause, c.want) || rec.Turns != 1 || rec.Model != "m" {
					t.Errorf("%+v, %v, %+v; want the error %v", d, err, rec, c.want)
				}
				return
			}
			if err != nil || d.Verdict != guard.VerdictAsk || !errors.Is(rec.Cause, c.want) || rec.Digest != why.Digest {
				t.Errorf("%+v, %v, %+v; want ask because of %v", d, err, rec, c.want)
			}
		})
	}
}

func TestDownIsAFault(t *testing.T) {
	s := serveBroken(t, says("ALLOW"))
	s.Close()
	x, why := call("x")
	var told []string
	a := agentOf(t, s.URL, func(o *Options) { o.Notice = func(s string) { told = append(told, s) } })
	for range 5 {
		if d, err := a.Validate(context.Background(), x, why); !errors.Is(err, ErrDown) {
			t.Fatalf("%+v, %v", d, err)
		}
		a.state.model = &model{digest: "d1", context: 16384}
	}
	if len(told) != 1 {
		t.Errorf("told %d times: %q", len(told), told)
	}
}

// A full queue is tried once more, and only once.
func TestFullQueue(t *testing.T) {
	for full, want := range map[int32]error{1: nil, 2: ErrBusy} {
		var s *broken
		s = serveBroken(t, func(w http.ResponseWriter, r *http.Request) {
			if s.chats.Load() <= full {
				w.WriteHeader(503)
				fmt.Fprint(w, `{"error":"server busy, please try again"}`)
				return
			}
			says("ALLOW")(w, r)
		})
		x, why := call("x")
		d, err := agentOf(t, s.URL, nil).Validate(context.Background(), x, why)
		if !errors.Is(err, want) || want == nil && d.Verdict != guard.VerdictAllow || s.chats.Load() != 2 {
			t.Errorf("full %d times: %+v, %v, %d requests", full, d, err, s.chats.Load())
		}
	}
}

func TestBreaker(t *testing.T) {
	s := serveBroken(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
	a := agentOf(t, s.URL, nil)
	x, why := call("x")
	for range 10 {
		if _, err := a.Validate(context.Background(), x, why); !errors.Is(err, ErrServer) {
			t.Fatal(err)
		}
		a.state.model = &model{digest: "d1", context: 16384}
	}
	if n := s.chats.Load(); n != trips {
		t.Errorf("%d requests, want %d", n, trips)
	}
	var b breaker
	now := time.Now()
	for _, err := range []error{ErrDown, ErrTime, ErrDown} {
		b.note(err, now)
	}
	if err := b.open(now); !errors.Is(err, ErrTime) || errors.Is(err, ErrServer) {
		t.Errorf("a breaker that a caller helped to trip: %v", err)
	}
	if err := b.open(now.Add(rest + 1)); err != nil {
		t.Errorf("it does not close: %v", err)
	}
	b.note(nil, now)
	if b.failures != 0 {
		t.Error("an answer does not reset it")
	}
}

// A caller that goes away is no fault of the server.
func TestCancelled(t *testing.T) {
	var cancel context.CancelFunc
	stopped := make(chan struct{}, 8)
	s := serveBroken(t, func(_ http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done(); stopped <- struct{}{} })
	a := agentOf(t, s.URL, func(o *Options) { o.Deadline = 20 * time.Second })
	for range trips + 1 {
		var ctx context.Context
		ctx, cancel = context.WithCancel(context.Background())
		defer cancel()
		x, why := call("x")
		if d, err := a.Validate(ctx, x, why); err != nil || d.Verdict != guard.VerdictAsk {
			t.Fatalf("%+v, %v", d, err)
		}
		<-stopped // the request is gone at the server, too
	}
	if a.breaker.failures != 0 {
		t.Error("the breaker counts calls that went away")
	}
}
