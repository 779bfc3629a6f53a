package rules

import (
	"fmt"
	"slices"

	"handrail/guard"
)

// Profiles are the names of the profiles, the default first.
func Profiles() []string { return []string{"standard", "strict", "yolo"} }

// Profile returns the rules and the default policy of a profile: standard, the
// default; strict, which also denies or asks what agentkit's and clippy-code's policies do; and
// yolo, which allows what the standard profile asks about, except protected
// targets, secrets on their way out, and what hides. Any other name is an error
// with no rules, so that a guard made of it refuses every call.
func Profile(name string, p Policy) (rules, defaults []guard.Rule, err error) {
	switch name {
	case "", "standard":
		rules, defaults = Standard(p)
	case "strict":
		rules, defaults = Standard(p)
		rules = append(rules, strict()...)
	case "yolo":
		rules, defaults = Standard(p)
		rules, defaults = loosen(rules), loosen(defaults)
	default:
		return nil, nil, fmt.Errorf("profile %q is none of %v", name, Profiles())
	}
	return rules, defaults, nil
}

// kept are the rules whose questions stay in the yolo profile.
var kept = []string{"self/protected", "self/command", "secret/write", "secret/client-config", "net/secret-sink", "code/hidden", "priv/uncontained"}

// loosen makes allows of what rules ask or leave to the validator, but for kept.
func loosen(rules []guard.Rule) []guard.Rule {
	loose := make([]guard.Rule, len(rules))
	for i, r := range rules {
		loose[i] = r
		if slices.Contains(kept, r.ID) {
			continue
		}
		loose[i].Doc += " The yolo profile allows what this rule only asks about."
		loose[i].Evaluate = func(p *guard.Pass) {
			for _, f := range r.Findings(p.EvalContext) {
				if f.Verdict == guard.VerdictAsk || f.Verdict == guard.VerdictLLM {
					p.Report(f.Effect, guard.VerdictAllow, "yolo, not asked: "+f.Reason, "")
					continue
				}
				p.Report(f.Effect, f.Verdict, f.Reason, f.Instead)
			}
		}
	}
	return loose
}
