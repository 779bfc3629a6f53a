package agent_test

import (
	"context"
	"net/http"
	"testing"

	"handrail/guard"
)

// BenchmarkValidator is what a judgement costs besides the model's own time:
// the server answers at once, what it once said to the same request.
func BenchmarkValidator(b *testing.B) {
	l := newRelay(b, start(b).URL)
	w := newWorkplace(b)
	a := newAgent(b, options(b, l.url, "guard-deny", deny, nil))
	c := w.call(b, unknown)
	judge := func() {
		d, err := a.Validate(context.Background(), c, &guard.Decision{Verdict: llm})
		if err != nil || d.Verdict != deny {
			b.Fatalf("%+v, %v", d, err)
		}
	}
	judge() // the self-test
	l.reset(func(_ int, rw http.ResponseWriter, _ *http.Request) bool {
		rw.Header().Set("Content-Type", "application/json; charset=utf-8")
		rw.Write([]byte(`{"model":"guard-deny","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"DENY: fixture denies"},` +
			`"done":true,"done_reason":"stop","prompt_eval_count":2000,"eval_count":2}`))
		return true
	})
	b.ReportAllocs()
	for b.Loop() {
		judge()
	}
}

// BenchmarkCached is a call that was allowed a moment ago, through the whole
// guard.
func BenchmarkCached(b *testing.B) {
	w := newWorkplace(b)
	o := options(b, start(b).URL.String(), "guard-allow", allow, nil)
	o.CacheFor = 0 // the default
	m := w.with(newAgent(b, o), deny)
	c := w.call(b, unknown)
	first := m.Evaluate(context.Background(), c)
	second := m.Evaluate(context.Background(), c)
	if first.Verdict != allow || second.Validator == nil || !second.Validator.Cached {
		b.Fatalf("%+v, %+v", first, second.Validator)
	}
	for b.Loop() {
		m.Evaluate(context.Background(), c)
	}
}
