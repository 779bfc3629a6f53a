package plugin

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"handrail/guard"
)

// set is all guards that hold for some workspace roots, as they were at one
// moment. It does not change.
type set struct {
	guards []*Guard
	faults []fault
	index  *index
	home   string
	policy *guard.Policy
}

// newSet puts guards together. Those that are trusted replace earlier ones of
// the same ID; the others stand beside them.
func newSet(guards []*Guard, faults []fault, home string) *set {
	s := &set{faults: faults, home: home}
	at := map[string]int{}
	for _, g := range guards {
		loose := !g.Project || g.Trusted
		if i, ok := at[g.ID]; ok && loose {
			s.guards[i] = g
			continue
		}
		if loose {
			at[g.ID] = len(s.guards)
		}
		s.guards = append(s.guards, g)
	}
	s.index = newIndex(s.guards)
	s.policy = &guard.Policy{For: s.rules, Revision: s.revision()}
	return s
}

func (s *set) revision() string {
	var names []any
	for _, g := range s.guards {
		names = append(names, g.ID, g.File, g.SHA256, g.Project, g.Trusted)
	}
	for _, f := range s.faults {
		names = append(names, f.file, f.err.Error())
	}
	if len(names) == 0 {
		return ""
	}
	b, _ := json.Marshal(names) // plain values only: cannot fail
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// rules are those that may speak about a call.
func (s *set) rules(c *guard.EvalContext) []guard.Rule {
	if c.Facts == nil || len(s.guards) == 0 && len(s.faults) == 0 {
		return nil
	}
	v := newView(c, s.home)
	candidates := s.index.candidates(v)
	rules := make([]guard.Rule, 0, len(candidates)+len(s.faults))
	work, size := 0, v.size()
	for _, i := range candidates {
		g := s.guards[i]
		if g.Off {
			continue
		}
		if g.Project && !g.Trusted {
			if work += g.cost * size; work > maxWork { // what it says is not known then
				f := fault{file: g.File, err: fmt.Errorf("%s: with those before it, it is too much work for a command of this length", g.File)}
				rules = append(rules, f.rule())
				continue
			}
		}
		rules = append(rules, g.rule(v))
	}
	for _, f := range s.faults {
		like := func(e guard.Effect) bool { return alike(f.tools, c.ToolName, &e) }
		if len(f.tools) == 0 || slices.Contains(f.tools, c.ToolName) || slices.ContainsFunc(c.Facts.Effects, like) {
			rules = append(rules, f.rule())
		}
	}
	return rules
}

func (g *Guard) rule(v *view) guard.Rule {
	r := guard.Rule{ID: g.ID, Evaluate: func(p *guard.Pass) { g.evaluate(p, v) }}
	if !g.Project || g.Trusted {
		r.Prose = g.Prose
	}
	return r
}

// rule asks about calls that a broken guard of a project may be about.
func (f fault) rule() guard.Rule {
	return guard.Rule{ID: "guard/broken", Evaluate: func(p *guard.Pass) {
		p.Add(guard.Finding{Verdict: guard.VerdictAsk, Effect: -1, Source: f.file,
			Reason:  fmt.Sprintf("a guard of this project cannot be read, so nobody knows what it says: %v", f.err),
			Instead: "tell the user to mend that file"})
	}}
}

// Policy is what guards say that do not change; later ones replace earlier ones
// of the same ID. home is the user's, for "~/" in paths.
func Policy(guards []*Guard, home string) *guard.Policy { return newSet(guards, nil, home).policy }
