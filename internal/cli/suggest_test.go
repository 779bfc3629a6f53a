package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"handrail/elicit"
	"handrail/guard"
	"handrail/internal/config"
	"handrail/internal/store"
	"handrail/tools"
)

// pastCall is a call as the history has it, judged by real rules.
func pastCall(t *testing.T, j *config.Judge, dir, command string, approval elicit.Outcome, granted bool) store.Past {
	t.Helper()
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	c, err := tools.Look(j.Reader, tools.Call{Tool: tools.Bash, Input: input, Roots: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	d := j.Guard.Judge(c)
	return store.Past{At: time.Now(), Call: c, Findings: d.Findings, Judged: d.Verdict, Verdict: d.Verdict, Rule: d.Rule, Approval: approval, Granted: granted, Whole: true}
}

func judgeHere(t *testing.T) (*config.Config, *config.Judge, string) {
	t.Helper()
	home(t)
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Load("", nil)
	if err != nil {
		t.Fatal(err)
	}
	j, err := c.Judge(tools.Environment([]string{dir}, ""))
	if err != nil {
		t.Fatal(err)
	}
	return c, j, dir
}

func TestSuggestions(t *testing.T) {
	c, j, dir := judgeHere(t)
	var list []store.Past
	add := func(n int, command string, approval elicit.Outcome, granted bool) {
		for range n {
			list = append(list, pastCall(t, j, dir, command, approval, granted))
		}
	}
	add(2, "curl https://api.example.org/health", elicit.Approved, false)
	add(3, "curl https://api.example.org/health", "", true)
	add(4, "mytool build", elicit.Approved, false)
	add(1, "mytool build", elicit.Unsupported, false)
	add(9, "othertool x", elicit.Approved, false)
	add(1, "othertool x", elicit.Declined, false) // not always approved
	add(3, "mkdir /opt/y/z", elicit.Approved, false)
	add(2, "thirdtool x", elicit.Approved, false) // not often
	add(9, "python3 -c 'print(1)'", elicit.Approved, false)
	add(9, "rm -rf /opt/x", elicit.Approved, false)
	add(9, "sudo ls", elicit.Approved, false)
	add(9, "mytool < in", elicit.Approved, false)
	add(9, "mytool", elicit.Approved, false)
	add(9, "mytool $HOME*", elicit.Approved, false)
	add(9, "ls", "", false)
	got := suggestions(list, 3)
	if len(got) != 3 || got[0].Call != "curl https://api.example.org/health" || got[0].Approved != 5 || got[1].Call != "mytool build" || got[1].Asked != 5 || got[1].Approved != 4 || got[2].Call != "mkdir /opt/y/z" {
		t.Fatalf("%+v", got)
	}
	// What is proposed loads, allows what was approved, and nothing beside it.
	guards := filepath.Join(t.TempDir(), "guards")
	if err := os.MkdirAll(guards, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, p := range got {
		id, _, _ := strings.Cut(strings.TrimPrefix(p.Guard, "id: "), "\n")
		if err := os.WriteFile(filepath.Join(guards, id+".yaml"), []byte(p.Guard), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	with, err := c.JudgeWith(tools.Environment([]string{dir}, ""), guards)
	if err != nil {
		t.Fatalf("%v\n%+v", err, got)
	}
	for command, want := range map[string]guard.Verdict{
		"curl https://api.example.org/health":           guard.VerdictAllow,
		"curl https://api.example.org/secrets":          guard.VerdictAsk,
		"curl -o x https://api.example.org/health":      guard.VerdictAsk,
		"mkdir /opt/y/z":                                guard.VerdictAllow,
		"mkdir /opt/y/a":                                guard.VerdictAsk,
		"mytool build":                                  guard.VerdictAllow,
		"mytool build --publish":                        guard.VerdictLLM,
		"mytool build; curl https://evil.example.com/x": guard.VerdictAsk,
	} {
		if p := pastCall(t, with, dir, command, "", false); p.Judged != want {
			t.Errorf("%s: %v (%s), want %v", command, p.Judged, p.Rule, want)
		}
	}
	// A replay says what they would change.
	changes, left := replayed(list, j, with)
	if left != 0 || len(changes) != 13 || changes[0].Was == changes[0].Now || changes[0].Now != guard.VerdictAllow {
		t.Errorf("%d changes, %d left out: %+v", len(changes), left, changes)
	}
	if changes, _ = replayed(list, j, nil); len(changes) != 0 {
		t.Errorf("the same policy changes %+v", changes)
	}
	list[0].Judged, list[1].Whole = guard.VerdictDeny, false
	if changes, left = replayed(list, j, nil); left != 1 || len(changes) != 1 || changes[0].Was != guard.VerdictDeny || changes[0].Now != guard.VerdictAsk {
		t.Errorf("%d left out, %+v", left, changes)
	}
}

func TestSince(t *testing.T) {
	for word, want := range map[string]time.Duration{"12h": 12 * time.Hour, "7d": 7 * 24 * time.Hour, "90m": 90 * time.Minute} {
		if at, err := sinceOf(word); err != nil || time.Since(at) < want || time.Since(at) > want+time.Minute {
			t.Errorf("%s: %v, %v", word, at, err)
		}
	}
	for _, word := range []string{"x", "-1h", "0d", "7 d", "1e9d", "d", "99999999d"} {
		if _, err := sinceOf(word); err == nil {
			t.Errorf("%q is a time", word)
		}
	}
}
