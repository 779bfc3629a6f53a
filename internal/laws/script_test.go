package laws

import (
	"reflect"
	"slices"
	"testing"

	"handrail/guard"
)

// What runs is what was read: the script that goes to bash, read again, gives
// the same verdict and the same effects; and it is printed the same again.
func TestScriptReadsTheSame(t *testing.T) {
	b := newBench(t)
	law := newOffences("the script reads as the command did")
	for _, j := range b.judgeAll(corpus(t)) {
		if j.facts.Script == "" {
			if !j.unknown() {
				law.add("nothing to run, and nothing is unknown", "%s %q", j.ID, j.Command)
			}
			continue
		}
		law.tried++
		again := b.read(j.facts.Script)
		if again.verdict != j.verdict {
			law.add(j.verdict.String()+" becomes "+again.verdict.String(), "%s %q as %q", j.ID, j.Command, j.facts.Script)
		}
		if !reflect.DeepEqual(bare(j.facts), bare(again.facts)) {
			law.add("other effects", "%s %q as %q", j.ID, j.Command, j.facts.Script)
		}
		if again.facts.Script != j.facts.Script {
			law.add("printed another way", "%s %q as %q", j.ID, j.facts.Script, again.facts.Script)
		}
	}
	law.report(t, 2500)
}

// bare are effects without what hangs on the spelling.
func bare(f *guard.Facts) []guard.Effect {
	effects := slices.Clone(f.Effects)
	for i := range effects {
		effects[i].Written, effects[i].Note = "", ""
	}
	return effects
}

// Reading is a function of the command and the place: twice the same.
func TestReadingIsStable(t *testing.T) {
	b := newBench(t)
	law := newOffences("reading twice gives the same")
	for _, j := range b.judgeAll(corpus(t)) {
		law.tried++
		again := b.read(j.Command)
		if again.verdict != j.verdict || again.rule != j.rule || !reflect.DeepEqual(again.facts.Effects, j.facts.Effects) {
			law.add("another reading", "%s %q", j.ID, j.Command)
		}
		for _, e := range j.facts.Effects {
			if !e.Known() {
				law.add("an action that does not belong to its kind: "+e.Kind.String()+"/"+e.Action, "%s %q", j.ID, j.Command)
			}
			if e.Command >= len(j.facts.Commands) || e.From >= len(j.facts.Effects) {
				law.add("an index that points nowhere", "%s %q", j.ID, j.Command)
			}
		}
	}
	law.report(t, 1500)
}
