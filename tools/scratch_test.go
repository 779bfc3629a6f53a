package tools

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"handrail/guard"
	"handrail/guard/rules"
)

// TestScratchOfSessions: each session has a temporary directory of its own,
// which ends with it, and no session reads or writes that of another.
func TestScratchOfSessions(t *testing.T) {
	b, home := heldBench(t)
	b.Guard.Rules, b.Guard.Default = rules.Standard(rules.Policy{Home: home})
	call := func(session, tool string, args map[string]any) *Result {
		input, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		return b.Do(t.Context(), Call{Tool: tool, Input: input, Roots: []string{b.root}, Session: session})
	}
	bash := func(session, text string) *Result { return call(session, Bash, map[string]any{"command": text}) }
	res := bash("one", "echo mine > $TMPDIR/f; echo $TMPDIR; cat $TMPDIR/f")
	dir, _, _ := strings.Cut(res.Stdout, "\n")
	if res.Verdict != guard.VerdictAllow || !strings.HasSuffix(res.Stdout, "\nmine\n") || filepath.Dir(dir) != b.Reader.Env["TMPDIR"] {
		t.Fatal(res.Text)
	}
	if res := bash("one", "cat $TMPDIR/f; rm "+dir+"/f; echo again > $TMPDIR/f"); res.Stdout != "mine\n" {
		t.Errorf("not kept over the calls: %s", res.Text)
	}
	if res := bash("two", "echo $TMPDIR; cat $TMPDIR/f"); strings.HasPrefix(res.Stdout, dir+"\n") || strings.Contains(res.Stdout, "again") {
		t.Errorf("two sessions share it: %s", res.Text)
	}
	b.hide(t, "cat "+dir+"/f; echo evil > "+dir+"/f")
	if res := bash("two", "make -s"); res.Verdict != guard.VerdictAllow || strings.Contains(res.Stdout, "again") {
		t.Errorf("code of another session reads it: %s", res.Text)
	}
	for _, res := range []*Result{bash("two", "echo evil > "+dir+"/f"), call("two", Write, map[string]any{"path": dir + "/f", "content": "evil"}), bash("one", "rm -rf "+dir)} {
		if res.Verdict == guard.VerdictAllow {
			t.Errorf("done without a question: %s", res.Text)
		}
	}
	if res := call("one", Write, map[string]any{"path": dir + "/g", "content": "by the file tool"}); res.Verdict != guard.VerdictAllow {
		t.Errorf("the session's own directory asks: %s", res.Text)
	}
	if got, _ := os.ReadFile(dir + "/f"); string(got) != "again\n" {
		t.Errorf("it holds %q", got)
	}
	b.EndSession("one")
	if exists(dir) {
		t.Error("it outlives its session")
	}
	if res := bash("one", "echo x > $TMPDIR/f; cat $TMPDIR/f"); res.Stdout != "x\n" {
		t.Errorf("a session of the same name after it: %s", res.Text)
	}
}
