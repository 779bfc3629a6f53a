package tools

import (
	"context"
	"errors"
	"fmt"
	"time"

	"handrail/elicit"
	"handrail/guard"
	"handrail/guard/text"
	"handrail/internal/store"
)

// Bounds of what is shown of a rule for always.
const (
	previewMax  = 600 // bytes: a rule that cannot be shown in full is not offered
	previewOver = 200 // calls of the history that it is tried on
)

// judged is a call as it was first judged.
type judged struct {
	facts *guard.Facts
	d     *guard.Decision
}

// remember leaves the decision to the history, once the call is over.
func (j *job) remember() {
	if l := j.box.Ledger; l != nil && j.first.d != nil {
		l.Store.Note(store.Note{At: j.began, CallID: j.id, Call: j.context(j.first.facts), Decision: j.first.d, Approval: j.answer.Outcome, Choice: j.answer.Choice})
	}
}

// always is the narrow rule that would cover this call, and how that is said.
// There is none where its words do not fix what happens, where they hold a
// secret, or where grants of the store would not count.
func (j *job) always(ctx context.Context, facts *guard.Facts, d *guard.Decision) (*guard.Pattern, string) {
	l := j.box.Ledger
	if !l.Honoured() {
		return nil, ""
	}
	c := j.context(facts)
	p, err := guard.PatternOf(c, d)
	if err != nil {
		return nil, ""
	}
	shown := p.String()
	if whole := shown + p.Script; len(shown) > previewMax || text.Redact(whole) != whole {
		return nil, ""
	}
	preview := fmt.Sprintf("%s, for %s", shown, days(l.Store.AlwaysFor()))
	if n, of, err := l.Store.Covered(ctx, p, previewOver); err == nil && of > 0 {
		preview += fmt.Sprintf("; would have covered %d of your last %d calls", n, of)
	}
	return p, preview
}

// days says a time in words: "30 days", "12 hours".
func days(d time.Duration) string {
	if d >= 48*time.Hour {
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	}
	return fmt.Sprintf("%d hours", max(1, d/time.Hour))
}

// keepRule keeps the rule that the person was shown. That it cannot be kept is
// no reason not to run what was approved: the next call asks again.
func (j *job) keepRule() {
	if j.offer == nil {
		return
	}
	_ = j.box.Guard.Grants.Add(guard.Grant{Scope: guard.Always, Pattern: j.offer})
}

// leave leaves the call in the store where it got no answer here, and says so in
// j.waits. A call that a person denied there is declined.
func (j *job) leave(ctx context.Context, q elicit.Question) {
	l := j.box.Ledger
	unanswered := j.answer.Outcome == elicit.Unsupported || j.answer.Outcome == elicit.NoAnswer || j.answer.Outcome == full
	if l == nil || !unanswered || j.call.Transport == "run" {
		return
	}
	if !l.Honoured() {
		j.waits = "It cannot be approved from elsewhere either: no sandbox holds commands here, so an approval in the store could be their own work. " +
			"Tell the user: " + j.toldOr("`handrail doctor` says what a sandbox needs", "the operator of the server is to look into it") + "; a client that supports MCP elicitation can ask without one."
		return
	}
	q.Expires = time.Time{}
	w, err := l.Store.Leave(context.WithoutCancel(ctx), store.Waiting{Question: q, Pattern: j.offer, Client: j.call.Client, Via: j.call.Transport})
	switch {
	case errors.Is(err, store.ErrFull):
		j.waits = "It does not wait for approval either: too many calls do. " + j.toldOr("Tell the user to look at `handrail approvals`.", "Tell the user to ask the operator of the server.")
	case err != nil:
		j.waits = "It could not be left for `handrail approvals` either: " + err.Error()
	case w.State == store.Denied:
		j.answer.Outcome = elicit.Declined
	default:
		j.left = true
		j.waits = fmt.Sprintf("The call waits for approval as %s until %s. Tell the user to %s; "+
			"no tool can do that. Once it is approved, make exactly this call again and it runs at once; a changed call is asked about anew.",
			w.ID, w.Expires.Format("15:04"), j.toldOr("run `handrail approvals` in a terminal of their own, or `handrail approvals approve "+w.ID+"`",
				"ask the operator of the server, who answers it with `handrail approvals approve "+w.ID+"` there"))
	}
}
