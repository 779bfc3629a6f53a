package guard

import "context"

// Validation says how a validator came to its answer, for the audit and for
// people. The zero value says that none was asked.
type Validation struct {
	Model       string   `json:"model,omitempty"`
	ModelDigest string   `json:"model_digest,omitempty"`
	Turns       int      `json:"turns,omitempty"`
	Skills      []string `json:"skills,omitempty"` // in the order in which the model saw them
	// PromptTokens and Tokens are sums over all turns.
	PromptTokens int   `json:"prompt_tokens,omitempty"`
	Tokens       int   `json:"tokens,omitempty"`
	MS           int64 `json:"ms"`
	// Raw is the last answer as the model gave it, of bounded length.
	Raw string `json:"raw,omitempty"`
	// Cached says that the answer was given before, to the same evidence.
	Cached bool `json:"cached,omitempty"`
	// Effects are what the validator says that the call would also do. The
	// rules judge them, see Manager.
	Effects []Effect `json:"effects,omitempty"`
	// Sources are files whose content the validator saw: they must still be the
	// same when the call runs.
	Sources []Source `json:"sources,omitempty"`
	// Fault says why there was no answer, so that the fallback counted.
	Fault string `json:"fault,omitempty"`
}

// validatorRule is the rule of findings that a validator makes.
const validatorRule = "guard/agent"

// settle turns llm into what the validator or the fallback says. The validator
// can settle llm and nothing else: where anything stricter was found, or it
// names effects about which the rules ask or deny, that counts.
func (m *Manager) settle(ctx context.Context, c *EvalContext, d *Decision, p *Policy) *Decision {
	if m.Validator == nil {
		m.fallback(c, d)
		return d
	}
	answer, err := m.validate(ctx, c, d)
	if err != nil || answer == nil || answer.Verdict == VerdictLLM || answer.Verdict > VerdictAllow {
		m.fallback(c, d)
		d.Validator = &Validation{}
		if answer != nil && answer.Validator != nil { // how far it came
			*d.Validator = *answer.Validator
			d.Validator.Effects = nil
		}
		d.Validator.Fault = "no answer"
		if err != nil {
			d.Validator.Fault = err.Error()
		}
		return d
	}
	for _, f := range d.Findings { // strictest first; Judge saw to it that there is none
		if f.Verdict < VerdictLLM {
			return d
		}
	}
	said := Finding{Rule: validatorRule, Verdict: answer.Verdict, Effect: -1, Reason: answer.Reason, Instead: answer.Instead}
	d.Validator = answer.Validator
	if f, stricter := m.recheck(c, answer, p); stricter {
		said = f
	}
	d.Verdict, d.Rule, d.Reason, d.Instead = said.Verdict, said.Rule, said.Reason, said.Instead
	d.Findings = append([]Finding{said}, d.Findings...)
	return d
}

// recheck judges the effects that the validator names by the rules. What they
// ask about or deny is no longer the validator's to allow.
func (m *Manager) recheck(c *EvalContext, answer *Decision, p *Policy) (Finding, bool) {
	if answer.Validator == nil || len(answer.Validator.Effects) == 0 {
		return Finding{}, false
	}
	named := *c
	named.Facts = &Facts{Dir: c.WorkingDir}
	for _, e := range answer.Validator.Effects {
		e.Command, e.From, e.Loss = -1, -1, nil // it knows nothing of these
		named.Facts.Effects = append(named.Facts.Effects, e)
	}
	d := m.judge(&named, p)
	if d.Verdict >= VerdictLLM || d.Verdict >= answer.Verdict {
		return Finding{}, false
	}
	return Finding{Rule: d.Rule, Verdict: d.Verdict, Effect: -1, Instead: d.Instead,
		Reason: "the validator says that this call would do more than can be read from it: " + d.Reason}, true
}

// validate asks the validator. A copy of the decision keeps it from changing
// what was found; a panic is an error.
func (m *Manager) validate(ctx context.Context, c *EvalContext, d *Decision) (answer *Decision, err error) {
	defer func() {
		if p := recover(); p != nil {
			answer, err = nil, errPanic
		}
	}()
	shown := *d
	shown.Findings = append([]Finding(nil), d.Findings...)
	return m.Validator.Validate(ctx, c, &shown)
}

type progressKey struct{}

// WithProgress returns a context by which Progress tells f; f may be nil.
func WithProgress(ctx context.Context, f func(message string)) context.Context {
	return context.WithValue(ctx, progressKey{}, f)
}

// Progress tells whoever waits for a judgement how it goes on.
func Progress(ctx context.Context, message string) {
	if f, _ := ctx.Value(progressKey{}).(func(string)); f != nil {
		f(message)
	}
}
