package store

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"handrail/elicit"
	"handrail/guard"
)

// call is a call of safe_bash that the rules ask about.
func call(command string) (*guard.EvalContext, *guard.Decision) {
	name, word, _ := strings.Cut(command, " ")
	f := &guard.Facts{Dir: "/w", Script: command,
		Commands: []guard.Command{{Name: name, Args: []guard.Word{{Text: word, Exact: true}}, From: -1}},
		Effects:  []guard.Effect{{Kind: guard.Exec, Action: "unlisted", Target: name, Exact: true, From: -1}}}
	c := &guard.EvalContext{ToolName: "safe_bash", Input: json.RawMessage(`{"command":"` + command + `"}`), WorkingDir: "/w", Roots: []string{"/w"}, Session: "s", Facts: f}
	return c, &guard.Decision{Verdict: guard.VerdictAsk, Rule: "default/unlisted", Digest: new(guard.Manager).Digest(c),
		Findings: []guard.Finding{{Rule: "default/unlisted", Verdict: guard.VerdictLLM, Effect: 0, Reason: "unlisted"}}}
}

func believed() bool { return true }

// leave leaves the call in the store as one that waits.
func leave(t *testing.T, s *Store, command string) (Waiting, *guard.EvalContext, *guard.Decision) {
	t.Helper()
	c, d := call(command)
	p, err := guard.PatternOf(c, d)
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Leave(t.Context(), Waiting{Question: elicit.Question{Digest: d.Digest, Tool: c.ToolName, Dir: c.WorkingDir, Session: c.Session, Command: command, Effects: []string{"runs " + command}},
		Pattern: p, Client: "a client", Via: "stdio"})
	if err != nil {
		t.Fatal(err)
	}
	return w, c, d
}

