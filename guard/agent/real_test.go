package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"handrail/guard"
	"handrail/guard/agent"
	"handrail/skills"
)

// ready asks until the Agent has checked its server, however short its deadline.
func ready(t *testing.T, m *guard.Manager, c *guard.EvalContext) *guard.Decision {
	t.Helper()
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		d := m.Evaluate(context.Background(), c)
		if d.Validator != nil && d.Validator.Fault == "" {
			return d
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("the agent does not get ready: %+v %+v", d, d.Validator)
		}
	}
}

// TestDead has a server that dies: the fallback counts, and people are told once.
func TestDead(t *testing.T) {
	s := start(t)
	w := newWorkplace(t)
	for _, fallback := range []guard.Verdict{ask, deny} {
		r := &recorder{}
		m := w.with(newAgent(t, options(t, s.URL.String(), "guard-allow", allow, r)), fallback)
		if fallback == ask { // the second agent finds no server at all
			if d := ready(t, m, w.call(t, unknown)); d.Verdict != allow {
				t.Fatalf("alive: %s (%s)", d.Verdict, d.Reason)
			}
			s.Kill()
		}
		for range 4 {
			d := m.Evaluate(context.Background(), w.call(t, unknown))
			if d.Verdict != fallback || d.Validator == nil || d.Validator.Fault == "" {
				t.Errorf("dead: %s (%s), want %s by the fallback; %+v", d.Verdict, d.Reason, fallback, d.Validator)
			}
		}
		r.mu.Lock()
		if len(r.notices) != 1 {
			t.Errorf("told %d times: %q", len(r.notices), r.notices)
		}
		r.mu.Unlock()
	}
}

// TestDiesAnswering kills the server in the middle of an answer.
func TestDiesAnswering(t *testing.T) {
	s := start(t)
	w := newWorkplace(t)
	l := newRelay(t, s.URL)
	m := w.with(newAgent(t, options(t, l.url, "guard-loop", deny, nil)), deny)
	ready(t, m, w.call(t, unknown))
	l.reset(func(_ int, rw http.ResponseWriter, r *http.Request) bool {
		go s.Kill()
		return false
	})
	if d := m.Evaluate(context.Background(), w.call(t, unknown)); d.Verdict > ask {
		t.Errorf("%s (%s)", d.Verdict, d.Reason)
	}
}

// TestMissingModel has a server that is well, and no such model.
func TestMissingModel(t *testing.T) {
	host := start(t).URL.String()
	w := newWorkplace(t)
	a := newAgent(t, options(t, host, "guard-nowhere", allow, nil))
	if _, err := a.Check(context.Background()); !errors.Is(err, agent.ErrModel) {
		t.Errorf("check: %v", err)
	}
	for _, fallback := range []guard.Verdict{ask, deny} {
		if d := w.with(a, fallback).Evaluate(context.Background(), w.call(t, unknown)); d.Verdict != fallback || d.Validator.Fault == "" {
			t.Errorf("%s (%s), want %s by the fallback", d.Verdict, d.Reason, fallback)
		}
	}
}

