package elicit

import (
	"encoding/base64"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"
)

var call = Question{Digest: "d1", Tool: "safe_bash", Principal: "ann", Session: "s1"}

func TestRedeemOnce(t *testing.T) {
	b := NewBook()
	state, err := b.Seal(call)
	if err != nil {
		t.Fatal(err)
	}
	asked, err := b.Redeem(state, call)
	if err != nil {
		t.Fatal(err)
	}
	if d := time.Since(asked); d < -time.Second || d > time.Minute {
		t.Errorf("asked %v ago", d)
	}
	if _, err := b.Redeem(state, call); !errors.Is(err, ErrState) {
		t.Errorf("a replayed state gave %v, want ErrState", err)
	}
}

func TestRedeemConcurrently(t *testing.T) {
	b := NewBook()
	state, _ := b.Seal(call)
	var wg sync.WaitGroup
	wins := make(chan bool, 50)
	for range 50 {
		wg.Go(func() {
			if _, err := b.Redeem(state, call); err == nil {
				wins <- true
			}
		})
	}
	wg.Wait()
	if len(wins) != 1 {
		t.Errorf("%d redeemed one state, want 1", len(wins))
	}
}

func TestRedeemRefuses(t *testing.T) {
	other := func(change func(*Question)) Question { q := call; change(&q); return q }
	tests := []struct {
		name string
		q    Question
		with func(string) string
		wait time.Duration
	}{
		{name: "other digest", q: other(func(q *Question) { q.Digest = "d2" })},
		{name: "other tool", q: other(func(q *Question) { q.Tool = "safe_write" })},
		{name: "other principal", q: other(func(q *Question) { q.Principal = "bob" })},
		{name: "other session", q: other(func(q *Question) { q.Session = "s2" })},
		{name: "expired", q: call, wait: lifetime},
		{name: "empty", q: call, with: func(string) string { return "" }},
		{name: "no signature", q: call, with: func(s string) string { return s[:strings.IndexByte(s, '.')] }},
		{name: "empty signature", q: call, with: func(s string) string { return s[:strings.IndexByte(s, '.')+1] }},
		{name: "other body", q: other(func(q *Question) { q.Digest = "d2" }), with: func(s string) string {
			body, sig, _ := strings.Cut(s, ".")
			b, _ := base64.RawURLEncoding.DecodeString(body)
			b = []byte(strings.Replace(string(b), `"d1"`, `"d2"`, 1))
			return base64.RawURLEncoding.EncodeToString(b) + "." + sig
		}},
		{name: "other key", q: call, with: func(string) string { s, _ := NewBook().Seal(call); return s }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := NewBook()
			state, err := b.Seal(call)
			if err != nil {
				t.Fatal(err)
			}
			now := time.Now().Add(tt.wait)
			b.now = func() time.Time { return now }
			if tt.with != nil {
				state = tt.with(state)
			}
			if _, err := b.Redeem(state, tt.q); !errors.Is(err, ErrState) {
				t.Errorf("got %v, want ErrState", err)
			}
		})
	}
}

// A state of ours that came back with another call is used up: the answer to it
// cannot be tried on call after call.
func TestMisuseSpends(t *testing.T) {
	b := NewBook()
	state, _ := b.Seal(call)
	wrong := call
	wrong.Digest = "d2"
	b.Redeem(state, wrong)
	if _, err := b.Redeem(state, call); err == nil {
		t.Error("the state was still good after it had been used for another call")
	}
}

func TestEveryBitCounts(t *testing.T) {
	b := NewBook()
	state, _ := b.Seal(call)
	for i := range state {
		for _, c := range "Az0-" {
			if altered := state[:i] + string(c) + state[i+1:]; altered != state {
				// The last character of each half carries unused bits; decoded equal
				// means equal.
				if same(altered, state) {
					continue
				}
				if _, err := b.Redeem(altered, call); err == nil {
					t.Fatalf("accepted with byte %d altered", i)
				}
			}
		}
	}
	if _, err := b.Redeem(state, call); err != nil {
		t.Errorf("the true state was refused after the forged ones: %v", err)
	}
}

func same(a, b string) bool {
	x, y, _ := strings.Cut(a, ".")
	v, w, _ := strings.Cut(b, ".")
	dec := func(s string) string { d, _ := base64.RawURLEncoding.DecodeString(s); return string(d) }
	return dec(x) == dec(v) && dec(y) == dec(w)
}

func TestBookIsBounded(t *testing.T) {
	b := NewBook()
	now := time.Now()
	b.now = func() time.Time { return now }
	first, _ := b.Seal(call)
	for range 3 * maxOpen {
		now = now.Add(time.Millisecond)
		if _, err := b.Seal(call); err != nil {
			t.Fatal(err)
		}
	}
	if n := b.Open(); n > maxOpen {
		t.Errorf("%d questions are open, want at most %d", n, maxOpen)
	}
	if _, err := b.Redeem(first, call); err == nil {
		t.Error("a question that was pushed out could still be answered")
	}
	now = now.Add(lifetime)
	if n := b.Open(); n != 0 {
		t.Errorf("%d questions outlived their time", n)
	}
}

func TestSealNeedsACall(t *testing.T) {
	if s, err := NewBook().Seal(Question{}); err == nil || s != "" {
		t.Errorf("a question about nothing was sealed: %q", s)
	}
}