func covered(t *testing.T, l *Ledger, c *guard.EvalContext, d *guard.Decision) bool {
	t.Helper()
	_, ok, err := l.Cover(t.Context(), c, d)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

func TestApproval(t *testing.T) {
	everywhere(t, func(t *testing.T, place string) {
		s, elsewhere := open(t, place), open(t, place)
		l := NewLedger(s, believed)
		w, c, d := leave(t, s, "mytool build")
		if again, _, _ := leave(t, s, "mytool build"); again.ID != w.ID || again.Times != 2 {
			t.Errorf("the same call has another record: %+v", again)
		}
		list, err := elsewhere.WaitingCalls(t.Context(), false)
		if err != nil || len(list) != 1 || list[0].ID != w.ID || list[0].Question.Command != "mytool build" || list[0].Client != "a client" || list[0].Pattern == nil {
			t.Fatalf("%+v, %v", list, err)
		}
		if covered(t, l, c, d) {
			t.Error("covered before anybody approved")
		}
		if _, err := elsewhere.Answer(t.Context(), w.ID, elicit.AllowOnce, "ann", time.Time{}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Answer(t.Context(), w.ID, elicit.Deny, "bob", time.Time{}); !errors.Is(err, ErrGone) {
			t.Errorf("a second answer: %v", err)
		}
		other, od := call("mytool publish")
		if covered(t, l, other, od) {
			t.Error("another call was covered")
		}
		if !covered(t, l, c, d) || covered(t, l, c, d) {
			t.Error("a once grant is not spent exactly once")
		}
		if again, _, _ := leave(t, s, "mytool build"); again.ID == w.ID || again.State != Unanswered {
			t.Errorf("after its approval was used, the call does not wait anew: %+v", again)
		}
	})
}

func TestAnswers(t *testing.T) {
	everywhere(t, func(t *testing.T, place string) {
		s := open(t, place)
		l := NewLedger(s, believed)
		answer := func(command string, choice elicit.Choice) (*guard.EvalContext, *guard.Decision) {
			w, c, d := leave(t, s, command)
			if _, err := s.Answer(t.Context(), w.ID, choice, "ann", time.Time{}); err != nil {
				t.Fatal(err)
			}
			return c, d
		}
		c, d := answer("mytool session", elicit.AllowSession)
		other := *c
		other.Session = "another"
		if covered(t, l, &other, d) || !covered(t, l, c, d) || !covered(t, l, c, d) {
			t.Error("a session grant does not hold in its session alone")
		}
		if err := l.EndSession("s"); err != nil || covered(t, l, c, d) {
			t.Errorf("a session grant outlived its session (%v)", err)
		}

		c, d = answer("mytool always", elicit.AllowAlways)
		later := *c
		later.Session = "a year later"
		changed := *d
		changed.Digest = "under another policy"
		if !covered(t, l, &later, &changed) {
			t.Error("an always grant does not hold later")
		}
		changed.Verdict = guard.VerdictLLM
		if _, ok, _ := l.Cover(t.Context(), c, &changed); ok {
			t.Error("an always grant answered what is the validator's")
		}
		list, err := s.Grants(t.Context(), false)
		if err != nil || len(list) != 1 || list[0].Used != 1 || list[0].Scope != guard.Always || list[0].Shown != "`mytool always` in /w" || time.Until(list[0].Expires) > alwaysFor {
			t.Fatalf("%+v, %v", list, err)
		}
		if err := s.Revoke(t.Context(), list[0].ID); err != nil || covered(t, l, c, d) {
			t.Errorf("a revoked grant covers (%v)", err)
		}
		if err := s.Revoke(t.Context(), list[0].ID); !errors.Is(err, ErrGone) {
			t.Errorf("revoked twice: %v", err)
		}

		c, d = answer("mytool denied", elicit.Deny)
		if covered(t, l, c, d) {
			t.Error("a denied call is covered")
		}
		if again, _, _ := leave(t, s, "mytool denied"); again.State != Denied {
			t.Errorf("a denied call waits again: %+v", again)
		}
		w, _, _ := leave(t, s, "mytool x")
		for _, choice := range []elicit.Choice{"", "yes", "allow"} {
			if _, err := s.Answer(t.Context(), w.ID, choice, "ann", time.Time{}); err == nil {
				t.Errorf("%q is an answer", choice)
			}
		}
		if _, err := s.Answer(t.Context(), "nothing", elicit.AllowOnce, "ann", time.Time{}); !errors.Is(err, ErrGone) {
			t.Errorf("an answer to nothing: %v", err)
		}
	})
}

func TestNothingOutlivesItsTime(t *testing.T) {
	everywhere(t, func(t *testing.T, place string) {
		s := open(t, place)
		l := NewLedger(s, believed)
		at := time.Now()
		s.now = func() time.Time { return at }
		w, _, _ := leave(t, s, "mytool late")
		at = at.Add(waitFor)
		if _, err := s.Answer(t.Context(), w.ID, elicit.AllowOnce, "ann", time.Time{}); !errors.Is(err, ErrGone) {
			t.Errorf("an expired record was answered: %v", err)
		}
		for choice, holds := range map[elicit.Choice]time.Duration{elicit.AllowOnce: onceFor, elicit.AllowSession: sessionFor, elicit.AllowAlways: alwaysFor} {
			w, c, d := leave(t, s, "mytool "+string(choice)[:6]+"x")
			// A longer time than the longest is not given.
			if _, err := s.Answer(t.Context(), w.ID, choice, "ann", at.Add(1000*alwaysFor)); err != nil {
				t.Fatal(err)
			}
			at = at.Add(holds)
			if covered(t, l, c, d) {
				t.Errorf("%s: the grant outlived %v", choice, holds)
			}
		}
		at = at.Add(keptFor + waitFor)
		leave(t, s, "mytool new")
		if all, err := s.WaitingCalls(t.Context(), true); err != nil || len(all) != 1 {
			t.Errorf("old records stay: %d, %v", len(all), err)
		}
	})
}

// Where commands run with the user's own rights the store may have been written
// by one of them: only what was answered in this process counts.
func TestStoreThatIsNotBelieved(t *testing.T) {
	everywhere(t, func(t *testing.T, place string) {
		s := open(t, place)
		w, c, d := leave(t, s, "mytool build")
		if _, err := s.Answer(t.Context(), w.ID, elicit.AllowAlways, "ann", time.Time{}); err != nil {
			t.Fatal(err)
		}
		for name, l := range map[string]*Ledger{"no": NewLedger(s, func() bool { return false }), "not known": NewLedger(s, nil)} {
			if covered(t, l, c, d) {
				t.Errorf("%s: the store was believed", name)
			}
			if err := l.Add(guard.Grant{Digest: d.Digest, Session: "s", Scope: guard.Session}); err != nil || !covered(t, l, c, d) {
				t.Errorf("%s: an answer of this process does not count (%v)", name, err)
			}
			if err := l.Add(guard.Grant{Scope: guard.Always, Pattern: w.Pattern}); err == nil {
				t.Errorf("%s: an always grant was kept where it would not count", name)
			}
		}
	})
}

func TestWaitingIsBounded(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "store.db"))
	for i := range waitingMax {
		leave(t, s, "mytool "+strings.Repeat("x", i+1))
	}
	_, err := s.Leave(t.Context(), Waiting{Question: elicit.Question{Digest: "one more"}})
	if !errors.Is(err, ErrFull) {
		t.Errorf("one more call waits: %v", err)
	}
	leave(t, s, "mytool x") // one that waits already may be called again
}

