package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Decision is the verdict on one call, with everything that was said about it.
// The zero value refuses.
type Decision struct {
	Verdict Verdict `json:"verdict"`
	// Rule is the ID of the finding that decided, Reason and Instead its texts.
	Rule    string `json:"rule"`
	Reason  string `json:"reason"`
	Instead string `json:"instead,omitempty"`
	// Findings are all findings that count, strictest first.
	Findings []Finding `json:"findings"`
	// Overruled are the findings that do not count, each with the reason: what
	// would have spoken.
	Overruled []Finding `json:"overruled,omitempty"`
	// Notes are what users wrote for the validator about calls like this one.
	Notes []Note `json:"-"`
	// Digest names exactly this call under this policy; see Manager.Digest.
	Digest string `json:"digest"`
	// Contained says that it runs without anybody's yes because the kernel holds
	// what the rules could not tell.
	Contained bool `json:"contained,omitempty"`
	// Granted says that a person's earlier grant turned ask into allow.
	Granted bool `json:"granted,omitempty"`
	// Grant is the ID of that grant where it is kept in the store.
	Grant string `json:"grant,omitempty"`
	// GrantFault says why grants could not be looked up, so that none counted.
	GrantFault string `json:"grant_fault,omitempty"`
	// Validator says how the validator settled llm; nil where it was not asked.
	Validator *Validation `json:"validator,omitempty"`
}

// errPanic is what a validator that panics comes to.
var errPanic = errors.New("the validator failed")

// LLMValidator settles the verdict llm. It is never asked about anything
// stricter. An error says that it could not be asked through no doing of the
// caller: the fallback then counts, never an allow. What the caller can cause
// (too long, out of form) it must answer itself, by ask.
type LLMValidator interface {
	Validate(context.Context, *EvalContext, *Decision) (*Decision, error)
}

// Manager judges calls. It is safe for concurrent use once built; the zero
// value refuses every call.
type Manager struct {
	// Rules all see every call.
	Rules []Rule
	// Default are the rules of the default policy. Their findings count only
	// for effects about which no rule of Rules spoke.
	Default []Rule
	// User returns the users' own rules as they are now, for workspace roots; nil
	// means that there are none. It must be safe for concurrent use.
	User func(roots []string) *Policy
	// Validator settles llm; nil means that Fallback does.
	Validator LLMValidator
	// Fallback replaces llm where no validator could be asked. The zero value
	// is deny; anything looser than ask counts as ask.
	Fallback Verdict
	// Contain makes containment the fallback where Hold holds all that is left to
	// tell; Fallback is for the rest.
	Contain bool
	// Hold says what holds the commands of allowed calls.
	Hold Hold
	// Grants holds what people approved; nil means nothing was.
	Grants Ledger
	// Revision names the policy: digests made under another one do not match.
	Revision string
}

// Evaluate judges c: the rules, then for llm the validator or the fallback,
// then for ask the grants. The result is allow, ask or deny.
func (m *Manager) Evaluate(ctx context.Context, c *EvalContext) *Decision {
	m, p := m.at(c)
	d := m.judge(c, p)
	m.keep(c, d)
	if d.Verdict == VerdictLLM {
		if m.Validator != nil && m.granted(ctx, c, d) { // a person has said yes to it: nothing overrules that
			return d
		}
		d = m.settle(ctx, c, d, p)
	}
	if d.Verdict == VerdictAsk {
		m.granted(ctx, c, d)
	}
	m.unheld(ctx, c, d)
	return d
}

// granted turns d into allow where a grant covers the call, and reports that. A
// ledger that fails covers nothing, and d says so. A pattern answers ask only.
func (m *Manager) granted(ctx context.Context, c *EvalContext, d *Decision) bool {
	if m.Grants == nil || d.Verdict != VerdictAsk && d.Verdict != VerdictLLM {
		return false
	}
	g, ok, err := m.Grants.Cover(ctx, c, d)
	if err != nil {
		d.GrantFault = err.Error()
		return false
	}
	if !ok || g.Scope == Always && d.Verdict != VerdictAsk || g.Scope != Once && uncontained(c) {
		return false
	}
	d.Verdict, d.Granted, d.Grant = VerdictAllow, true, g.ID
	return true
}

// Judge gives the verdict of the rules alone, before validator, fallback and
// grants. The result may be llm.
func (m *Manager) Judge(c *EvalContext) *Decision {
	m, p := m.at(c)
	return m.judge(c, p)
}

func (m *Manager) judge(c *EvalContext, p *Policy) *Decision {
	d := &Decision{Digest: m.digest(c, p)}
	if c.Facts == nil || len(m.Rules) == 0 || len(m.Default) == 0 {
		d.refuse("guard/error", "the guard has no facts or no rules to judge this call by")
		return d
	}
	if len(c.Facts.Effects) == 0 {
		d.refuse("guard/error", "nothing could be read from this call")
		return d
	}
	own := p.rules(c)
	built, user := apply(c, m.Rules), apply(c, own)
	d.Notes = notes(own, user)
	counts, overruled := m.overrule(c, built, user)
	byDefault, silenced := m.defaults(c, built, counts, apply(c, m.Default))
	d.Findings, d.Overruled = append(counts, byDefault...), append(overruled, silenced...)
	spoken := make([]bool, len(c.Facts.Effects)+1) // the last one: the whole call
	for _, f := range d.Findings {
		spoken[place(f.Effect, len(c.Facts.Effects))] = true
	}
	for i, e := range c.Facts.Effects {
		if !spoken[i] { // silence is not consent
			d.Findings = append(d.Findings, Finding{Rule: "guard/silent", Verdict: VerdictAsk, Effect: i,
				Reason: fmt.Sprintf("no rule speaks about %s %s", e.Kind, e.Target)})
		}
	}
	slices.SortStableFunc(d.Findings, func(a, b Finding) int { return cmp.Compare(a.Verdict, b.Verdict) })
	d.conclude()
	return d
}

// apply runs every rule. A rule that panics refuses the call.
func apply(c *EvalContext, rules []Rule) (findings []Finding) {
	pass := Pass{EvalContext: c, findings: &findings}
	defer func() {
		if r := recover(); r != nil {
			findings = append(findings, Finding{Rule: "guard/error", Verdict: VerdictDeny, Effect: -1,
				Reason: fmt.Sprintf("rule %s failed: %v", pass.rule, r)})
		}
	}()
	for _, r := range rules {
		pass.rule = r.ID
		r.Evaluate(&pass)
	}
	return findings
}

// conclude takes verdict and texts from the sorted findings. A refusal names
// every reason as strict as the verdict.
func (d *Decision) conclude() {
	first := d.Findings[0]
	d.Verdict, d.Rule, d.Instead = first.Verdict, first.Rule, first.Instead
	if d.Verdict == VerdictAllow {
		d.Reason = first.Reason
		return
	}
	var reasons []string
	seen := map[string]bool{}
	for _, f := range d.Findings {
		if f.Verdict == d.Verdict && !seen[f.Reason] {
			seen[f.Reason] = true
			reasons = append(reasons, f.Reason)
		}
	}
	d.Reason = strings.Join(reasons, "; ")
}

func (d *Decision) refuse(rule, reason string) {
	d.Verdict, d.Rule, d.Reason = VerdictDeny, rule, reason
	d.Findings = []Finding{{Rule: rule, Verdict: VerdictDeny, Effect: -1, Reason: reason}}
}
