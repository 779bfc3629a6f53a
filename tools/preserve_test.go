package tools

import (
	"path/filepath"
	"strings"
	"testing"

	"handrail/elicit"
	"handrail/guard"
	"handrail/guard/rules"
	"handrail/tools/history"
	"handrail/tools/sandbox"
)

// Every tool keeps what it changes, and undo brings it back.
func TestCallsAreKept(t *testing.T) {
	b := newBench(t)
	kept, err := history.Open(filepath.Join(filepath.Dir(b.log), "history"), history.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	b.History, b.Sandbox = kept, freely(t)
	undo := func(call, id string) {
		t.Helper()
		r, err := kept.Find(call)
		if err != nil {
			t.Fatal(err)
		}
		if u, err := kept.Undo(t.Context(), r, history.Options{ID: id}); err != nil || !u.Done || len(u.Failed) > 0 {
			t.Fatalf("%+v, %v", u, err)
		}
	}
	b.write(t, "f", "old\n")
	b.write(t, "Makefile", "all:\n\techo made > f\n")
	for i, c := range []struct {
		tool string
		args map[string]any
	}{
		{Write, map[string]any{"path": "f", "content": "new\n"}},
		{Edit, map[string]any{"path": "f", "old_string": "old", "new_string": "new"}},
		{Bash, map[string]any{"command": "sed -i s/old/new/ f"}},
		{Bash, map[string]any{"command": "rm f"}},
		{Bash, map[string]any{"command": "make"}},
	} {
		res := b.call(t, c.tool, c.args, says(elicit.Approved, elicit.AllowOnce))
		if res.Verdict != guard.VerdictAllow || res.IsError || exists(b.root+"/f") && b.content(t, "f") == "old\n" {
			t.Fatalf("%v: %+v", c.args, res)
		}
		undo(res.CallID, "undo-"+string(rune('a'+i)))
		if got := b.content(t, "f"); got != "old\n" {
			t.Errorf("%v: undone, f is %q", c.args, got)
		}
	}
	if res := b.bash(t, "cat f", nil); res.IsError {
		t.Errorf("%+v", res)
	} else if _, err := kept.Find(res.CallID); err != history.ErrNone {
		t.Errorf("a call that reads was kept: %v", err)
	}
}

// Where nothing can be kept, what runs unasked because it can be undone does
// not; what a person approved does, and what the facts name exactly, and says so.
func TestNothingCanBeKept(t *testing.T) {
	b := newBench(t)
	b.History = new(history.Store)
	b.Sandbox = freely(t)
	j := &job{box: b.Toolbox, id: newID(), call: Call{Tool: Bash, Roots: []string{b.root}}}
	code := &guard.Facts{Effects: []guard.Effect{{Kind: guard.Code, Target: b.root}}}
	d := &guard.Decision{Verdict: guard.VerdictAllow}
	if _, _, refusal := j.preserve(t.Context(), code, d, ""); refusal == nil || refusal.Verdict != guard.VerdictDeny || refusal.Rule != "history/keep" {
		t.Errorf("unapproved code: %+v", refusal)
	}
	for _, c := range []struct {
		d        guard.Decision
		approval elicit.Outcome
	}{{*d, elicit.Approved}, {guard.Decision{Verdict: guard.VerdictAllow, Granted: true}, ""}} {
		if _, note, refusal := j.preserve(t.Context(), code, &c.d, c.approval); refusal != nil || !strings.Contains(note, "cannot be undone") {
			t.Errorf("%+v: %q, %+v", c, note, refusal)
		}
	}
	res := b.bash(t, "echo x > f", nil)
	if !exists(b.root+"/f") || !strings.Contains(res.Text, "cannot be undone") {
		t.Errorf("%+v", res)
	}
	if res = b.bash(t, "cat f", nil); strings.Contains(res.Text, "undone") || res.Stdout != "x\n" {
		t.Errorf("%+v", res)
	}
}

// TestLostIsNoQuestionWhereKept: a tree that only the history brings back is
// deleted without a question and brought back by undo; one that is too large for
// it is not deleted unasked.
func TestLostIsNoQuestionWhereKept(t *testing.T) {
	b, home := heldBench(t)
	b.Guard.Rules, b.Guard.Default = rules.Standard(rules.Policy{Home: home})
	limits := history.DefaultLimits()
	limits.File = 1000
	kept, err := history.Open(filepath.Join(filepath.Dir(b.log), "history"), limits)
	if err != nil {
		t.Fatal(err)
	}
	b.write(t, "build/a", "a\n")
	b.write(t, "build/sub/b", "b\n")
	if res := b.bash(t, "rm -rf build", nil); res.Verdict != guard.VerdictAsk || !exists(b.root+"/build/a") {
		t.Fatalf("nothing keeps it: %s", res.Text)
	}
	b.History, b.Guard.Hold = kept, guard.Kept
	res := b.bash(t, "rm -rf build", nil)
	if res.Verdict != guard.VerdictAllow || exists(b.root+"/build") || !strings.Contains(res.Reason, "undo") {
		t.Fatalf("%+v", res)
	}
	r, err := kept.Find(res.CallID)
	if err != nil {
		t.Fatal(err)
	}
	if u, err := kept.Undo(t.Context(), r, history.Options{ID: "undo-x"}); err != nil || !u.Done || b.content(t, "build/sub/b") != "b\n" {
		t.Errorf("%+v, %v", u, err)
	}
	b.write(t, "build/large", strings.Repeat("x", 5000))
	if res := b.bash(t, "rm -rf build", nil); res.Rule != "history/keep" || !exists(b.root+"/build/a") {
		t.Errorf("what cannot be kept: %s", res.Text)
	}
}

// freely opens what holds nothing.
func freely(t *testing.T) func([]string, string) (sandbox.Sandbox, error) {
	dir := resolved(t.TempDir())
	return func(roots []string, _ string) (sandbox.Sandbox, error) {
		return sandbox.Open(sandbox.Settings{Tier: sandbox.None, Roots: roots, State: dir})
	}
}
