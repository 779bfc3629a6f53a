package guard

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// Hold says what holds a call's commands while they run, beside the verdict. The
// zero value is nothing.
type Hold uint8

const (
	// Unheld: nothing does. Code that runs asks once per session and program.
	Unheld Hold = iota
	// Trusted: nothing does, and the user wants no questions about code.
	Trusted
	// Held: the kernel does. Commands write only in the workspace and where their
	// facts say, reach no network but what their facts name, cannot read
	// credentials, and leave nothing running.
	Held
	// Kept is Held, and what a contained run destroys in the workspace can be
	// brought back.
	Kept
)

// LostRule is the rule that asks because nothing could bring back what a call
// deletes. Where that is kept before the call runs, it is no question.
const LostRule = "default/delete-lost"

// UnheldRule is the rule that asks about code which nothing would hold.
const UnheldRule = "code/unheld"

// fallback is the verdict on a call where no validator could be asked: contained
// where the user wants that and the kernel holds all that is left to tell, else
// Fallback, at most ask.
func (m *Manager) fallback(c *EvalContext, d *Decision) {
	if m.Contain && m.Hold >= Held && m.containable(c, d) {
		d.Verdict, d.Contained = VerdictAllow, true
		d.Reason = "the sandbox holds it: " + d.Reason
		return
	}
	d.Verdict = min(m.Fallback, VerdictAsk)
}

// keep allows a call that asks only because it deletes what nothing could bring
// back, where the history brings it back. What is not counted to its end is more
// than the history surely keeps.
func (m *Manager) keep(c *EvalContext, d *Decision) {
	told := slices.ContainsFunc(d.Findings, func(f Finding) bool { return f.Verdict == VerdictLLM }) // by the validator
	if d.Verdict == VerdictAsk && m.Contain && m.Hold >= Kept && !(told && m.Validator != nil) && m.containable(c, d) {
		d.Verdict, d.Contained = VerdictAllow, true
		d.Reason = "it is kept before, so that `handrail undo` brings it back: " + d.Reason
	}
}

// containable reports whether all that the rules leave to the validator is about
// what the kernel holds: programs that are not listed, code, and deletions that
// can be undone. Calls that reach the network, change other systems or the
// machine, install, gain rights or hide something are not: what they may reach
// an unknown program would reach too.
func (m *Manager) containable(c *EvalContext, d *Decision) bool {
	for _, e := range c.Facts.Effects {
		switch e.Kind {
		case Unknown, Install, Network, Remote, Privilege, Persist, System:
			return false
		}
	}
	for _, f := range d.Findings {
		if f.Verdict == VerdictAllow {
			continue
		}
		if f.Verdict != VerdictLLM && f.Rule != LostRule || f.Effect < 0 || f.Effect >= len(c.Facts.Effects) {
			return false
		}
		if e := c.Facts.Effects[f.Effect]; !m.holds(c, e) || f.Rule == LostRule && (e.Loss == nil || e.Loss.More) {
			return false
		}
	}
	return true
}

// holds reports whether the kernel holds what e leaves open.
func (m *Manager) holds(c *EvalContext, e Effect) bool {
	switch e.Kind {
	case Exec:
		return e.Action == "unlisted" || e.Action == "unread"
	case Code:
		return e.Action == "" || e.Action == "project" || e.Action == "inline"
	case Delete:
		return m.Hold >= Kept && e.Action == "" && slices.ContainsFunc(c.Roots, func(root string) bool {
			return strings.HasPrefix(e.Target, strings.TrimSuffix(root, "/")+"/")
		})
	}
	return false
}

// uncontained reports whether c asks to run without the limits of its sandbox.
// A yes to that is for one run.
func uncontained(c *EvalContext) bool {
	return c.Facts != nil && slices.ContainsFunc(c.Facts.Effects, func(e Effect) bool { return e.Kind == Privilege && e.Action == "uncontained" })
}

// Unkept turns an allow into a question, where what the call destroys cannot be
// kept as the allow supposed: f says what. A grant of the call answers it.
func (m *Manager) Unkept(ctx context.Context, c *EvalContext, d *Decision, f Finding) {
	m, _ = m.at(c)
	f.Verdict = VerdictAsk
	d.Contained, d.Findings = false, append([]Finding{f}, d.Findings...)
	d.conclude()
	m.granted(ctx, c, d)
}

// unheld turns an allow into a question where code would run that nothing holds,
// unless a person has approved this call, or its programs for this session, or
// wrote a rule that allows it.
func (m *Manager) unheld(ctx context.Context, c *EvalContext, d *Decision) {
	if m.Hold != Unheld || d.Verdict != VerdictAllow || d.Granted {
		return
	}
	var asks []Finding
	for i, e := range c.Facts.Effects {
		if e.Kind != Code {
			continue
		}
		read := slices.ContainsFunc(c.Facts.Sources, func(s Source) bool { return s.Path == e.Target })
		freed := slices.ContainsFunc(d.Findings, func(f Finding) bool { return f.Effect == i && f.Source != "" && f.Verdict == VerdictAllow })
		if read || freed {
			continue
		}
		program := programOf(c, e)
		asked := Decision{Verdict: VerdictAsk, Rule: UnheldRule, Digest: m.programDigest(c, program)}
		if m.granted(ctx, c, &asked) {
			continue
		}
		asks = append(asks, Finding{Rule: UnheldRule, Verdict: VerdictAsk, Effect: i, Instead: "let the user turn on the sandbox: `handrail doctor` says what it needs",
			Reason: fmt.Sprintf("%s would run code that was not read (%s) with all of your rights, since no sandbox holds it; allowing it for this session covers %s", program, e.Target, program)})
	}
	if len(asks) == 0 {
		return
	}
	d.Findings = append(asks, d.Findings...)
	d.conclude()
	m.granted(ctx, c, d)
}

// Approved returns the digests that a person's yes to the call is kept under. A
// yes for the session to code that nothing holds covers its programs too.
func (m *Manager) Approved(c *EvalContext, d *Decision, s Scope) []string {
	digests := []string{d.Digest}
	m, _ = m.at(c)
	if s != Session || d.Rule != UnheldRule {
		return digests
	}
	for _, f := range d.Findings {
		if f.Rule != UnheldRule || f.Effect < 0 || f.Effect >= len(c.Facts.Effects) {
			continue
		}
		if p := m.programDigest(c, programOf(c, c.Facts.Effects[f.Effect])); !slices.Contains(digests, p) {
			digests = append(digests, p)
		}
	}
	return digests
}

// programOf names what runs the code of e: the program, or the file itself.
func programOf(c *EvalContext, e Effect) string {
	if e.Command >= 0 && e.Command < len(c.Facts.Commands) && c.Facts.Commands[e.Command].Name != "" {
		return c.Facts.Commands[e.Command].Name
	}
	return e.Target
}

// programDigest names code of a program in a workspace, under this policy.
func (m *Manager) programDigest(c *EvalContext, program string) string {
	sum := sha256.Sum256([]byte(strings.Join(append([]string{UnheldRule, m.Revision, c.Principal, program}, c.Roots...), "\x00")))
	return hex.EncodeToString(sum[:])
}
