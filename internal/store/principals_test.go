package store

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"handrail/elicit"
	"handrail/guard"
)

// callOf is the same call, made for a principal in a session that others have
// too, as the era without sessions has it.
func callOf(principal, command string) (*guard.EvalContext, *guard.Decision) {
	c, d := call(command)
	c.Principal, c.Session = principal, "http"
	d.Digest = new(guard.Manager).Digest(c)
	return c, d
}

// Nothing that one principal was granted, left waiting or called counts for
// another, whatever the sessions are called.
func TestPrincipalsAreApart(t *testing.T) {
	everywhere(t, func(t *testing.T, place string) {
		s := open(t, place)
		ledgers := map[string]*Ledger{}
		for _, p := range []string{"alice", "bob"} {
			ledgers[p] = NewLedger(s, believed)
			ledgers[p].Principal = p
		}
		for _, choice := range []elicit.Choice{elicit.AllowOnce, elicit.AllowSession, elicit.AllowAlways} {
			command := "mytool " + string(choice)
			c, d := callOf("alice", command)
			p, err := guard.PatternOf(c, d)
			if err != nil {
				t.Fatal(err)
			}
			w, err := s.Leave(t.Context(), Waiting{Question: elicit.Question{Digest: d.Digest, Tool: c.ToolName, Dir: c.WorkingDir, Session: c.Session, Principal: "alice"}, Pattern: p})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Answer(t.Context(), w.ID, choice, "operator", time.Time{}); err != nil {
				t.Fatal(err)
			}
			other, theirs := callOf("bob", command)
			if covered(t, ledgers["bob"], other, theirs) {
				t.Errorf("%s for alice covers bob's call", choice)
			}
			theirs.Digest = d.Digest // even if digests did not tell them apart
			if covered(t, ledgers["bob"], other, theirs) {
				t.Errorf("%s for alice covers bob's call of the same digest", choice)
			}
			if err := ledgers["bob"].EndSession("http"); err != nil {
				t.Fatal(err)
			}
			if !covered(t, ledgers["alice"], c, d) {
				t.Errorf("%s for alice went with bob's session", choice)
			}
		}
		if err := ledgers["alice"].EndSession("http"); err != nil {
			t.Fatal(err)
		}
		if c, d := callOf("alice", "mytool "+string(elicit.AllowSession)); covered(t, ledgers["alice"], c, d) {
			t.Error("a session grant outlives its session")
		}
	})
}

// A principal that calls without end fills neither the list of waiting calls nor
// the history of another.
func TestPrincipalsFillOnlyTheirOwn(t *testing.T) {
	s := open(t, t.TempDir()+"/store.db")
	leave := func(principal string, n int) error {
		_, err := s.Leave(t.Context(), Waiting{Question: elicit.Question{Digest: fmt.Sprint(principal, n), Principal: principal}})
		return err
	}
	for n := range waitingMax {
		if err := leave("alice", n); err != nil {
			t.Fatal(err)
		}
	}
	if err := leave("alice", waitingMax); !errors.Is(err, ErrFull) {
		t.Errorf("one more of alice: %v", err)
	}
	if err := leave("bob", 0); err != nil {
		t.Errorf("bob has no room: %v", err)
	}
	note := func(principal string) Note {
		c, d := callOf(principal, "mytool build")
		return Note{At: s.now(), Call: c, Decision: d}
	}
	if err := s.writeNotes([]Note{note("bob")}, false); err != nil {
		t.Fatal(err)
	}
	for range historyMax/500 + 1 {
		var batch []Note
		for range 500 {
			batch = append(batch, note("alice"))
		}
		if err := s.writeNotes(batch[:499], false); err != nil {
			t.Fatal(err)
		}
		if err := s.writeNotes(batch[499:], true); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := s.HistoryOf(t.Context(), "bob", 10); err != nil || len(list) != 1 || list[0].Call.Principal != "bob" {
		t.Errorf("%d of bob, %v", len(list), err)
	}
	if list, err := s.HistoryOf(t.Context(), "alice", historyMax*2); err != nil || len(list) != historyMax {
		t.Errorf("%d of alice, %v", len(list), err)
	}
	c, d := callOf("bob", "mytool build")
	p, err := guard.PatternOf(c, d)
	if err != nil {
		t.Fatal(err)
	}
	if n, of, err := s.Covered(t.Context(), p, 200); err != nil || n != 1 || of != 1 {
		t.Errorf("the preview of bob's rule counts others' calls: %d of %d, %v", n, of, err)
	}
}