func TestHistory(t *testing.T) {
	everywhere(t, func(t *testing.T, place string) {
		s := open(t, place)
		c, d := call("mytool build")
		ran := *d
		ran.Verdict, ran.Granted = guard.VerdictAllow, true
		s.Note(Note{At: time.Now(), CallID: "1", Call: c, Decision: d, Approval: elicit.Unsupported})
		s.Note(Note{At: time.Now(), CallID: "2", Call: c, Decision: &ran})
		secret, sd := call("mytool hush")
		s.Note(Note{At: time.Now(), CallID: "3", Call: secret, Decision: sd})
		s.Note(Note{}) // says nothing
		s.Close()

		s = open(t, place)
		list, err := s.History(t.Context(), time.Time{}, -1)
		if err != nil || len(list) != 3 {
			t.Fatalf("%d decisions, %v", len(list), err)
		}
		if p := list[2]; p.CallID != "1" || p.Judged != guard.VerdictLLM || p.Verdict != guard.VerdictAsk || !p.Whole || p.Call.Facts.Script != "mytool build" || p.Approval != elicit.Unsupported || p.Digest != d.Digest {
			t.Errorf("%+v", p)
		}
		if p := list[1]; p.Verdict != guard.VerdictAllow || !p.Granted || p.Judged != guard.VerdictLLM {
			t.Errorf("%+v", p)
		}
		if p := list[0]; p.Whole || strings.Contains(p.Call.Facts.Script+string(p.Call.Input), "hush") {
			t.Errorf("a secret is kept, or not told: %+v", p)
		}
		if n, of, err := s.Covered(t.Context(), mustPattern(t, "mytool build"), 200); n != 2 || of != 3 || err != nil {
			t.Errorf("the pattern covers %d of %d, %v", n, of, err)
		}
		// What is answered later is told to the history.
		w, _, _ := leave(t, s, "mytool build")
		if _, err := s.Answer(t.Context(), w.ID, elicit.AllowOnce, "ann", time.Time{}); err != nil {
			t.Fatal(err)
		}
		if list, _ = s.History(t.Context(), time.Time{}, -1); list[2].Approval != elicit.Approved {
			t.Errorf("%+v", list[2])
		}
	})
}

func mustPattern(t *testing.T, command string) *guard.Pattern {
	t.Helper()
	p, err := guard.PatternOf(call(command))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestHistoryIsBounded(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "store.db"))
	c, d := call("mytool build")
	batch := make([]Note, historyMax+200)
	for i := range batch {
		batch[i] = Note{At: time.Now(), Call: c, Decision: d}
	}
	batch[0].At = time.Now().Add(-historyFor - time.Hour)
	for part := range slices.Chunk(batch, 1000) { // as they come, not in one transaction
		if err := s.writeNotes(part, true); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := s.History(t.Context(), time.Time{}, -1); err != nil || len(list) != historyMax {
		t.Errorf("%d decisions are kept, %v", len(list), err)
	}
	large := *c
	large.Input = json.RawMessage(`"` + strings.Repeat("x", detailMax) + `"`)
	if kept, whole := s.detail(&large, d); kept != "" || whole {
		t.Error("a decision of any size is kept")
	}
}
