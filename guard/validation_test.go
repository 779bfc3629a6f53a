package guard_test

import (
	"context"
	"testing"

	"handrail/guard"
)

// panics is a validator that fails; tampers one that changes what it is shown.
type panics struct{}

func (panics) Validate(context.Context, *guard.EvalContext, *guard.Decision) (*guard.Decision, error) {
	panic("no")
}

type tampers struct{}

func (tampers) Validate(_ context.Context, _ *guard.EvalContext, d *guard.Decision) (*guard.Decision, error) {
	d.Findings[0].Verdict = allow
	d.Digest = "another"
	return &guard.Decision{Verdict: allow, Digest: "another"}, nil
}

// What the validator names is judged by the rules; what they ask about or deny
// is not its to allow.
func TestNamedEffectsAreJudged(t *testing.T) {
	byKind := guard.Rule{ID: "a/kind", Evaluate: func(p *guard.Pass) {
		for i, e := range p.Facts.Effects {
			switch e.Kind {
			case guard.Delete:
				p.Report(i, deny, "deletes", "")
			case guard.Network:
				p.Report(i, ask, "reaches", "")
			case guard.Read:
				p.Report(i, allow, "reads", "")
			default:
				p.Report(i, llm, "who knows", "")
			}
		}
	}}
	for _, c := range []struct {
		says  guard.Verdict
		named []guard.Kind
		want  guard.Verdict
	}{
		{allow, nil, allow},
		{allow, []guard.Kind{guard.Read}, allow},
		{allow, []guard.Kind{guard.Write}, allow}, // what rules cannot tell is its question
		{allow, []guard.Kind{guard.Read, guard.Network}, ask},
		{allow, []guard.Kind{guard.Delete}, deny},
		{ask, []guard.Kind{guard.Read}, ask},
		{deny, []guard.Kind{guard.Network}, deny},
	} {
		v := &guard.Validation{Model: "m", Raw: "raw"}
		for _, k := range c.named {
			v.Effects = append(v.Effects, guard.Effect{Kind: k, Target: "/x", Exact: true})
		}
		m := &guard.Manager{Rules: []guard.Rule{byKind}, Default: []guard.Rule{rule("d/x", deny, -2)}, Validator: says{d: &guard.Decision{Verdict: c.says, Reason: "said", Validator: v}}, Fallback: ask}
		x := call(1)
		x.Facts.Effects[0].Kind = guard.Exec
		d := m.Evaluate(context.Background(), x)
		if d.Verdict != c.want || d.Validator != v || d.Digest != m.Digest(x) || len(d.Findings) != 2 || d.Findings[0].Verdict != c.want {
			t.Errorf("%+v: %+v", c, d)
		}
	}
}

func TestValidatorCannotReachRound(t *testing.T) {
	m := &guard.Manager{Rules: []guard.Rule{rule("a/x", llm, 0)}, Default: []guard.Rule{rule("d/x", deny, -2)}, Fallback: ask, Validator: panics{}}
	if d := m.Evaluate(context.Background(), call(1)); d.Verdict != ask || d.Validator == nil || d.Validator.Fault == "" {
		t.Errorf("a validator that panics: %+v", d)
	}
	m.Validator = tampers{}
	x := call(1)
	if d := m.Evaluate(context.Background(), x); d.Digest != m.Digest(x) || d.Findings[1].Verdict != llm {
		t.Errorf("it changed what was found: %+v", d)
	}
}

// A person has been asked, and said yes: the validator does not overrule that.
func TestApprovalStandsAgainstTheValidator(t *testing.T) {
	m := &guard.Manager{Rules: []guard.Rule{rule("a/x", llm, 0)}, Default: []guard.Rule{rule("d/x", deny, -2)}, Grants: guard.NewGrants(),
		Validator: says{d: &guard.Decision{Verdict: deny, Reason: "no"}}}
	x := call(1)
	if d := m.Evaluate(context.Background(), x); d.Verdict != deny {
		t.Fatalf("%+v", d)
	}
	m.Grants.Add(guard.Grant{Digest: m.Digest(x), Session: "s"})
	if d := m.Evaluate(context.Background(), x); d.Verdict != allow || !d.Granted {
		t.Errorf("%+v", d)
	}
	if d := m.Evaluate(context.Background(), x); d.Verdict != deny {
		t.Errorf("a once grant answered twice: %+v", d)
	}
}

func TestProgress(t *testing.T) {
	var got string
	guard.Progress(guard.WithProgress(context.Background(), func(s string) { got = s }), "turn 1")
	guard.Progress(guard.WithProgress(context.Background(), nil), "nobody")
	guard.Progress(context.Background(), "nobody")
	if got != "turn 1" {
		t.Errorf("%q", got)
	}
}
