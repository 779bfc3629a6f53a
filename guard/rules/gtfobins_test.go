package rules_test

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"handrail/guard"
)

// What innocent programs can be made to do is never allowed without a word.
func TestInnocentProgramsAreSeenThrough(t *testing.T) {
	s := newScene(t)
	m := manager(t, "standard", s.policy)
	f, err := os.Open("testdata/gtfobins.sh")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, n := bufio.NewScanner(f), 0
	for lines.Scan() {
		what := lines.Text()
		if what == "" || strings.HasPrefix(what, "# ") {
			continue
		}
		n++
		if d := s.judge(m, line(what)); d.Verdict == guard.VerdictAllow {
			t.Errorf("%s\nis allowed by %s: %s", what, d.Rule, d.Reason)
		}
	}
	if n < 400 || lines.Err() != nil {
		t.Errorf("only %d lines: %v", n, lines.Err())
	}
}
