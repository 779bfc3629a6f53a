package guard

// Finding is what one rule says about one effect, or about the call as a whole.
type Finding struct {
	// Rule is the ID of the rule that spoke.
	Rule    string  `json:"rule"`
	Verdict Verdict `json:"verdict"`
	// Effect is the index in Facts.Effects, or -1 for the whole call.
	Effect int `json:"effect"`
	// Reason is one clause that names the command, the path or the host.
	Reason string `json:"reason"`
	// Instead is what to do instead; the guard accepts it. May be empty.
	Instead string `json:"instead,omitempty"`

	// Source is where a user's rule stands, "file:line"; empty for built-in ones.
	Source string `json:"source,omitempty"`
	// InsteadOf is the built-in rule that a user's rule stands in for, on this
	// effect; a fixed one stays.
	InsteadOf string `json:"instead_of,omitempty"`
	// Untrusted says that the rule comes from a file that nobody trusted: it can
	// only tighten.
	Untrusted bool `json:"untrusted,omitempty"`
	// Overruled says why the finding does not count; empty where it does.
	Overruled string `json:"overruled,omitempty"`
}

// Rule is one piece of judgement. Rules are values: there is no registry and
// no priority, every rule sees every call, and the strictest finding counts.
type Rule struct {
	// ID is family/name: "fs/outside". The same in Go, YAML, logs and docs.
	ID string
	// Doc says in plain words what the rule does, why, and where it comes from.
	Doc string
	// Fixed rules cannot be replaced or lowered by any configuration.
	Fixed bool
	// Prose is what a user has written for the validator; it is shown it where
	// the rule speaks.
	Prose string
	// Evaluate reports findings on the pass. Reporting nothing abstains.
	Evaluate func(*Pass)
}

// Findings runs the rule alone on c and returns what it reports. A rule that
// stands for another one changes these and reports them as its own.
func (r Rule) Findings(c *EvalContext) []Finding {
	var findings []Finding
	r.Evaluate(&Pass{EvalContext: c, rule: r.ID, findings: &findings})
	return findings
}

// Pass is one rule's look at one call.
type Pass struct {
	*EvalContext
	rule     string
	findings *[]Finding
}

// Report says verdict about the effect with index effect (-1: the whole call).
func (p *Pass) Report(effect int, v Verdict, reason, instead string) {
	p.Add(Finding{Verdict: v, Effect: effect, Reason: reason, Instead: instead})
}

// Add reports f as the rule's own.
func (p *Pass) Add(f Finding) {
	f.Rule = p.rule
	*p.findings = append(*p.findings, f)
}

// CommandOf returns the command that does effect i, or nil.
func (p *Pass) CommandOf(i int) *Command {
	c := p.Facts.Effects[i].Command
	if c < 0 || c >= len(p.Facts.Commands) {
		return nil
	}
	return &p.Facts.Commands[c]
}
