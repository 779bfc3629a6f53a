// Package guard holds the vocabulary of Handrail and its verdict: what a call
// would do (Facts), what is said about it (Finding), and what follows
// (Decision). It needs nothing but the standard library, so the guard chain can
// be used without MCP.
package guard

import "fmt"

// Verdict is what is to happen to a call or to one effect of it. A lower value
// is stricter, combining verdicts takes the minimum, and the zero value refuses.
type Verdict uint8

const (
	// VerdictDeny refuses. Nothing overrides it: no grant, no person, no model.
	VerdictDeny Verdict = iota
	// VerdictAsk runs only after a person approved exactly this call.
	VerdictAsk
	// VerdictLLM is what rules cannot tell: the validator is asked, and without
	// one the configured fallback holds.
	VerdictLLM
	// VerdictAllow runs without a question.
	VerdictAllow
)

var verdictNames = [...]string{"deny", "ask", "llm", "allow"}

// String returns "deny", "ask", "llm" or "allow".
func (v Verdict) String() string {
	if int(v) < len(verdictNames) {
		return verdictNames[v]
	}
	return "deny"
}

// MarshalText writes the verdict's name.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads a verdict's name; anything else is an error and leaves
// the verdict at deny.
func (v *Verdict) UnmarshalText(b []byte) error {
	parsed, err := ParseVerdict(string(b))
	*v = parsed
	return err
}

// ParseVerdict reads a verdict's name. On an error the verdict is VerdictDeny.
func ParseVerdict(name string) (Verdict, error) {
	for i, n := range verdictNames {
		if n == name {
			return Verdict(i), nil
		}
	}
	return VerdictDeny, fmt.Errorf("verdict %q is none of deny, ask, llm, allow", name)
}
