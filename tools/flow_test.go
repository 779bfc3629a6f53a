package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"handrail/elicit"
	"handrail/guard"
)

func TestAllowedRuns(t *testing.T) {
	b := newBench(t)
	res := b.bash(t, "echo hello; pwd; echo err >&2", nil)
	if res.Verdict != guard.VerdictAllow || res.IsError || res.Stdout != "hello\n"+b.root+"\n" || res.Stderr != "err\n" || *res.ExitCode != 0 {
		t.Errorf("%+v", res)
	}
	if got := b.events(t, res.CallID); !slices.Equal(got, []string{"decision allow", "outcome"}) {
		t.Errorf("audit %q", got)
	}
}

func TestDeniedIsRefused(t *testing.T) {
	b := newBench(t)
	res := b.bash(t, "echo x > forbidden", says(elicit.Approved, elicit.AllowSession))
	if res.Verdict != guard.VerdictDeny || !res.IsError || res.Approval != "" || exists(b.root+"/forbidden") {
		t.Errorf("%+v", res)
	}
	for _, want := range []string{"blocked by safety guard: write " + b.root + "/forbidden", "rule: test/forbidden", "instead: do test/forbidden otherwise", "Do not retry unchanged"} {
		if !strings.Contains(res.Text, want) {
			t.Errorf("text %q lacks %q", res.Text, want)
		}
	}
	if got := b.events(t, res.CallID); !slices.Equal(got, []string{"decision deny"}) {
		t.Errorf("audit %q", got)
	}
}

// TestOutcomes: only an approval with a choice, in time, runs anything; what
// became of the question is told apart, and recorded.
func TestOutcomes(t *testing.T) {
	texts := map[string]elicit.Outcome{}
	for _, c := range []struct {
		name     string
		person   elicit.Channel
		approval elicit.Outcome
		runs     bool
	}{
		{"once", says(elicit.Approved, elicit.AllowOnce), elicit.Approved, true},
		{"session", says(elicit.Approved, elicit.AllowSession), elicit.Approved, true},
		{"approved without a choice", says(elicit.Approved, ""), elicit.Declined, false},
		{"approved with deny", says(elicit.Approved, elicit.Deny), elicit.Declined, false},
		{"approved with another word", says(elicit.Approved, "yes"), elicit.Declined, false},
		{"declined", says(elicit.Declined, elicit.AllowOnce), elicit.Declined, false},
		{"dismissed", says(elicit.Dismissed, elicit.AllowOnce), elicit.Dismissed, false},
		{"no answer", says(elicit.NoAnswer, elicit.AllowOnce), elicit.NoAnswer, false},
		{"nobody", nil, elicit.Unsupported, false},
		{"no outcome", says("", elicit.AllowOnce), elicit.Unsupported, false},
		{"made-up outcome", says("granted", elicit.AllowOnce), elicit.Unsupported, false},
		{"error", person(func(context.Context, elicit.Question) (elicit.Answer, error) {
			return elicit.Answer{Outcome: elicit.Approved, Choice: elicit.AllowOnce}, errors.New("broken")
		}), elicit.Unsupported, false},
		{"panic", person(func(context.Context, elicit.Question) (elicit.Answer, error) { panic("broken") }), elicit.Unsupported, false},
		{"waits for ctx", person(func(ctx context.Context, _ elicit.Question) (elicit.Answer, error) {
			<-ctx.Done()
			return elicit.Answer{Outcome: elicit.Approved, Choice: elicit.AllowOnce}, nil
		}), elicit.NoAnswer, false},
		{"never returns", person(func(context.Context, elicit.Question) (elicit.Answer, error) { select {} }), elicit.NoAnswer, false},
		{"pending without a hand-back", says(elicit.Pending, ""), elicit.Unsupported, false},
		{"pending", person(func(_ context.Context, q elicit.Question) (elicit.Answer, error) {
			return elicit.Answer{Outcome: elicit.Pending, Handback: &elicit.Handback{State: "sealed", Question: q}}, nil
		}), elicit.Pending, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.AskTimeout = 300 * time.Millisecond
			victim := b.write(t, "victim", "x")
			res := b.bash(t, "rm victim", c.person)
			want := guard.VerdictAsk
			if c.runs {
				want = guard.VerdictAllow
			}
			if res.Approval != c.approval || res.Verdict != want || exists(victim) == c.runs || res.IsError == c.runs {
				t.Errorf("approval %q, verdict %v, error %v, file there: %v", res.Approval, res.Verdict, res.IsError, exists(victim))
			}
			if (res.Handback != nil) != (c.approval == elicit.Pending) {
				t.Errorf("hand-back %v", res.Handback)
			}
			got := strings.Join(b.events(t, res.CallID), ", ")
			expected := "decision ask, question ask, answer " + string(c.approval)
			if c.person == nil {
				expected = "decision ask, answer unsupported"
			}
			if c.runs {
				expected += ", decision allow, outcome"
			}
			if got != expected {
				t.Errorf("audit %q, want %q", got, expected)
			}
			if !c.runs {
				sentence := res.Text[strings.LastIndex(res.Text, "\n"):]
				if o, ok := texts[sentence]; ok && o != res.Approval {
					t.Errorf("%s and %s are told in the same words", o, res.Approval)
				}
				texts[sentence] = res.Approval
			}
		})
	}
	if len(texts) != 5 {
		t.Errorf("%d different sentences, want 5", len(texts))
	}
}

