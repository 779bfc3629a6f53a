package guard

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// volatile are the arguments that change nothing about what a call does.
var volatile = []string{"description", "escalate", "timeout_ms"}

// Digest names exactly this call under this policy: the tool, its arguments in
// canonical form (without those that change nothing), the directory, the
// resolved targets, the scripts that were read, the principal and the policy's
// revision. Grants and approvals bind to it. It is SHA-256 in hexadecimal.
func (m *Manager) Digest(c *EvalContext) string {
	m, p := m.at(c)
	return m.digest(c, p)
}

func (m *Manager) digest(c *EvalContext, p *Policy) string {
	type target struct {
		Kind           Kind
		Action, Target string
		Exact, Deep    bool
	}
	in := struct {
		Tool      string
		Arguments any
		Dir       string
		Roots     []string
		Targets   []target
		Sources   []Source
		Principal string
		Revision  string
	}{Tool: c.ToolName, Arguments: canonical(c.Input), Dir: c.WorkingDir, Roots: c.Roots, Principal: c.Principal, Revision: m.Revision + p.Revision}
	if c.Facts != nil {
		for _, e := range c.Facts.Effects {
			in.Targets = append(in.Targets, target{e.Kind, e.Action, e.Target, e.Exact, e.Deep})
		}
		in.Sources = c.Facts.Sources
	}
	b, err := json.Marshal(in)
	if err != nil { // what was read from JSON can be written as JSON
		b = c.Input
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// canonical returns the arguments as JSON writes them with sorted keys, without the
// volatile ones; what is no JSON object is kept as a string.
func canonical(input json.RawMessage) any {
	var m map[string]any
	dec := json.NewDecoder(bytes.NewReader(input))
	dec.UseNumber()
	if dec.Decode(&m) != nil {
		return string(input)
	}
	for _, k := range volatile {
		delete(m, k)
	}
	return m
}
