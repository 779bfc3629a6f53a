package tools

import (
	"context"

	"handrail/guard"
)

// place waits until a call that is allowed may run. What was judged before the
// wait must be what runs after it: where it is another call by then, and where
// there is no room to wait, the refusal says so.
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
	now, err := req.facts(j)
	if err == nil && j.box.Guard.Digest(j.context(now)) == d.Digest {
		return leave, nil
	}
	leave()
	return nil, j.turnedAway(facts, &guard.Decision{Rule: "guard/changed", Digest: d.Digest,
		Reason: "while the call waited for others to end, what it would do changed", Instead: "call again: it is then judged as it is now"})
}

// turnedAway records that a call which was allowed does not run.
func (j *job) turnedAway(facts *guard.Facts, d *guard.Decision) *Result {
	if err := j.recordDecision(d, facts); err != nil {
		return j.unrecorded(err)
	}
	return j.refuse(d)
}