// TestSlow has a model that talks for longer than the deadline. Its time is up
// for a reason that a caller can bring about, so that is an ask; and the server
// stops, so that the next is served: one at a time, by a model that would
// otherwise still talk for minutes.
func TestSlow(t *testing.T) {
	s := start(t, "OLLAMA_NUM_PARALLEL=1")
	w := newWorkplace(t)
	r := &recorder{}
	o := options(t, s.URL.String(), "guard-loop", deny, r)
	o.Deadline, o.NumPredict = 300*time.Millisecond, 9000
	a := newAgent(t, o)
	d := ready(t, w.with(a, deny), w.call(t, unknown))
	if got := r.last(t); d.Verdict != ask || !errors.Is(got.Cause, agent.ErrTime) {
		t.Errorf("%s (%s), cause %v", d.Verdict, d.Reason, got.Cause)
	}
	o.Deadline, o.NumPredict = 20*time.Second, 9000
	gone, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if d, err := newAgent(t, o).Validate(gone, w.call(t, unknown), &guard.Decision{Verdict: llm}); d != nil && d.Verdict > ask || d == nil && err == nil {
		t.Errorf("the caller went away: %+v, %v", d, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	body := `{"model":"guard-loop","stream":false,"messages":[{"role":"user","content":"x"}],"options":{"num_ctx":16384,"num_predict":3}}`
	if _, err := post(ctx, s.URL.String(), body); err != nil {
		t.Errorf("the server is still busy: %v", err)
	}
}

// TestFullQueueOnServer fills a real server: one model that talks and cannot be
// unloaded, another that waits for its place, a third in the queue.
func TestFullQueueOnServer(t *testing.T) {
	s := start(t, "OLLAMA_MAX_QUEUE=1", "OLLAMA_MAX_LOADED_MODELS=1", "OLLAMA_NUM_PARALLEL=1")
	w := newWorkplace(t)
	l := newRelay(t, s.URL)
	m := w.with(newAgent(t, options(t, l.url, "guard-allow", allow, nil)), ask)
	if d := ready(t, m, w.call(t, unknown)); d.Verdict != allow {
		t.Fatalf("%s (%s)", d.Verdict, d.Reason)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	talk := func(model string) string {
		return `{"model":"` + model + `","messages":[{"role":"user","content":"x"}],"options":{"num_ctx":32768,"num_predict":30000}}`
	}
	talking, err := send(ctx, s.URL.String(), talk("guard-loop"))
	if err != nil {
		t.Fatal(err)
	}
	defer talking.Body.Close()
	if _, err := talking.Body.Read(make([]byte, 1)); err != nil || talking.StatusCode != http.StatusOK {
		t.Fatalf("%s, %v", talking.Status, err)
	}
	full := false
	for began := time.Now(); !full && time.Since(began) < 20*time.Second; time.Sleep(50 * time.Millisecond) {
		go post(ctx, s.URL.String(), talk("guard-deny"))
		go post(ctx, s.URL.String(), talk("guard-ask"))
		brief, done := context.WithTimeout(ctx, time.Second)
		status, _ := post(brief, s.URL.String(), talk("guard-garbage"))
		done()
		full = status == http.StatusServiceUnavailable
	}
	if !full {
		t.Fatal("the queue does not fill")
	}
	l.reset(nil)
	d := m.Evaluate(context.Background(), w.call(t, unknown))
	if d.Verdict != ask || d.Validator.Fault == "" || len(l.asked()) != 2 {
		t.Errorf("%s (%s) after %d requests; want the fallback after two; %+v", d.Verdict, d.Reason, len(l.asked()), d.Validator)
	}
}

// TestQueueOnce has a queue that is full once only.
func TestQueueOnce(t *testing.T) {
	w := newWorkplace(t)
	l := newRelay(t, start(t).URL)
	m := w.with(newAgent(t, options(t, l.url, "guard-allow", allow, nil)), deny)
	ready(t, m, w.call(t, unknown))
	l.reset(func(n int, rw http.ResponseWriter, _ *http.Request) bool {
		if n == 1 {
			http.Error(rw, `{"error":"server busy, please try again.  maximum pending requests exceeded"}`, http.StatusServiceUnavailable)
		}
		return n == 1
	})
	if d := m.Evaluate(context.Background(), w.call(t, unknown)); d.Verdict != allow || len(l.asked()) != 2 {
		t.Errorf("%s (%s) after %d requests", d.Verdict, d.Reason, len(l.asked()))
	}
}

// TestOverflow has evidence and skills that do not fit. Nothing is cut: the
// model is not asked, or not any more.
func TestOverflow(t *testing.T) {
	w := newWorkplace(t)
	l := newRelay(t, start(t).URL)
	ctx := context.Background()

	a := newAgent(t, options(t, l.url, "guard-rules", deny, nil))
	ready(t, w.with(a, deny), w.call(t, unknown))
	for name, command := range map[string]string{
		"command":       "frobnicate FIXTURE_ALLOW " + strings.Repeat("x", 12000),
		"comment":       "frobnicate FIXTURE_ALLOW # " + strings.Repeat("long ", 3000),
		"here-document": "frobnicate FIXTURE_ALLOW <<'END'\n" + strings.Repeat("line\n", 3000) + "END",
		"many bytes":    "frobnicate FIXTURE_ALLOW '" + strings.Repeat("漢", 4000) + "'",
		"hidden bytes":  "frobnicate FIXTURE_ALLOW '" + strings.Repeat("\u200b", 3000) + "'",
	} {
		l.reset(nil)
		d, err := a.Validate(ctx, w.call(t, command), &guard.Decision{Verdict: llm})
		if err != nil || d.Verdict != ask || !strings.Contains(d.Reason, "too long") || len(l.asked()) > 0 {
			t.Errorf("%s: %+v, %v, after %d requests", name, d, err, len(l.asked()))
		}
	}

	o := options(t, l.url, "guard-skill-allow", deny, nil)
	o.Skills = []skills.Skill{{Name: "simulate", Description: "walk through it", Body: strings.Repeat("step by step ", 2000)}}
	l.reset(nil)
	d, err := newAgent(t, o).Validate(ctx, w.call(t, unknown), &guard.Decision{Verdict: llm})
	if err != nil || d.Verdict != ask || !strings.Contains(d.Reason, "do not fit") {
		t.Errorf("a skill that does not fit: %+v, %v", d, err)
	}
	for _, body := range l.asked() { // whatever was asked, no server was allowed to cut it
		var r struct {
			Truncate, Shift *bool
			Options         struct {
				Context int `json:"num_ctx"`
			}
			Messages []struct{ Content string }
		}
		size := 0
		if err := json.Unmarshal(body, &r); err != nil {
			t.Fatal(err)
		}
		for _, m := range r.Messages {
			size += len(m.Content)
		}
		if r.Truncate == nil || *r.Truncate || r.Shift == nil || *r.Shift || size+o.NumPredict+1024 > r.Options.Context {
			t.Errorf("%d bytes in a context of %d: %.200s", size, r.Options.Context, body)
		}
	}
}

// TestBreakerOnServer has a server whose model crashes at every call: after a few
// of them it is not asked any more, and people are told once.
func TestBreakerOnServer(t *testing.T) {
	w := newWorkplace(t)
	l := newRelay(t, start(t).URL)
	r := &recorder{}
	m := w.with(newAgent(t, options(t, l.url, "guard-allow", allow, r)), ask)
	ready(t, m, w.call(t, unknown))
	l.reset(func(_ int, rw http.ResponseWriter, _ *http.Request) bool {
		http.Error(rw, `{"error":"llama runner process has terminated"}`, http.StatusInternalServerError)
		return true
	})
	for range 6 {
		if d := m.Evaluate(context.Background(), w.call(t, unknown)); d.Verdict != ask || d.Validator.Fault == "" {
			t.Errorf("%s (%s), want the fallback", d.Verdict, d.Reason)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(l.asked()); n > 5 || len(r.notices) != 1 {
		t.Errorf("asked %d times for 6 calls, told %q", n, r.notices)
	}
}

// send sends a request for a chat straight to a server.
func send(ctx context.Context, host, body string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, host+"/api/chat", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	return http.DefaultClient.Do(r)
}

// post does so, waits for the end and returns the status.
func post(ctx context.Context, host, body string) (status int, err error) {
	res, err := send(ctx, host, body)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, err
}
