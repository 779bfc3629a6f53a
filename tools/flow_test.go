package tools

import (
	"bufio"
	"bytes"
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
	"handrail/guard/audit"
	"handrail/guard/command"
	"handrail/guard/shell"
	"handrail/internal/testkit"
)

// person is who answers in a test.
type person func(ctx context.Context, q elicit.Question) (elicit.Answer, error)

func (p person) Ask(ctx context.Context, q elicit.Question) (elicit.Answer, error) { return p(ctx, q) }

// says is a person who always gives the same answer.
func says(o elicit.Outcome, c elicit.Choice) person {
	return func(context.Context, elicit.Question) (elicit.Answer, error) {
		return elicit.Answer{Outcome: o, Choice: c, Channel: "test"}, nil
	}
}

// bench is a toolbox on a workspace of its own, with small rules: deleting and
// what is unknown asks, whatever is called "forbidden" is denied.
type bench struct {
	*Toolbox
	root, log string
}

func newBench(t testing.TB) *bench {
	t.Helper()
	testkit.Require(t, "bash", "apt-get install bash")
	table, err := command.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	root, state := resolved(t.TempDir()), resolved(t.TempDir())
	log, err := audit.Open(filepath.Join(state, "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	speak := func(id string, v guard.Verdict, when func(guard.Effect) bool) guard.Rule {
		return guard.Rule{ID: id, Evaluate: func(p *guard.Pass) {
			for i, e := range p.Facts.Effects {
				if when(e) {
					p.Report(i, v, e.Kind.String()+" "+e.Target, "do "+id+" otherwise")
				}
			}
		}}
	}
	return &bench{root: root, log: filepath.Join(state, "audit.jsonl"), Toolbox: &Toolbox{
		Guard: &guard.Manager{Grants: guard.NewGrants(), Fallback: guard.VerdictAsk,
			Rules: []guard.Rule{
				speak("test/forbidden", guard.VerdictDeny, func(e guard.Effect) bool { return strings.HasSuffix(e.Target, "forbidden") }),
				speak("test/delete", guard.VerdictAsk, func(e guard.Effect) bool { return e.Kind == guard.Delete || e.Kind == guard.Unknown }),
			},
			Default: []guard.Rule{speak("test/default", guard.VerdictAllow, func(guard.Effect) bool { return true })}},
		Reader: &shell.Reader{Table: table, Home: root, Env: Environment([]string{root}, state), Roots: []string{root}},
		Audit:  log,
	}}
}

// call does one call; args are the arguments as a map or as JSON.
func (b *bench) call(t testing.TB, tool string, args any, p elicit.Channel) *Result {
	t.Helper()
	input, ok := args.(string)
	if !ok {
		j, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		input = string(j)
	}
	res := b.Do(t.Context(), Call{Tool: tool, Input: json.RawMessage(input), Roots: []string{b.root}, Session: "s", Channel: p})
	if res == nil || res.CallID == "" || res.Text == "" {
		t.Fatalf("%s %s: result %+v", tool, input, res)
	}
	return res
}

func (b *bench) bash(t testing.TB, text string, p elicit.Channel) *Result {
	t.Helper()
	return b.call(t, Bash, map[string]any{"command": text}, p)
}

func (b *bench) write(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(b.root, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
		t.Fatal(err)
	}
	return path
}

// events are the audit records of a call, as "event verdict approval".
func (b *bench) events(t testing.TB, id string) (out []string) {
	t.Helper()
	f, err := os.Open(b.log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var r audit.Record
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if r.CallID == id {
			out = append(out, strings.TrimSpace(strings.Join(strings.Fields(string(r.Event)+" "+r.Verdict+" "+r.Approval), " ")))
		}
	}
	return out
}

func exists(path string) bool { _, err := os.Lstat(path); return err == nil }

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

// TestNoRecordNoRun: a log that cannot be written stops everything.
func TestNoRecordNoRun(t *testing.T) {
	b := newBench(t)
	b.Audit.Close()
	for _, text := range []string{"touch made", "rm -f victim"} {
		res := b.bash(t, text, says(elicit.Approved, elicit.AllowSession))
		if res.Verdict != guard.VerdictDeny || res.Rule != "audit/unwritable" || exists(b.root+"/made") {
			t.Errorf("%q: %+v", text, res)
		}
	}
}

func TestZeroAndBrokenToolboxRefuse(t *testing.T) {
	call := Call{Tool: Bash, Input: json.RawMessage(`{"command":"true"}`), Roots: []string{"/"}}
	if res := new(Toolbox).Do(t.Context(), call); res.Verdict != guard.VerdictDeny || !res.IsError {
		t.Errorf("zero toolbox: %+v", res)
	}
	b := newBench(t)
	b.Reader.Table = nil // the reader's fault is not the caller's luck
	if res := b.bash(t, "rm -rf x", nil); res.Verdict == guard.VerdictAllow {
		t.Errorf("without a table: %+v", res)
	}
	b.Guard.Validator = nil
	b.Guard.Rules = append(b.Guard.Rules, guard.Rule{ID: "test/panic", Evaluate: func(*guard.Pass) { panic("x") }})
	if res := b.bash(t, "true", nil); res.Verdict != guard.VerdictDeny {
		t.Errorf("a rule that panics: %+v", res)
	}
	if res := b.Do(t.Context(), Call{Tool: Bash, Input: json.RawMessage(`{"command":"true"}`)}); res.Verdict != guard.VerdictDeny {
		t.Errorf("without roots: %+v", res)
	}
}

func TestDoRecovers(t *testing.T) {
	b := newBench(t)
	res := b.Do(t.Context(), Call{Tool: Bash, Input: json.RawMessage(`{"command":"rm -f x"}`), Roots: []string{b.root},
		Channel: says(elicit.Approved, elicit.AllowOnce), Progress: func(string) { panic("broken client") }})
	if res.Verdict != guard.VerdictDeny || !res.IsError || res.Rule != "guard/error" || res.CallID == "" {
		t.Errorf("%+v", res)
	}
	if b.open.Load() != 0 {
		t.Error("the question is still counted")
	}
}

func TestBashTimeoutAndCancel(t *testing.T) {
	b := newBench(t)
	res := b.call(t, Bash, map[string]any{"command": "echo begun; sleep 60", "timeout_ms": 300}, nil)
	if !res.TimedOut || !res.IsError || res.Stdout != "begun\n" || *res.ExitCode != 143 || !strings.Contains(res.Text, "timed out") {
		t.Errorf("%+v", res)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	res = b.Do(ctx, Call{Tool: Bash, Input: json.RawMessage(`{"command":"sleep 60"}`), Roots: []string{b.root}})
	if res.TimedOut || !res.IsError || !strings.Contains(res.Text, "cancelled") {
		t.Errorf("%+v", res)
	}
	if got := b.events(t, res.CallID); !slices.Equal(got, []string{"decision allow", "outcome"}) {
		t.Errorf("audit %q", got)
	}
}

func TestBashCwd(t *testing.T) {
	b := newBench(t)
	b.write(t, "sub/f", "")
	if res := b.call(t, Bash, map[string]any{"command": "pwd", "cwd": "sub"}, nil); res.Stdout != b.root+"/sub\n" {
		t.Errorf("%+v", res)
	}
	for _, cwd := range []string{"missing", "sub/f", "~nobody"} {
		if res := b.call(t, Bash, map[string]any{"command": "pwd", "cwd": cwd}, nil); !res.IsError || res.Rule != "call/arguments" || !strings.Contains(res.Text, "cwd") {
			t.Errorf("%s: %+v", cwd, res)
		}
	}
	ec, err := b.Context(Call{Tool: Bash, Input: json.RawMessage(`{"command":"true","cwd":"/etc"}`), Roots: []string{b.root}})
	if err != nil || ec.WorkingDir != "/etc" || !slices.ContainsFunc(ec.Facts.Effects, func(e guard.Effect) bool { return e.Kind == guard.Read && e.Target == "/etc" }) {
		t.Errorf("a directory outside the roots is no effect: %v %+v", err, ec)
	}
}

func TestArguments(t *testing.T) {
	b := newBench(t)
	b.write(t, "f", "x\n")
	for _, c := range []struct{ tool, input, want string }{
		{"safe_rm", `{}`, "safe_edit"},
		{Bash, ``, "one JSON object"},
		{Bash, `[]`, "one JSON object"},
		{Bash, `"true"`, "one JSON object"},
		{Bash, `{`, "not valid JSON"},
		{Bash, `{"command":"true"} {}`, "after the arguments"},
		{Bash, `{"command":"true"}}`, "after the arguments"},
		{Bash, `{}`, `"command" is missing`},
		{Bash, `{"command":null}`, `"command" must be a string`},
		{Bash, `{"command":["ls"]}`, `"command" must be a string, not ["ls"]`},
		{Bash, `{"command":"  "}`, "empty"},
		{Bash, `{"command":"true","cmd":"x"}`, `no field "cmd"; the fields are command, cwd, timeout_ms, description`},
		{Bash, `{"command":"true","command":"rm x"}`, "more than once"},
		{Bash, `{"command":"true","Command":"rm x"}`, "more than once"},
		{Bash, `{"COMMAND":"true"}`, `no field "COMMAND"`},
		{Bash, `{"command":"true","timeout_ms":"5"}`, `"timeout_ms" must be a whole number`},
		{Bash, `{"command":"true","timeout_ms":1.5}`, "whole number"},
		{Bash, `{"command":"true","timeout_ms":-1}`, "between 1 and 1800000"},
		{Bash, `{"command":"true","timeout_ms":1800001}`, "between 1 and 1800000"},
		{Bash, `{"command":"a\u0000b"}`, "NUL"},
		{Bash, "{\"command\":\"a\xff\"}", "UTF-8"},
		{Bash, `{"command":"` + strings.Repeat("a", maxCommand+1) + `"}`, "at most"},
		{Read, `{"path":""}`, "empty"},
		{Read, `{"path":"f","limit":5000}`, "between 1 and 2000"},
		{Read, `{"path":"~root/x"}`, "another user's home"},
		{Write, `{"path":"f"}`, `"content" is missing`},
		{Write, `{"path":"f","content":"x","expected_sha256":"abc"}`, "64 hexadecimal"},
		{Edit, `{"path":"f","old_string":"","new_string":"x"}`, "old_string"},
		{Edit, `{"path":"f","old_string":"x","new_string":"y","replace_all":"yes"}`, "true or false"},
	} {
		res := b.call(t, c.tool, c.input, says(elicit.Approved, elicit.AllowOnce))
		if !res.IsError || res.Verdict != guard.VerdictDeny || !strings.Contains(res.Text, c.want) {
			t.Errorf("%s %.80s: %q lacks %q", c.tool, c.input, clip(res.Text, 300), c.want)
		}
		if got := b.events(t, res.CallID); !slices.Equal(got, []string{"decision deny"}) {
			t.Errorf("%s %.80s: audit %q", c.tool, c.input, got)
		}
	}
	if res := b.call(t, Bash, `{"command":"true","cwd":null,"timeout_ms":null,"description":null}`, nil); res.IsError {
		t.Errorf("null for optional fields: %+v", res)
	}
	if content, _ := os.ReadFile(b.root + "/f"); !bytes.Equal(content, []byte("x\n")) {
		t.Errorf("the file is %q", content)
	}
}
