package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"handrail/elicit"
	"handrail/guard"
	"handrail/guard/rules"
	"handrail/internal/testkit"
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

// Where nothing can be kept, what runs unasked because it can be undone asks, and
// what replaces a file that has no other copy; what a person approved runs, and what
// is new or added to, and says so.
func TestNothingCanBeKept(t *testing.T) {
	b := newBench(t)
	b.History = new(history.Store)
	b.Sandbox = freely(t)
	b.Guard.Hold, b.Guard.Contain = guard.Trusted, true
	b.write(t, "Makefile", "all:\n\techo made > made\n")
	res := b.bash(t, "make", nil)
	if res.Verdict != guard.VerdictAsk || res.Rule != keptRule || exists(b.root+"/made") {
		t.Errorf("unapproved code: %+v", res)
	}
	if res = b.bash(t, "make", says(elicit.Declined, "")); res.Approval != elicit.Declined || exists(b.root+"/made") {
		t.Errorf("declined: %+v", res)
	}
	res = b.bash(t, "make", says(elicit.Approved, elicit.AllowOnce))
	if res.Verdict != guard.VerdictAllow || !exists(b.root+"/made") || !strings.Contains(res.Text, "cannot be undone") {
		t.Errorf("approved: %+v", res)
	}
	res = b.bash(t, "echo x > f", nil)
	if !exists(b.root+"/f") || !strings.Contains(res.Text, "cannot be undone") {
		t.Errorf("%+v", res)
	}
	b.write(t, "mine", "of a person\n")
	if res = b.bash(t, "echo x > mine", nil); res.Verdict != guard.VerdictAsk || res.Rule != keptRule || b.content(t, "mine") != "of a person\n" {
		t.Errorf("what no copy is of: %+v", res)
	}
	if res = b.bash(t, "echo y >> mine; touch mine", nil); res.Verdict != guard.VerdictAllow || !strings.Contains(res.Text, "cannot be undone") {
		t.Errorf("what is added to: %+v", res)
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
	if res := b.bash(t, "rm -rf build", nil); res.Verdict != guard.VerdictAsk || res.Rule != keptRule || !strings.Contains(res.Reason, "build/large") || !exists(b.root+"/build/a") {
		t.Errorf("what cannot be kept: %s", res.Text)
	} else if r, err := kept.Find(res.CallID); err != history.ErrNone {
		t.Errorf("a call that did not run is in the history: %+v, %v", r, err)
	}
	if res := b.bash(t, "rm -rf build", says(elicit.Approved, elicit.AllowOnce)); res.Verdict != guard.VerdictAllow || exists(b.root+"/build") || !strings.Contains(res.Text, "build/large") {
		t.Errorf("a person accepts the loss: %s", res.Text)
	}
}

// Beside code, deleting a build product, what is not there, or a work tree is no
// question in a git work tree, whose objects are not kept; deleting what is not
// kept is one, by its name.
func TestDeletesBesideCode(t *testing.T) {
	for _, program := range []string{"git", "make"} {
		testkit.Require(t, program, "apt-get install "+program)
	}
	b, home := heldBench(t)
	b.Guard.Rules, b.Guard.Default = rules.Standard(rules.Policy{Home: home})
	limits := history.DefaultLimits()
	limits.File = 1000
	kept, err := history.Open(filepath.Join(filepath.Dir(b.log), "history"), limits)
	if err != nil {
		t.Fatal(err)
	}
	b.History, b.Guard.Hold = kept, guard.Kept
	b.write(t, ".gitignore", "build/\n*.bin\n")
	b.write(t, "Makefile", "all:\n\tmkdir -p build && echo made > build/out\n")
	git(t, b.root, "init", "-q", "-b", "main")
	git(t, b.root, "add", "-A")
	git(t, b.root, "commit", "-qm", "one")
	for i := range 30 { // more than a record lists
		b.write(t, fmt.Sprintf("data/%d.bin", i), strings.Repeat("x", 5000))
	}
	b.write(t, "build/old", strings.Repeat("x", 5000))
	for _, command := range []string{"make; rm -rf nosuch", "rm -rf build && make", "git worktree add w9 && git worktree remove w9"} {
		if res := b.bash(t, command, nil); res.Verdict != guard.VerdictAllow || res.ExitCode == nil || *res.ExitCode != 0 {
			t.Errorf("%s: %s", command, res.Text)
		}
	}
	if exists(b.root+"/build/old") || b.content(t, "build/out") != "made\n" {
		t.Error("the build is not new")
	}
	b.write(t, "notes", strings.Repeat("x", 5000))
	for _, command := range []string{"rm -f notes; make", "make; rm -rf notes data/1.bin", "rm -f ./notes && make"} {
		if res := b.bash(t, command, nil); res.Verdict != guard.VerdictAsk || !strings.Contains(res.Reason, b.root+"/notes") || !exists(b.root+"/notes") {
			t.Errorf("%s: %s", command, res.Text)
		}
	}
}

// Replacing a file that cannot be kept is a question, as deleting it is; what git
// has, what it ignores, what the session made, what is added to and what is small
// is replaced without one.
func TestReplacedIsAQuestionWhereNotKept(t *testing.T) {
	for _, program := range []string{"git", "make", "gcc"} {
		testkit.Require(t, program, "apt-get install "+program)
	}
	b, home := heldBench(t)
	b.Guard.Rules, b.Guard.Default = rules.Standard(rules.Policy{Home: home})
	limits := history.DefaultLimits()
	limits.File, limits.Ignored = 1000, 500
	kept, err := history.Open(filepath.Join(filepath.Dir(b.log), "history"), limits)
	if err != nil {
		t.Fatal(err)
	}
	b.History, b.Guard.Hold = kept, guard.Kept
	large := strings.Repeat("x\n", 2500)
	b.write(t, ".gitignore", "build/\n/app\n")
	b.write(t, "Makefile", "all:\n\t@true\n")
	b.write(t, "a.c", "int main(void) { return 0; }\n")
	b.write(t, "clean.bin", large)
	git(t, b.root, "init", "-q", "-b", "main")
	git(t, b.root, "add", "-A")
	git(t, b.root, "commit", "-qm", "one")
	b.write(t, "a", "small\n")
	b.write(t, "big.bin", large)
	b.write(t, "edited.bin", large)
	git(t, b.root, "add", "edited.bin")
	b.write(t, "edited.bin", large+"and more\n")
	for _, command := range []string{"cp a big.bin", ": > big.bin", "truncate -s 0 big.bin", "mv a big.bin", "sort -o big.bin a", "dd if=a of=big.bin", "tee big.bin < a", "make > big.bin",
		"sed -i s/x/y/ big.bin", "ln -sf a big.bin", "cp a edited.bin", "make; cp a ./big.bin"} {
		res := b.bash(t, command, nil)
		if res.Verdict != guard.VerdictAsk || res.Rule != keptRule || !strings.Contains(res.Reason, "too large") || b.content(t, "big.bin") != large {
			t.Errorf("%s: %s", command, res.Text)
		}
		if _, err := kept.Find(res.CallID); err != history.ErrNone {
			t.Errorf("%s: a call that did not run is in the history (%v)", command, err)
		}
	}
	if res := b.call(t, Write, map[string]any{"path": "big.bin", "content": "x"}, nil); res.Verdict != guard.VerdictAsk || b.content(t, "big.bin") != large {
		t.Errorf("safe_write: %s", res.Text)
	}
	b.write(t, "build/out", large)
	b.write(t, "app", large)
	for _, command := range []string{"cp a build/out", "gcc -o app a.c && gcc -o app a.c", "cp clean.bin app && make > app", "cp a clean.bin", "echo more >> big.bin", "touch big.bin", "chmod +x big.bin",
		"cp big.bin new.bin", "cp a new.bin", "cp big.bin a", "mv big.bin moved.bin"} {
		if res := b.bash(t, command, nil); res.Verdict != guard.VerdictAllow || res.ExitCode == nil || *res.ExitCode != 0 {
			t.Errorf("%s: %s", command, res.Text)
		}
	}
	res := b.bash(t, ": > moved.bin", says(elicit.Approved, elicit.AllowOnce))
	if res.Verdict != guard.VerdictAllow || b.content(t, "moved.bin") != "" {
		t.Fatalf("a person accepts the loss: %s", res.Text)
	}
	r, err := kept.Find(res.CallID)
	if err != nil {
		t.Fatal(err)
	}
	if u, err := kept.Undo(t.Context(), r, history.Options{ID: "undo-x"}); err != nil || u.Done || !strings.Contains(fmt.Sprint(u.Refused), "too large") {
		t.Errorf("undo does not say what it cannot bring back: %+v, %v", u, err)
	}
}

// freely opens what holds nothing.
func freely(t *testing.T) func([]string, string) (sandbox.Sandbox, error) {
	dir := resolved(t.TempDir())
	return func(roots []string, _ string) (sandbox.Sandbox, error) {
		return sandbox.Open(sandbox.Settings{Tier: sandbox.None, Roots: roots, State: dir})
	}
}

// git runs git in dir as its user would, outside every sandbox.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// A call that waited for its place is not what it was where what it deletes was
// changed meanwhile and cannot be kept: it does not run, and is not in the history.
func TestKeptAgainAfterAWait(t *testing.T) {
	testkit.Require(t, "git", "apt-get install git")
	b, home := heldBench(t)
	b.Guard.Rules, b.Guard.Default = rules.Standard(rules.Policy{Home: home})
	limits := history.DefaultLimits()
	limits.File = 1000
	kept, err := history.Open(filepath.Join(filepath.Dir(b.log), "history"), limits)
	if err != nil {
		t.Fatal(err)
	}
	b.History, b.Guard.Hold = kept, guard.Kept
	large := strings.Repeat("x", 5000)
	b.write(t, "clean", large)
	git(t, b.root, "init", "-q", "-b", "main")
	git(t, b.root, "add", "-A")
	git(t, b.root, "commit", "-qm", "one")
	b.write(t, "a", "a\n")
	b.write(t, "small", "small\n")
	for command, name := range map[string]string{"rm clean": "clean", "cp a small": "small", "rm small": "small"} {
		left := false
		res := b.Do(t.Context(), Call{Tool: Bash, Input: json.RawMessage(fmt.Sprintf(`{"command":%q}`, command)), Roots: []string{b.root}, Session: "s",
			Place: func(context.Context) (func(), bool, error) {
				b.write(t, name, large+"edited")
				return func() { left = true }, true, nil
			}})
		if res.Verdict != guard.VerdictDeny || res.Rule != "guard/changed" || b.content(t, name) != large+"edited" || !left {
			t.Errorf("%s: place left: %v; %s", command, left, res.Text)
		}
		if _, err := kept.Find(res.CallID); err != history.ErrNone {
			t.Errorf("%s: a call that did not run is in the history (%v)", command, err)
		}
		b.write(t, "small", "small\n")
	}
}
