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
	*p.findings = append(*p.findings, Finding{
		Rule: p.rule, Verdict: v, Effect: effect, Reason: reason, Instead: instead,
	})
}

// CommandOf returns the command that does effect i, or nil.
func (p *Pass) CommandOf(i int) *Command {
	c := p.Facts.Effects[i].Command
	if c < 0 || c >= len(p.Facts.Commands) {
		return nil
	}
	return &p.Facts.Commands[c]
}
