package tools

import (
	"fmt"
	"strings"
	"time"

	"handrail/elicit"
	"handrail/guard"
)

// sentences say what became of a question, for the model: five outcomes and
// what to do about each.
var sentences = map[elicit.Outcome]string{
	elicit.Declined: "A person saw this call and declined it. Nothing ran. " +
		"Do not retry it unchanged or in another spelling; tell the user what you wanted to do and ask how to go on.",
	elicit.Dismissed: "The question was closed without a choice. Nothing ran. " +
		"Do not retry unchanged by yourself; ask the user in the conversation whether they want this.",
	elicit.NoAnswer: "Nobody answered the question in time. Nothing ran. " +
		"Do not retry unchanged now; go on with something else, and call again when the user is there.",
	elicit.Unsupported: "This needs a person's approval, and this client cannot ask one (no MCP elicitation). Nothing ran. " +
		"Do not retry unchanged: tell the user, who can run it in a terminal with `handrail run`, or use a client that supports elicitation.",
	elicit.Pending: "A person is asked about this call first. Nothing ran yet. " +
		"The client shows the question and calls again with the answer; do not retry by yourself.",
	full: "Too many questions wait for an answer already, so nobody was asked. Nothing ran. " +
		"Do not retry unchanged before the open questions are answered.",
}

// toldOr is advice for a user at their own machine, or, on a server for several
// principals, where a user has no terminal and approves no more power, for one of
// those.
func (j *job) toldOr(own, hosted string) string {
	if j.box.Shared {
		return hosted
	}
	return own
}

// passing are the rules whose refusals end by themselves, or by making room: there
// the same call is to be made again.
var passing = map[string]string{
	"policy/rate":  "Nothing ran. The same call is fine then.",
	"limits/disk":  "Nothing ran. The same call is fine once there is room.",
	"limits/queue": "Nothing ran. The same call is fine then.",
}

// refuse is the answer to a call that may not run, whoever says so.
func (j *job) refuse(d *guard.Decision) *Result {
	if said := passing[d.Rule]; said != "" {
		return j.refusal(d, guard.VerdictDeny, "", said)
	}
	if j.call.Transport == "run" { // a person reads it, no agent
		return j.refusal(d, guard.VerdictDeny, "", "Nothing ran, and no approval changes that.")
	}
	return j.refusal(d, guard.VerdictDeny, "", "Nothing ran, and no approval changes that. "+
		"Do not retry unchanged or in another spelling; explain to the user what was blocked and propose another way.")
}

// unapproved is the answer to a call that needed a person's yes and got none.
func (j *job) unapproved(d *guard.Decision, a elicit.Answer) *Result {
	sentence := sentences[a.Outcome]
	if a.Outcome == elicit.Unsupported && j.call.Transport == "run" {
		sentence = "This needs a person's approval, and there is no terminal to ask in. Nothing ran. Run it in a terminal."
	}
	if a.Outcome == elicit.Unsupported && j.box.Shared {
		sentence = "This needs a person's approval, and this client cannot ask one (no MCP elicitation). Nothing ran. " +
			"Do not retry unchanged: tell the user, who can ask the operator of the server, or use a client that supports elicitation."
	}
	if a.Outcome == elicit.NoAnswer && j.over != nil {
		sentence = "The call ended before anybody answered (" + j.over.Error() + "). Nothing ran. " +
			"Do not retry unchanged by yourself; tell the user."
	}
	if j.left { // what to do now is said by where it waits
		sentence, _, _ = strings.Cut(sentence, "Nothing ran. ")
		sentence += "Nothing ran."
	}
	if j.waits != "" {
		sentence += " " + j.waits
	}
	if d.GrantFault != "" {
		sentence += "\n[approvals could not be looked up: " + d.GrantFault + "]"
	}
	res := j.refusal(d, guard.VerdictAsk, a.Outcome, sentence)
	if a.Outcome == full { // nobody was asked
		res.Approval = ""
	}
	if a.Outcome == elicit.Pending {
		res.Handback = a.Handback
	}
	return res
}

// unrecorded is the answer where the audit log cannot be written.
func (j *job) unrecorded(err error) *Result {
	return j.refuse(&guard.Decision{Rule: "audit/unwritable",
		Reason:  "the audit log cannot be written, and what is not recorded does not run: " + err.Error(),
		Instead: "tell the user to make the audit log writable"})
}

func (j *job) refusal(d *guard.Decision, v guard.Verdict, approval elicit.Outcome, sentence string) *Result {
	reason := d.Reason
	if reason == "" {
		reason = "the guard refused without giving a reason"
	}
	var text strings.Builder
	fmt.Fprintf(&text, "blocked by safety guard: %s\nrule: %s\n", reason, d.Rule)
	if d.Instead != "" {
		fmt.Fprintf(&text, "instead: %s\n", d.Instead)
	}
	text.WriteString(sentence)
	return &Result{Verdict: v, Approval: approval, Rule: d.Rule, Reason: reason, Instead: d.Instead,
		Text: text.String(), IsError: true}
}

// invalid is the answer to arguments that cannot be used. It is recorded as a
// refusal; that nothing runs does not depend on it.
func (j *job) invalid(err error) *Result {
	d := &guard.Decision{Rule: "call/arguments", Reason: err.Error()}
	_ = j.recordDecision(d, &guard.Facts{})
	return &Result{Rule: d.Rule, Reason: d.Reason, Instead: "correct the arguments and call again", IsError: true,
		Text: "invalid arguments: " + d.Reason + "\nNothing ran. Correct the arguments and call again."}
}

// failed is the answer to a call that was allowed but could not be done.
func failed(err error) *Result {
	return &Result{Reason: err.Error(), Text: err.Error(), IsError: true}
}

// seconds writes a duration for people.
func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }
