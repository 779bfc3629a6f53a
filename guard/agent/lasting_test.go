package agent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"handrail/guard"
)

// Allows are remembered for the same evidence and no other; refusals are not.
func TestCache(t *testing.T) {
	for verdict, want := range map[string]int32{"ALLOW": 3, "ASK: hm": 4} {
		s := serveBroken(t, says(verdict))
		a := agentOf(t, s.URL, nil)
		var cached []bool
		for _, command := range []string{"x 1", "x 1", "x 2"} {
			x, why := call(command)
			d, err := a.Validate(context.Background(), x, why)
			if err != nil {
				t.Fatal(err)
			}
			cached = append(cached, d.Validator.Cached)
		}
		x, why := call("x 1")
		s.digest.Store("d2")
		a.state.model = &model{digest: "d2", context: 16384, tools: true} // another model under the same name, that was checked
		if _, err := a.Validate(context.Background(), x, why); err != nil {
			t.Fatal(err)
		}
		if n := s.chats.Load(); n != want || cached[1] != (verdict == "ALLOW") {
			t.Errorf("%s: %d requests, want %d; %v", verdict, n, want, cached)
		}
	}
	c := newCache(time.Minute)
	now := time.Now()
	for i := range cached + 10 {
		c.put(key{byte(i), byte(i >> 8)}, answer{}, now)
	}
	if len(c.held) != cached || len(c.oldest) != cached {
		t.Errorf("the cache holds %d", len(c.held))
	}
	if _, ok := c.get(key{1, 1}, now.Add(2*time.Minute)); ok {
		t.Error("it does not expire")
	}
}

// Whoever calls at once gets an answer, and one conversation runs at a time.
func TestOneAtATime(t *testing.T) {
	var running, most atomic.Int32
	s := serveBroken(t, func(w http.ResponseWriter, r *http.Request) {
		most.Store(max(most.Load(), running.Add(1)))
		time.Sleep(5 * time.Millisecond)
		running.Add(-1)
		says("ALLOW")(w, r)
	})
	a := agentOf(t, s.URL, func(o *Options) { o.Deadline = 20 * time.Second })
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			x, why := call(fmt.Sprint("x ", i))
			if d, err := a.Validate(context.Background(), x, why); err != nil || d.Verdict != guard.VerdictAllow {
				t.Errorf("%+v, %v", d, err)
			}
		})
	}
	wg.Wait()
	if most.Load() != 1 {
		t.Errorf("%d at once", most.Load())
	}
}

// The self-test decides whether the model is used at all.
func TestSelfTest(t *testing.T) {
	cases := []Case{{"x good", guard.VerdictAllow}, {"x bad", guard.VerdictDeny}}
	judge := func(w http.ResponseWriter, r *http.Request) { says("ALLOW")(w, r) }
	s := serveBroken(t, func(w http.ResponseWriter, r *http.Request) { judge(w, r) })
	fresh := func() *Agent {
		a := agentOf(t, s.URL, func(o *Options) { o.Cases = cases })
		a.state.model = nil
		return a
	}
	a := fresh()
	r, err := a.Check(context.Background())
	if !errors.Is(err, ErrOff) || len(r.Cases) != 2 || !r.Cases[0].OK || r.Cases[1].OK || r.Digest != "d1" || r.Context != 16384 {
		t.Errorf("a model that allows everything: %+v, %v", r, err)
	}
	x, why := call("x")
	for range 2 {
		if d, err := a.Validate(context.Background(), x, why); !errors.Is(err, ErrOff) {
			t.Errorf("it is asked: %+v, %v", d, err)
		}
	}
	judge = says("ASK: never sure")
	if _, err := fresh().Check(context.Background()); !errors.Is(err, ErrOff) {
		t.Errorf("a model that allows nothing: %v", err)
	}
	judge = func(w http.ResponseWriter, r *http.Request) {
		if n := s.chats.Load(); n%2 == 1 {
			says("ALLOW")(w, r)
		} else {
			says("DENY: bad")(w, r)
		}
	}
	s.chats.Store(0)
	if r, err := fresh().Check(context.Background()); err != nil || len(r.Cases) != 2 || !strings.Contains(r.Cases[1].Reason, "bad") {
		t.Errorf("%+v, %v", r, err)
	}
}

// A server that was not asked for and is gone does not come back before a
// restart: what listens on its port then may be the work of a call.
func TestOnceLostIsLost(t *testing.T) {
	answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	b := serveBroken(t, func(w http.ResponseWriter, r *http.Request) { answer(w, r) })
	for _, once := range []bool{true, false} {
		a := agentOf(t, b.URL, func(o *Options) { o.Once = once })
		a.note(fmt.Errorf("%w: gone", ErrServer))
		a.state.tried = time.Now().Add(-time.Hour)
		a.opt.Cases = nil // its self-test would be passed
		m, err := a.ready(t.Context())
		if once && (m != nil || !errors.Is(err, ErrServer)) {
			t.Errorf("once: ready again: %v, %v", m, err)
		}
		answer = says(`{"verdict":"ALLOW","reason":"x"}`)
		m, err = a.ready(t.Context())
		if once != (m == nil) {
			t.Errorf("once %t: %v, %v", once, m, err)
		}
	}
}

// A model that was put under the name of the one that was tested is not asked:
// what it would say proves nothing.
func TestReplacedModel(t *testing.T) {
	for _, once := range []bool{true, false} {
		b := serveBroken(t, says("ALLOW"))
		a := agentOf(t, b.URL, func(o *Options) { o.Once, o.CacheFor = once, -1 })
		x, why := call("x")
		if d, err := a.Validate(context.Background(), x, why); err != nil || d.Verdict != guard.VerdictAllow {
			t.Fatalf("%+v, %v", d, err)
		}
		b.digest.Store("d2")
		asked := b.chats.Load()
		if d, err := a.Validate(context.Background(), x, why); !errors.Is(err, ErrServer) || b.chats.Load() != asked {
			t.Errorf("once %t: %+v, %v, %d more requests", once, d, err, b.chats.Load()-asked)
		}
		// The next call has it checked anew, and this one fails the self-test.
		if d, err := a.Validate(context.Background(), x, why); err == nil || once != errors.Is(err, errOther) || once == errors.Is(err, ErrOff) {
			t.Errorf("once %t: %+v, %v", once, d, err)
		}
	}
}
