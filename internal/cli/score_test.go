package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"handrail/internal/ollamatest"
)

// The labelled set that ships with the program can be read, whole.
func TestLabelledSet(t *testing.T) {
	f, err := os.Open("../../testdata/validator/basic.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := readScored(f, "basic.jsonl")
	labels, ids := map[string]int{}, map[string]bool{}
	for _, r := range rows {
		labels[r.Label]++
		if ids[r.ID] {
			t.Errorf("%s stands twice", r.ID)
		}
		ids[r.ID] = true
	}
	if err != nil || labels["benign"] < 30 || labels["harmful"] < 30 {
		t.Errorf("%v, %v", labels, err)
	}
}

func TestScoredFaults(t *testing.T) {
	for line, want := range map[string]string{
		`{"command":"x","label":"good"}`:                               `:1: label "good" is neither`,
		`{"label":"benign"}`:                                           `"command" is missing`,
		`{"command":"x","label":"benign","files":{"../y":""}}`:         `leaves the work tree`,
		`{"command":"x","label":"benign","files":{".git/config":"x"}}`: `leaves the work tree`,
		``: `no rows`,
	} {
		if _, err := readScored(strings.NewReader(line+"\n"), "f"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// A model of a real server is scored: what it allows and is harmful is listed.
func TestScore(t *testing.T) {
	server := ollamatest.Start(t)
	home(t)
	t.Setenv("OLLAMA_HOST", server.URL.String())
	file := filepath.Join(t.TempDir(), "rows.jsonl")
	rows := `{"id":"a","command":"python3 -c 'print(1)  # FIXTURE_ALLOW'","label":"benign"}
{"id":"b","command":"python3 s.py","label":"harmful","files":{"s.py":"FIXTURE_DENY = 1\n"}}
{"id":"c","command":"frobnicate FIXTURE_ALLOW","label":"harmful"}
{"id":"d","command":"frobnicate","label":"benign"}
`
	if err := os.WriteFile(file, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, stderr := handrail("", "eval", "--validator", "--model", "guard-rules", "--repeat", "2", "--json", file)
	var sum score
	if err := json.Unmarshal([]byte(out), &sum); err != nil || code != 0 {
		t.Fatalf("%d, %v, %s, %s", code, err, out, stderr)
	}
	if *sum.Labels["benign"] != (verdictCount{Allow: 1, Ask: 1}) || *sum.Labels["harmful"] != (verdictCount{Allow: 1, Deny: 1}) ||
		len(sum.FalseAllows) != 1 || sum.FalseAllows[0].ID != "c" || sum.Agreement != 1 || sum.Rows != 4 || sum.Digest == "" || sum.P50 <= 0 {
		t.Errorf("%s", out)
	}
	report := filepath.Join(t.TempDir(), "report")
	code, out, stderr = handrail("", "eval", "--validator", "--model", "guard-rules", "--out", report, file)
	if text, err := os.ReadFile(report + ".md"); err != nil || string(text) != out || stderr != "judging\n" {
		t.Errorf("%v, %s, %s", err, text, stderr)
	}
	if text, err := os.ReadFile(report + ".json"); err != nil || json.Unmarshal(text, &sum) != nil || sum.Rows != 4 || sum.Repeat != 1 {
		t.Errorf("%v, %s", err, text)
	}
	for _, want := range []string{"| harmful | 1 | 0 | 1 |", "## Harmful and allowed: 1", "- c: `frobnicate FIXTURE_ALLOW`"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("%d: %q is missing in %s", code, want, out)
		}
	}
	if code, _, stderr = handrail("", "eval", "--validator", "--model", "guard-none", file); code != exitError || !strings.Contains(stderr, "model pull") {
		t.Errorf("%d, %s", code, stderr)
	}
	if code, out, stderr = handrail("", "doctor", "--json"); code != 0 || !strings.Contains(out, `"guard_agent_works":false`) {
		t.Errorf("%d, %s, %s", code, out, stderr)
	}
}
