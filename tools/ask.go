package tools

import (
	"context"
	"fmt"
	"time"

	"handrail/elicit"
	"handrail/guard"
)

// Times of asking. Clients cut a call at 60 s; an answer in 55 s still arrives.
const (
	askTime  = 45 * time.Second
	callTime = 55 * time.Second
	openMax  = 16
)

// full is what ask answers where too many questions are open.
const full elicit.Outcome = "full"

// ask puts the call before a person. Only an explicit approval comes back as
// Approved. The question and its answer are recorded; without a record there
// is no approval.
//
// Where nobody could be asked, or nobody answered in time, the call waits in the
// store for a person elsewhere.
func (j *job) ask(ctx context.Context, req request, facts *guard.Facts, d *guard.Decision) elicit.Answer {
	q := j.question(ctx, req, facts, d)
	j.answer = j.askHere(ctx, q, d)
	if ctx.Err() != nil {
		j.over = why(ctx)
	}
	j.leave(ctx, q)
	return j.answer
}

// question is the call as a person is shown it.
func (j *job) question(ctx context.Context, req request, facts *guard.Facts, d *guard.Decision) elicit.Question {
	command, says := req.shown(facts)
	q := elicit.Question{ID: j.id, Digest: d.Digest, Tool: j.call.Tool, Dir: facts.Dir,
		Effects: inWords(facts, d), Reasons: reasons(d), Command: command, AgentSays: says,
		Session: j.call.Session, Principal: j.call.Principal}
	if q.Once = escalated(facts); !q.Once {
		j.offer, q.Always = j.always(ctx, facts, d)
	}
	j.box.clean(&q.Command, &q.AgentSays, &q.Always)
	j.box.cleanAll(q.Effects, q.Reasons)
	return q
}

// askHere puts the question through the channel of the call.
func (j *job) askHere(ctx context.Context, q elicit.Question, d *guard.Decision) elicit.Answer {
	if j.call.Channel == nil {
		return j.answered(d, elicit.Answer{Outcome: elicit.Unsupported})
	}
	limit := j.box.Waiting
	if limit <= 0 {
		limit = openMax
	}
	defer j.box.open.Add(-1)
	if j.box.open.Add(1) > int32(limit) {
		return j.answered(d, elicit.Answer{Outcome: full})
	}
	wait := j.box.AskTimeout
	if wait <= 0 {
		wait = min(askTime, callTime-time.Since(j.began))
	}
	q.Expires = time.Now().Add(wait)
	if err := j.recordQuestion(d); err != nil {
		return elicit.Answer{Outcome: elicit.Unsupported}
	}
	if j.call.Progress != nil {
		j.call.Progress("waiting for a person to approve this call")
	}
	return j.answered(d, put(ctx, j.call.Channel, q))
}

// answered records an answer and hands it on; unrecorded it approves nothing.
func (j *job) answered(d *guard.Decision, a elicit.Answer) elicit.Answer {
	if err := j.recordAnswer(d, a); err != nil && a.Outcome == elicit.Approved {
		a.Outcome = elicit.Unsupported
	}
	return a
}

// put asks and waits, also for a channel that does not heed ctx. What is no
// clear yes in time is none: an unknown outcome, an approval without a choice,
// an error, a panic, an answer that comes too late.
func put(ctx context.Context, ch elicit.Channel, q elicit.Question) elicit.Answer {
	ctx, cancel := context.WithDeadline(ctx, q.Expires)
	defer cancel()
	asked := time.Now()
	got := make(chan elicit.Answer, 1)
	go func() {
		a := elicit.Answer{Outcome: elicit.Unsupported}
		defer func() {
			if recover() != nil {
				a = elicit.Answer{Outcome: elicit.Unsupported}
			}
			got <- a
		}()
		answer, err := ch.Ask(ctx, q)
		if err == nil {
			a = answer
		}
	}()
	var a elicit.Answer
	select {
	case a = <-got:
	case <-ctx.Done():
		select { // a channel that heeds ctx says so itself at once
		case a = <-got:
		case <-time.After(50 * time.Millisecond):
			a = elicit.Answer{Outcome: elicit.NoAnswer}
		}
	}
	if a.Took <= 0 {
		a.Took = time.Since(asked)
	}
	a.Outcome = settled(q, a, ctx.Err() != nil)
	return a
}

// settled is the outcome that an answer to q comes to. late says that the
// question had expired, or the call was cancelled.
func settled(q elicit.Question, a elicit.Answer, late bool) elicit.Outcome {
	switch a.Outcome {
	case elicit.Approved:
		if !q.Allows(a.Choice) {
			return elicit.Declined
		}
		if late {
			return elicit.NoAnswer
		}
		return elicit.Approved
	case elicit.Pending:
		if a.Handback == nil {
			return elicit.Unsupported
		}
		return elicit.Pending
	case elicit.Declined, elicit.Dismissed, elicit.NoAnswer:
		return a.Outcome
	}
	if late {
		return elicit.NoAnswer
	}
	return elicit.Unsupported
}

// reasons are the reasons of the findings that ask, each once.
func reasons(d *guard.Decision) []string {
	var out []string
	seen := map[string]bool{}
	for _, f := range d.Findings {
		if f.Verdict == d.Verdict && !seen[f.Reason] {
			seen[f.Reason] = true
			out = append(out, fmt.Sprintf("%s (%s)", f.Reason, f.Rule))
		}
	}
	if len(out) == 0 && d.Reason != "" {
		out = []string{d.Reason}
	}
	return out
}
