package guard_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"handrail/guard"
)

// users makes a source of users' rules, each of which reports its finding.
func users(findings ...guard.Finding) func([]string) *guard.Policy {
	return func([]string) *guard.Policy {
		return &guard.Policy{Revision: "u", For: func(*guard.EvalContext) (rules []guard.Rule) {
			for i, f := range findings {
				rules = append(rules, guard.Rule{ID: fmt.Sprint("user/", i), Prose: "prose of " + fmt.Sprint(i), Evaluate: func(p *guard.Pass) { p.Add(f) }})
			}
			return rules
		}}
	}
}

func TestUserRules(t *testing.T) {
	fixed := rule("fs/fixed", ask, 0)
	fixed.Fixed = true
	for _, c := range []struct {
		name      string
		rules     []guard.Rule // built in
		byDefault guard.Verdict
		user      []guard.Finding
		want      guard.Verdict
		overruled int
	}{
		{"an allow lifts the default policy", nil, ask, []guard.Finding{{Verdict: allow, Effect: 0}}, allow, 1},
		{"an allow about another effect does not", nil, ask, []guard.Finding{{Verdict: allow, Effect: 1}}, ask, 1},
		{"an allow about the call as a whole does not", nil, ask, []guard.Finding{{Verdict: allow, Effect: -1}}, ask, 1},
		{"an allow lifts no built-in rule", []guard.Rule{rule("fs/outside", ask, 0)}, allow, []guard.Finding{{Verdict: allow, Effect: 0}}, ask, 0},
		{"unless it names it", []guard.Rule{rule("fs/outside", ask, 0)}, allow, []guard.Finding{{Verdict: allow, Effect: 0, InsteadOf: "fs/outside"}}, allow, 1},
		{"naming one lifts no other", []guard.Rule{rule("fs/outside", ask, 0), rule("fs/other", deny, 0)}, allow, []guard.Finding{{Verdict: allow, Effect: 0, InsteadOf: "fs/outside"}}, deny, 1},
		{"nor on another effect", []guard.Rule{rule("fs/outside", ask, 0)}, allow, []guard.Finding{{Verdict: allow, Effect: 1, InsteadOf: "fs/outside"}}, ask, 1},
		{"a fixed rule stays", []guard.Rule{fixed}, allow, []guard.Finding{{Verdict: allow, Effect: 0, InsteadOf: "fs/fixed"}}, ask, 0},
		{"llm may stand in too", []guard.Rule{rule("fs/outside", ask, 0)}, allow, []guard.Finding{{Verdict: llm, Effect: 0, InsteadOf: "fs/outside"}}, llm, 1},
		{"llm does not lift the default policy", nil, ask, []guard.Finding{{Verdict: llm, Effect: 0}}, ask, 0},
		{"unless it names the row", nil, ask, []guard.Finding{{Verdict: llm, Effect: 0, InsteadOf: "default/row"}}, llm, 1},
		{"an ask counts", nil, allow, []guard.Finding{{Verdict: ask, Effect: -1}}, ask, 0},
		{"the strictest user counts", nil, allow, []guard.Finding{{Verdict: allow, Effect: 0}, {Verdict: deny, Effect: 0}}, deny, 1},
		{"an untrusted allow does not count", nil, ask, []guard.Finding{{Verdict: allow, Effect: 0, Untrusted: true}}, ask, 1},
		{"an untrusted llm lifts nothing", nil, ask, []guard.Finding{{Verdict: llm, Effect: 0, InsteadOf: "default/row", Untrusted: true}}, ask, 0},
		{"an untrusted file stands in for nothing", []guard.Rule{rule("fs/outside", ask, 0)}, allow, []guard.Finding{{Verdict: llm, Effect: 0, InsteadOf: "fs/outside", Untrusted: true}}, ask, 0},
		{"an untrusted deny counts", nil, allow, []guard.Finding{{Verdict: deny, Effect: 0, Untrusted: true}}, deny, 0},
	} {
		m := guard.Manager{Rules: append([]guard.Rule{rule("a/silent", allow, -2)}, c.rules...), Default: []guard.Rule{rule("default/row", c.byDefault, 0)}, User: users(c.user...)}
		d := m.Judge(call(1))
		if d.Verdict != c.want || len(d.Overruled) != c.overruled {
			t.Errorf("%s: %v, want %v; overruled %+v", c.name, d.Verdict, c.want, d.Overruled)
		}
		for _, f := range d.Overruled {
			if f.Overruled == "" {
				t.Errorf("%s: no reason in %+v", c.name, f)
			}
		}
	}
}

// What cannot be known is never allowed beforehand.
func TestUserAllowsNothingHidden(t *testing.T) {
	for _, insteadOf := range []string{"", "code/hidden"} {
		m := guard.Manager{Rules: []guard.Rule{rule("code/hidden", ask, 0)}, Default: []guard.Rule{rule("default/row", allow, 0)},
			User: users(guard.Finding{Verdict: allow, Effect: 0, InsteadOf: insteadOf}, guard.Finding{Verdict: llm, Effect: 0, InsteadOf: "code/hidden"})}
		c := call(1)
		c.Facts.Effects[0].Kind = guard.Unknown
		if d := m.Judge(c); d.Verdict != ask {
			t.Errorf("instead of %q: %v", insteadOf, d.Verdict)
		}
	}
}

