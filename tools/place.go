package tools

import (
	"context"

	"handrail/guard"
)

// place waits until a call that is allowed may run. What was judged and kept
// before the wait must be what runs after it: where it is another call by then, and
// where there is no room to wait, the refusal says so. What the call could destroy
// is kept again after a wait, as others left it meanwhile.
func (j *job) place(ctx context.Context, req request, facts *guard.Facts, d *guard.Decision) (leave func(), refusal *Result) {
	if j.call.Place == nil || j.call.Tool == Read {
		return func() {}, nil
	}
	leave, waited, err := j.call.Place(ctx)
	if err != nil {
		return nil, j.turnedAway(facts, &guard.Decision{Rule: "limits/queue", Digest: d.Digest, Reason: err.Error(), Instead: "wait for calls that run, then call again"})
	}
	if !waited {
		return leave, nil
	}
	changed := &guard.Decision{Rule: "guard/changed", Digest: d.Digest,
		Reason: "while the call waited for others to end, what it would do changed", Instead: "call again: it is then judged as it is now"}
	now, err := req.facts(j)
	if err == nil && j.stands(facts, now, d) {
		if err = j.preserveAgain(ctx, now, d); err != nil {
			leave()
			return nil, j.unrecorded(err)
		}
		if d.Verdict == guard.VerdictAllow {
			return leave, nil
		}
		changed.Reason = "while the call waited for others to end, what it destroys came to be what needs a person: " + d.Reason
	}
	leave()
	return nil, j.turnedAway(facts, changed)
}

// stands reports whether a call that was judged by facts is the same call by what
// is known now, and the rules are no stricter with it: a file that it deletes may
// have been changed meanwhile.
func (j *job) stands(facts, now *guard.Facts, d *guard.Decision) bool {
	g := j.box.Guard
	return g.Digest(j.context(now)) == d.Digest && g.Judge(j.context(now)).Verdict >= g.Judge(j.context(facts)).Verdict
}

// preserveAgain keeps what the call could destroy as it is now, instead of as it
// was. Where that makes d a question, or a grant answers one, d says so. An error
// means that such a grant is not recorded: nothing may run.
func (j *job) preserveAgain(ctx context.Context, now *guard.Facts, d *guard.Decision) error {
	granted := d.Granted
	j.abandon()
	j.preserve(ctx, now, d)
	if d.Granted == granted {
		return nil
	}
	err := j.recordDecision(d, now)
	if err != nil {
		j.abandon()
	}
	return err
}

// turnedAway records that a call which was allowed does not run, and forgets what
// was kept for it.
func (j *job) turnedAway(facts *guard.Facts, d *guard.Decision) *Result {
	j.abandon()
	if err := j.recordDecision(d, facts); err != nil {
		return j.unrecorded(err)
	}
	return j.refuse(d)
}
