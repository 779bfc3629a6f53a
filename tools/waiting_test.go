package tools

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"handrail/elicit"
	"handrail/guard"
	"handrail/guard/audit"
	"handrail/internal/store"
)

// newDesk returns a bench with a store, and the store as another process has it open.
// Writing what is called "asked" asks.
func newDesk(t *testing.T, honour bool) (*bench, *store.Store) {
	t.Helper()
	b := newBench(t)
	b.Guard.Rules = append(b.Guard.Rules, guard.Rule{ID: "test/asked", Evaluate: func(p *guard.Pass) {
		for i, e := range p.Facts.Effects {
			if e.Kind == guard.Write && strings.HasSuffix(e.Target, "asked") {
				p.Report(i, guard.VerdictAsk, "writes "+e.Target, "")
			}
		}
	}})
	open := func() *store.Store {
		s, err := store.Open(t.Context(), store.Options{Place: filepath.Join(filepath.Dir(b.log), "store.db"), Redact: audit.Redacted})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	b.Ledger = store.NewLedger(open(), func() bool { return honour })
	b.Guard.Grants = b.Ledger
	return b, open()
}

var waitsAs = regexp.MustCompile("`handrail approvals approve ([a-z0-9]+)`")

// waiting is the ID under which the refusal says that the call waits.
func waiting(t *testing.T, res *Result) string {
	t.Helper()
	m := waitsAs.FindStringSubmatch(res.Text)
	if m == nil || res.Verdict != guard.VerdictAsk || !strings.Contains(res.Text, "Nothing ran.") {
		t.Fatalf("the refusal does not say how to be approved: %+v", res)
	}
	return m[1]
}

func TestWaitsAndRuns(t *testing.T) {
	b, elsewhere := newDesk(t, true)
	b.write(t, "victim", "x")
	res := b.bash(t, "rm victim", nil)
	id := waiting(t, res)
	if res.Approval != elicit.Unsupported {
		t.Errorf("%+v", res)
	}
	if again := waiting(t, b.bash(t, "rm victim", nil)); again != id {
		t.Errorf("the same call waits twice: %s, %s", id, again)
	}
	w, err := elsewhere.WaitingCall(t.Context(), id)
	if err != nil || w.Times != 2 || strings.TrimSpace(w.Question.Command) != "rm victim" || len(w.Question.Effects) == 0 || w.Question.Session != "s" || w.Question.Dir != b.root {
		t.Fatalf("%+v, %v", w, err)
	}
	if _, err := elsewhere.Answer(t.Context(), id, elicit.AllowOnce, "ann", time.Time{}); err != nil {
		t.Fatal(err)
	}
	if res := b.bash(t, "rm victim victim2", nil); res.Verdict != guard.VerdictAsk {
		t.Errorf("another call ran: %+v", res)
	}
	if res := b.bash(t, "rm victim", nil); res.Verdict != guard.VerdictAllow || exists(b.root+"/victim") {
		t.Errorf("%+v", res)
	}
	if next := waiting(t, b.bash(t, "rm victim", nil)); next == id {
		t.Error("an approval for once ran twice, or its record was answered twice")
	}
}

// Whoever uses a server of others has no terminal there: the operator is to be asked.
func TestWaitsForTheOperator(t *testing.T) {
	b, _ := newDesk(t, true)
	b.write(t, "victim", "x")
	b.Shared = true
	res := b.bash(t, "rm victim", nil)
	waiting(t, res)
	if !strings.Contains(res.Text, "operator") || strings.Contains(res.Text, "terminal") || strings.Contains(res.Text, "handrail run") {
		t.Error(res.Text)
	}
	b.Ledger = nil
	if res := b.bash(t, "rm victim", nil); !strings.Contains(res.Text, "operator") || strings.Contains(res.Text, "terminal") {
		t.Error(res.Text)
	}
}

// What would run must be what was approved: a script that changed is another call.
func TestWaitsForWhatWasShown(t *testing.T) {
	b, elsewhere := newDesk(t, true)
	b.write(t, "s.sh", "rm -f victim\n")
	id := waiting(t, b.bash(t, "bash s.sh", nil))
	if _, err := elsewhere.Answer(t.Context(), id, elicit.AllowSession, "ann", time.Time{}); err != nil {
		t.Fatal(err)
	}
	b.write(t, "s.sh", "rm -f victim other\n")
	if res := b.bash(t, "bash s.sh", nil); res.Verdict != guard.VerdictAsk {
		t.Errorf("a changed script ran: %+v", res)
	}
	b.write(t, "s.sh", "rm -f victim\n")
	if res := b.bash(t, "bash s.sh", nil); res.Verdict != guard.VerdictAllow {
		t.Errorf("%+v", res)
	}
}

func TestWhatWaits(t *testing.T) {
	for name, tt := range map[string]struct {
		p     elicit.Channel
		waits bool
	}{
		"nobody":      {nil, true},
		"unsupported": {says(elicit.Unsupported, ""), true},
		"no answer":   {says(elicit.NoAnswer, ""), true},
		"declined":    {says(elicit.Declined, ""), false},
		"dismissed":   {says(elicit.Dismissed, ""), false},
	} {
		t.Run(name, func(t *testing.T) {
			b, elsewhere := newDesk(t, true)
			res := b.bash(t, "rm victim", tt.p)
			list, err := elsewhere.WaitingCalls(t.Context(), false)
			if err != nil || (len(list) == 1) != tt.waits || strings.Contains(res.Text, "handrail approvals") != tt.waits {
				t.Errorf("%d calls wait, %v; %+v", len(list), err, res)
			}
		})
	}
	b, elsewhere := newDesk(t, true)
	id := waiting(t, b.bash(t, "rm victim", nil))
	if _, err := elsewhere.Answer(t.Context(), id, elicit.Deny, "ann", time.Time{}); err != nil {
		t.Fatal(err)
	}
	if res := b.bash(t, "rm victim", nil); res.Approval != elicit.Declined || strings.Contains(res.Text, "handrail approvals") {
		t.Errorf("a denied call waits again: %+v", res)
	}
	if res := b.Do(t.Context(), Call{Tool: Bash, Input: json.RawMessage(`{"command":"rm other"}`), Roots: []string{b.root}, Transport: "run"}); strings.Contains(res.Text, "handrail approvals") {
		t.Errorf("what a person runs in a terminal waits: %+v", res)
	}
}

func TestAlways(t *testing.T) {
	b, elsewhere := newDesk(t, true)
	var shown elicit.Question
	answer := person(func(_ context.Context, q elicit.Question) (elicit.Answer, error) {
		shown = q
		return elicit.Answer{Outcome: elicit.Approved, Choice: elicit.AllowAlways}, nil
	})
	if res := b.bash(t, "touch asked", answer); res.Verdict != guard.VerdictAllow || !exists(b.root+"/asked") {
		t.Fatalf("%+v", res)
	}
	if want := "`touch asked` in " + b.root + ", for 30 days"; !strings.HasPrefix(shown.Always, want) {
		t.Errorf("the person read %q, want %q", shown.Always, want)
	}
	list, err := elsewhere.Grants(t.Context(), false)
	if err != nil || len(list) != 1 || list[0].Scope != guard.Always {
		t.Fatalf("%+v, %v", list, err)
	}
	b.Guard.Revision = "another policy"
	if err := os.Remove(b.root + "/asked"); err != nil { // else it is another effect: times are changed
		t.Fatal(err)
	}
	later := Call{Tool: Bash, Input: json.RawMessage(`{"command":"touch   asked", "description": "later"}`), Roots: []string{b.root}, Session: "later"}
	if res := b.Do(t.Context(), later); res.Verdict != guard.VerdictAllow {
		t.Errorf("it was not allowed later: %+v", res)
	}
	if err := os.Remove(b.root + "/asked"); err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{"touch -d yesterday asked", "touch sub/asked", "touch asked; touch sub/asked", "echo x > asked", "touch asked < /etc/hostname", "x=asked; touch $x"} {
		if res := b.bash(t, other, nil); res.Verdict != guard.VerdictAsk {
			t.Errorf("%s ran: %+v", other, res)
		}
	}
	if err := elsewhere.Revoke(t.Context(), list[0].ID); err != nil {
		t.Fatal(err)
	}
	if res := b.Do(t.Context(), later); res.Verdict != guard.VerdictAsk {
		t.Errorf("it ran after its grant was revoked: %+v", res)
	}
}

// The choice is not there where it could not be kept to what was shown.
func TestAlwaysIsNoChoice(t *testing.T) {
	for name, tt := range map[string]struct {
		command string
		honour  bool
	}{
		"a deletion":              {"rm asked", true},
		"a secret in the words":   {"touch asked AKIAIOSFODNN7EXAMPLE ghp_0123456789abcdefghijABCDEFGHIJ012345", true},
		"too long to be shown":    {"touch asked " + strings.Repeat("another-file ", 60), true},
		"an interpreter":          {"python3 -c 'open(\"asked\",\"w\")' > asked", true},
		"nothing is believed":     {"touch asked", false},
		"only known when it runs": {"touch asked $RANDOM", true},
	} {
		b, _ := newDesk(t, tt.honour)
		asked := false
		res := b.bash(t, tt.command, person(func(_ context.Context, q elicit.Question) (elicit.Answer, error) {
			asked = true
			if q.Always != "" {
				t.Errorf("%s: always is a choice: %s", name, q.Always)
			}
			return elicit.Answer{Outcome: elicit.Approved, Choice: elicit.AllowAlways}, nil
		}))
		if !asked || res.Verdict == guard.VerdictAllow {
			t.Errorf("%s: asked %v, an answer that was no choice counted: %+v", name, asked, res)
		}
	}
}

// Where nothing keeps commands away from the store, what it says does not count,
// and the refusal does not send anybody there.
func TestStoreIsNotBelieved(t *testing.T) {
	b, elsewhere := newDesk(t, false)
	res := b.bash(t, "rm victim", nil)
	if strings.Contains(res.Text, "approvals approve") || !strings.Contains(res.Text, "no sandbox holds commands") {
		t.Errorf("%s", res.Text)
	}
	if list, err := elsewhere.WaitingCalls(t.Context(), true); err != nil || len(list) > 0 {
		t.Errorf("%+v, %v", list, err)
	}
	if res := b.bash(t, "rm -f victim", says(elicit.Approved, elicit.AllowSession)); res.Verdict != guard.VerdictAllow {
		t.Errorf("a person at the channel is not believed: %+v", res)
	}
	if res := b.bash(t, "rm -f victim", nil); res.Verdict != guard.VerdictAllow {
		t.Errorf("their answer for the session does not hold: %+v", res)
	}
}

// A store that fails approves nothing and says so.
func TestStoreFails(t *testing.T) {
	b, elsewhere := newDesk(t, true)
	id := waiting(t, b.bash(t, "rm victim", nil))
	if _, err := elsewhere.Answer(t.Context(), id, elicit.AllowSession, "ann", time.Time{}); err != nil {
		t.Fatal(err)
	}
	b.Ledger.Store.Close()
	res := b.bash(t, "rm victim", nil)
	if res.Verdict != guard.VerdictAsk || !strings.Contains(res.Text, "approvals could not be looked up") || !strings.Contains(res.Text, "could not be left") {
		t.Errorf("%+v", res)
	}
}

func TestHistoryOfCalls(t *testing.T) {
	b, elsewhere := newDesk(t, true)
	b.bash(t, "echo ghp_0123456789abcdefghijABCDEFGHIJ012345", nil)
	b.bash(t, "rm -f victim", says(elicit.Approved, elicit.AllowOnce))
	b.bash(t, "touch forbidden", nil)
	if err := b.Ledger.Store.Close(); err != nil {
		t.Fatal(err)
	}
	list, err := elsewhere.History(t.Context(), time.Time{}, -1)
	if err != nil || len(list) != 3 {
		t.Fatalf("%d decisions, %v", len(list), err)
	}
	for i, want := range []struct {
		verdict  guard.Verdict
		approval elicit.Outcome
		whole    bool
	}{{guard.VerdictDeny, "", true}, {guard.VerdictAsk, elicit.Approved, true}, {guard.VerdictAllow, "", false}} {
		if p := list[i]; p.Judged != want.verdict || p.Approval != want.approval || p.Whole != want.whole || p.Call.Roots[0] != b.root {
			t.Errorf("%d: %+v", i, p)
		}
	}
	data, err := os.ReadFile(filepath.Join(filepath.Dir(b.log), "store.db"))
	if err != nil || strings.Contains(string(data), "ghp_0123456789abcdef") {
		t.Errorf("a secret is in the store (%v)", err)
	}
}