// Whatever users' rules say: those of untrusted files never loosen a verdict,
// no tightening one does, and an allow changes nothing but its own effect.
func TestUserRulesLoosenOnlyWhatTheyMay(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	verdicts := []guard.Verdict{deny, ask, llm, allow}
	some := func() guard.Verdict { return verdicts[r.IntN(4)] }
	for range 5000 {
		const n = 3
		var built, byDefault []guard.Rule
		for i := range n {
			built = append(built, rule(fmt.Sprint("built/", i), some(), r.IntN(n+1)-1))
			byDefault = append(byDefault, rule(fmt.Sprint("default/", i), some(), i))
		}
		built[0].Fixed = true
		plain := guard.Manager{Rules: built, Default: byDefault}
		before := plain.Judge(call(n))
		var said []guard.Finding
		allowed := map[int]bool{}
		for range 1 + r.IntN(3) {
			f := guard.Finding{Verdict: some(), Effect: r.IntN(n+1) - 1, Untrusted: r.IntN(2) == 0}
			if r.IntN(2) == 0 {
				f.InsteadOf = []string{"built/0", "built/1", "default/0", "default/1"}[r.IntN(4)]
			}
			said = append(said, f)
			if !f.Untrusted && (f.Verdict == allow || f.InsteadOf != "" && f.InsteadOf != "built/0") {
				allowed[f.Effect] = true
			}
		}
		m := plain
		m.User = users(said...)
		after := m.Judge(call(n))
		for _, f := range before.Findings { // all that was said still is, but where a trusted rule may loosen
			stands := slices.ContainsFunc(after.Findings, func(g guard.Finding) bool { return g.Rule == f.Rule && g.Effect == f.Effect })
			if !stands && (!allowed[f.Effect] || f.Effect < 0 || f.Rule == "built/0") {
				t.Fatalf("%+v is gone by %+v", f, said)
			}
		}
		if len(allowed) == 0 && after.Verdict > before.Verdict {
			t.Fatalf("%v became %v by %+v", before.Verdict, after.Verdict, said)
		}
	}
}

// A call is judged by one policy from beginning to end, which its digest names.
func TestUserPolicyIsOne(t *testing.T) {
	rev := "1"
	m := guard.Manager{Rules: []guard.Rule{rule("a/b", llm, 0)}, Default: []guard.Rule{rule("default/row", allow, 0)}, Fallback: ask}
	asked := 0
	m.User = func([]string) *guard.Policy {
		asked++
		return &guard.Policy{Revision: rev}
	}
	m.Validator = naming{}
	d := m.Evaluate(context.Background(), call(1))
	if asked != 1 {
		t.Errorf("the policy was taken %d times", asked)
	}
	rev = "2"
	if d.Digest == m.Digest(call(1)) {
		t.Error("the digest does not name the users' rules")
	}
}

// naming is a validator that names an effect, so that it is judged too.
type naming struct{}

func (naming) Validate(context.Context, *guard.EvalContext, *guard.Decision) (*guard.Decision, error) {
	return &guard.Decision{Verdict: allow, Validator: &guard.Validation{Effects: []guard.Effect{{Kind: guard.Read, Target: "/w/x", Exact: true}}}}, nil
}

func TestUserNotes(t *testing.T) {
	m := guard.Manager{Rules: []guard.Rule{rule("a/b", llm, 0)}, Default: []guard.Rule{rule("default/row", allow, 0)},
		User: users(guard.Finding{Verdict: llm, Effect: 0}, guard.Finding{Verdict: llm, Effect: 0, Untrusted: true})}
	if d := m.Judge(call(1)); !slices.Equal(d.Notes, []guard.Note{{Rule: "user/0", Text: "prose of 0"}}) {
		t.Errorf("%+v", d.Notes)
	}
}

// A policy's base stands in for the manager's rules as a whole, and one that is
// empty refuses.
func TestBase(t *testing.T) {
	says := func(id string, v guard.Verdict) []guard.Rule {
		return []guard.Rule{{ID: id, Evaluate: func(p *guard.Pass) { p.Report(0, v, "said", "") }}}
	}
	base := &guard.Base{Rules: says("a/ask", guard.VerdictAsk), Default: says("d/allow", guard.VerdictAllow), Revision: "2"}
	m := &guard.Manager{Rules: says("a/allow", guard.VerdictAllow), Default: says("d/allow", guard.VerdictAllow), Fallback: guard.VerdictAsk, Revision: "1",
		User: func([]string) *guard.Policy { return &guard.Policy{Base: base} }}
	c := &guard.EvalContext{ToolName: "safe_bash", Facts: &guard.Facts{Effects: []guard.Effect{{Kind: guard.Read, Target: "/x", Exact: true, From: -1, Command: -1}}}}
	d := m.Evaluate(context.Background(), c)
	if d.Verdict != guard.VerdictAsk || d.Rule != "a/ask" || d.Digest != m.Digest(c) {
		t.Errorf("%+v", d)
	}
	base.Revision = "3"
	if m.Digest(c) == d.Digest {
		t.Error("another base has the same digest")
	}
	base.Rules = says("a/llm", guard.VerdictLLM)
	if d := m.Evaluate(context.Background(), c); d.Verdict != guard.VerdictDeny {
		t.Errorf("the base's fallback is deny, not %s", d.Verdict)
	}
	base = &guard.Base{}
	if d := m.Evaluate(context.Background(), c); d.Verdict != guard.VerdictDeny {
		t.Errorf("an empty base: %s", d.Verdict)
	}
}
