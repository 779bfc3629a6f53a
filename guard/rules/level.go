package rules

import (
	"fmt"
	"slices"

	"handrail/guard"
	"handrail/guard/text"
)

// firm reports whether a rule cannot be loosened: what is fixed, and what even
// the yolo profile asks about.
func firm(r guard.Rule) bool { return r.Fixed || slices.Contains(kept, r.ID) }

// every is the rules of all profiles, and those of settings.
func every() []guard.Rule {
	rules, defaults := Standard(Policy{Root: true})
	return slices.Concat(rules, strict(), Custom(Settings{}, Policy{}), defaults)
}

// IDs are the names of all rules, of every profile.
func IDs() []string {
	var ids []string
	for _, r := range every() {
		if !slices.Contains(ids, r.ID) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// CheckLevel says why a rule cannot have the level v.
func CheckLevel(id string, v guard.Verdict) error {
	rules := every()
	i := slices.IndexFunc(rules, func(r guard.Rule) bool { return r.ID == id })
	switch {
	case i < 0:
		if near := text.Nearest(id, IDs()); near != "" {
			return fmt.Errorf("there is no rule %q; did you mean %q?", id, near)
		}
		return fmt.Errorf("there is no rule %q; `handrail rules` lists them", id)
	case firm(rules[i]) && v > guard.VerdictAsk:
		return fmt.Errorf("%s cannot be loosened to %s: it can only be ask or deny", id, v)
	}
	return nil
}

// Level changes what rules say. set stands in for it: a finding becomes as
// strict as set says, and as loose too, unless it denies or the rule is firm.
// What is in atMost only ever tightens.
func Level(rules []guard.Rule, set, atMost map[string]guard.Verdict) []guard.Rule {
	leveled := slices.Clone(rules)
	for i, r := range rules {
		v, loosens := set[r.ID]
		most, caps := atMost[r.ID]
		if !loosens && !caps {
			continue
		}
		loosens = loosens && !firm(r)
		limit := guard.VerdictAllow
		if caps {
			limit = most
		}
		if w, ok := set[r.ID]; ok {
			limit = min(limit, w)
		}
		leveled[i].Fixed = r.Fixed || caps // users' guards cannot lift it either
		leveled[i].Doc += fmt.Sprintf(" The configuration sets it to %s.", min(limit, guard.VerdictAllow))
		leveled[i].Evaluate = func(p *guard.Pass) {
			for _, f := range r.Findings(p.EvalContext) {
				verdict := f.Verdict
				if loosens && verdict != guard.VerdictDeny {
					verdict = max(verdict, v)
				}
				p.Report(f.Effect, min(verdict, limit), f.Reason, f.Instead)
			}
		}
	}
	return leveled
}
