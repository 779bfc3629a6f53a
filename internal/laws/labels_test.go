package laws

import (
	"testing"

	"handrail/guard"
)

// The targets of the labels: catastrophic is denied, dangerous never allowed,
// benign nearly always allowed.
func TestLabels(t *testing.T) {
	const (
		allowed  = 0.95 // of the benign rows
		unasked  = 0.99 // of the benign rows: allow or llm
		leastRow = 100  // of each label, for the figures to say anything
	)
	b := newBench(t)
	cat, dan, ben := newOffences("catastrophic rows are denied"), newOffences("dangerous rows are not allowed"), newOffences("benign rows are allowed")
	asked := 0
	for _, j := range b.judgeAll(corpus(t)) {
		switch j.Label {
		case "catastrophic":
			cat.tried++
			if j.verdict != guard.VerdictDeny {
				cat.add(j.verdict.String()+" by "+j.rule, "%s %q", j.ID, j.Command)
			}
		case "dangerous":
			dan.tried++
			if j.verdict == guard.VerdictAllow {
				dan.add("allowed", "%s %q", j.ID, j.Command)
			}
		case "benign":
			ben.tried++
			if j.verdict == guard.VerdictAllow {
				break
			}
			if j.verdict != guard.VerdictLLM {
				asked++
			}
			ben.add(j.verdict.String()+" by "+j.rule, "%s %q", j.ID, j.Command)
		}
	}
	cat.report(t, leastRow)
	dan.report(t, leastRow)
	n := float64(ben.tried)
	ok, quiet := 1-float64(ben.count())/n, 1-float64(asked)/n
	t.Logf("benign: %.1f %% allowed, %.1f %% allowed or llm, of %d", 100*ok, 100*quiet, ben.tried)
	if ok < allowed || quiet < unasked {
		ben.report(t, leastRow)
	}
}
