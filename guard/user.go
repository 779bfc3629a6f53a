package guard

import (
	"context"
	"encoding/json"
	"slices"
)

// Policy is the users' own rules as they are at one moment. A call is judged by
// one Policy from beginning to end. The zero value has none.
type Policy struct {
	// For returns the rules that may speak about a call: there may be many, of
	// which few do. It must be safe for concurrent use; nil means none.
	For func(*EvalContext) []Rule
	// Revision names all of them.
	Revision string
	// Base, where not nil, stands in for what the Manager was made with.
	Base *Base
}

// Base is what a policy is made of beside the users' own rules. The zero value
// refuses every call.
type Base struct {
	Rules, Default []Rule
	Fallback       Verdict
	Contain        bool
	// Trusting says that code may run without a question where nothing holds it,
	// if the Manager was made so: see Trusted.
	Trusting bool
	Revision string
}

// Note is what the user has written for the validator about calls of one kind.
type Note struct{ Rule, Text string }

// Reasons why a finding does not count.
const (
	overruledUntrusted = "this file is not trusted, so it can only tighten"
	overruledHidden    = "what cannot be known cannot be allowed beforehand"
	overruledWhole     = "an allow must say which effect it is about"
)

// policy returns the users' rules as they are now, for the roots of c. It is
// never nil.
func (m *Manager) policy(c *EvalContext) *Policy {
	if m.User != nil {
		if p := m.User(c.Roots); p != nil {
			return p
		}
	}
	return &Policy{}
}

// at returns the manager as it judges c, and the users' rules: both belong to
// the same moment.
func (m *Manager) at(c *EvalContext) (*Manager, *Policy) {
	p := m.policy(c)
	if p.Base == nil {
		return m, p
	}
	own := *m
	own.Rules, own.Default, own.Revision = p.Base.Rules, p.Base.Default, p.Base.Revision
	own.Fallback, own.Contain = p.Base.Fallback, p.Base.Contain
	if own.Hold == Trusted && !p.Base.Trusting {
		own.Hold = Unheld
	}
	return &own, p
}

// rules returns those that may speak about c.
func (p *Policy) rules(c *EvalContext) []Rule {
	if p.For == nil {
		return nil
	}
	return p.For(c)
}

// fixed reports whether id is a rule that nothing may replace. An unknown one
// is.
func (m *Manager) fixed(id string) bool {
	for _, list := range [][]Rule{m.Rules, m.Default} {
		if i := slices.IndexFunc(list, func(r Rule) bool { return r.ID == id }); i >= 0 {
			return list[i].Fixed
		}
	}
	return true
}

// overrule weighs what the users' rules say against what the built-in ones do.
// Whatever tightens counts. An allow of a user counts only for one effect that
// is known; it silences the default policy there, and findings of the built-in
// rules only where it names them and they are not fixed. What does not count is
// marked in overruled.
func (m *Manager) overrule(c *EvalContext, built, user []Finding) (counts, overruled []Finding) {
	drop := func(f Finding, why string) {
		f.Overruled = why
		overruled = append(overruled, f)
	}
	counts = make([]Finding, 0, len(user))
	replaced := map[int]string{} // index in built: the rule that stands in
	for _, f := range user {
		about := f.Effect >= 0 && f.Effect < len(c.Facts.Effects)
		switch loose := f.Verdict == VerdictAllow || f.InsteadOf != ""; {
		case !loose:
		case f.Untrusted && f.Verdict == VerdictAllow:
			drop(f, overruledUntrusted)
			continue
		case !about && f.Verdict == VerdictAllow:
			drop(f, overruledWhole)
			continue
		case about && c.Facts.Effects[f.Effect].Kind == Unknown:
			if f.Verdict == VerdictAllow {
				drop(f, overruledHidden)
				continue
			}
		case about && !f.Untrusted:
			for i, g := range built {
				if g.Effect == f.Effect && g.Verdict < f.Verdict && f.InsteadOf == g.Rule && !m.fixed(g.Rule) {
					replaced[i] = f.Rule
				}
			}
		}
		counts = append(counts, f)
	}
	stays := make([]Finding, 0, len(built)+len(counts))
	for i, g := range built {
		if by, ok := replaced[i]; ok {
			drop(g, by+" stands in for it")
			continue
		}
		stays = append(stays, g)
	}
	return append(stays, counts...), overruled // in the order of judgement
}

// defaults weighs the findings of the default policy: they count for effects
// about which no built-in rule spoke and no user allowed, or put something else
// in their place.
func (m *Manager) defaults(c *EvalContext, built, user, found []Finding) (counts, overruled []Finding) {
	n := len(c.Facts.Effects)
	spoken := make([]string, n+1) // by which rule; the last one: the whole call
	for _, f := range built {
		spoken[place(f.Effect, n)] = f.Rule
	}
	byUser := func(g Finding) string {
		for _, f := range user {
			if f.Effect == g.Effect && (f.Verdict == VerdictAllow || f.InsteadOf == g.Rule && !f.Untrusted) && !m.fixed(g.Rule) {
				return f.Rule
			}
		}
		return ""
	}
	for _, g := range found {
		if spoken[place(g.Effect, n)] != "" {
			continue
		}
		if by := byUser(g); by != "" {
			g.Overruled = by + " stands in for it"
			overruled = append(overruled, g)
			continue
		}
		counts = append(counts, g)
	}
	return counts, overruled
}

// place is the slot of an effect among n, the last one for the whole call.
func place(effect, n int) int {
	if effect < 0 || effect >= n {
		return n
	}
	return effect
}

// notes collects what users wrote for the validator in rules that spoke.
func notes(rules []Rule, findings []Finding) (list []Note) {
	for _, r := range rules {
		spoke := func(f Finding) bool { return f.Rule == r.ID && !f.Untrusted }
		if r.Prose != "" && slices.ContainsFunc(findings, spoke) {
			list = append(list, Note{Rule: r.ID, Text: r.Prose})
		}
	}
	return list
}

// Reader says what a call of a tool would do in a directory (absolute), with
// the arguments as JSON. It is how examples of users' rules become facts
// without an import of what reads them.
type Reader func(ctx context.Context, tool string, input json.RawMessage, dir string) (*Facts, error)