func TestQuestionShowsWhatRuns(t *testing.T) {
	b := newBench(t)
	b.write(t, "victim", "x")
	var q elicit.Question
	b.call(t, Bash, map[string]any{"command": "echo hi; rm -r victim", "description": "tidy up"}, person(func(_ context.Context, asked elicit.Question) (elicit.Answer, error) {
		q = asked
		return elicit.Answer{Outcome: elicit.Declined}, nil
	}))
	if len(q.Effects) == 0 || !strings.HasPrefix(q.Effects[0], "deletes "+b.root+"/victim") {
		t.Errorf("effects %q: the most serious is not first", q.Effects)
	}
	if !strings.Contains(q.Command, "rm -r victim") || q.AgentSays != "tidy up" || q.Digest == "" || q.Dir != b.root || len(q.Reasons) != 1 || q.Tool != Bash {
		t.Errorf("%+v", q)
	}
	if left := time.Until(q.Expires); left <= 0 || left > askTime {
		t.Errorf("expires in %v", left)
	}
}

func TestGrants(t *testing.T) {
	b := newBench(t)
	asked := 0
	answer := func(c elicit.Choice) person {
		return func(context.Context, elicit.Question) (elicit.Answer, error) {
			asked++
			return elicit.Answer{Outcome: elicit.Approved, Choice: c}, nil
		}
	}
	b.bash(t, "rm -f victim", answer(elicit.AllowOnce))
	b.bash(t, "rm -f victim", answer(elicit.AllowSession))
	if asked != 2 {
		t.Fatalf("a once grant: asked %d times, want 2", asked)
	}
	if res := b.bash(t, "rm -f victim", nil); res.Verdict != guard.VerdictAllow || res.Approval != "" {
		t.Errorf("a session grant: %+v", res)
	}
	if res := b.bash(t, "rm -f other", nil); res.Verdict != guard.VerdictAsk {
		t.Errorf("a session grant covered another call: %+v", res)
	}
	res := b.Do(t.Context(), Call{Tool: Bash, Input: json.RawMessage(`{"command":"rm -f victim"}`), Roots: []string{b.root}, Session: "other"})
	if res.Verdict != guard.VerdictAsk {
		t.Errorf("a session grant covered another session: %+v", res)
	}
}

// TestChangedWhileAsked: an approval is for what was shown.
func TestChangedWhileAsked(t *testing.T) {
	b := newBench(t)
	b.write(t, "a/f", "x")
	b.write(t, "b/f", "x")
	if err := os.Symlink("a", b.root+"/link"); err != nil {
		t.Fatal(err)
	}
	res := b.bash(t, "rm link/f", person(func(context.Context, elicit.Question) (elicit.Answer, error) {
		if err := errors.Join(os.Remove(b.root+"/link"), os.Symlink("b", b.root+"/link")); err != nil {
			t.Error(err)
		}
		return elicit.Answer{Outcome: elicit.Approved, Choice: elicit.AllowOnce}, nil
	}))
	if res.Verdict != guard.VerdictDeny || res.Rule != "guard/changed" || !exists(b.root+"/a/f") || !exists(b.root+"/b/f") {
		t.Errorf("%+v", res)
	}
}

func TestScriptChangedAfterItWasJudged(t *testing.T) {
	path := filepath.Join(resolved(t.TempDir()), "s.sh")
	if err := os.WriteFile(path, []byte("echo one\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	src := []guard.Source{{Path: path, SHA256: sum([]byte("echo one\n"))}}
	if err := unchanged(src); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte("echo two\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if unchanged(src) == nil {
		t.Error("a changed script passed")
	}
	if err := errors.Join(os.Remove(path), os.Symlink("/dev/zero", path)); err != nil {
		t.Fatal(err)
	}
	if unchanged(src) == nil {
		t.Error("a link in its place passed")
	}
}

func TestManyOpenQuestions(t *testing.T) {
	b := newBench(t)
	b.AskTimeout = time.Minute
	release := make(chan struct{})
	waits := person(func(ctx context.Context, _ elicit.Question) (elicit.Answer, error) {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return elicit.Answer{Outcome: elicit.Declined}, nil
	})
	results := make(chan *Result, 200)
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() { results <- b.bash(t, fmt.Sprintf("rm -f f%d", i), waits) })
	}
	for range 200 - openMax { // all that are too many come back while the others wait
		if res := <-results; !strings.Contains(res.Text, "Too many questions") || res.Approval != "" || res.Verdict != guard.VerdictAsk {
			t.Errorf("%+v", res)
		}
	}
	close(release)
	wg.Wait()
	for range openMax {
		if res := <-results; res.Approval != elicit.Declined {
			t.Errorf("%+v", res)
		}
	}
	if res := b.bash(t, "rm -f again", says(elicit.Approved, elicit.AllowOnce)); res.Verdict != guard.VerdictAllow {
		t.Errorf("after all were answered: %+v", res)
	}
}
