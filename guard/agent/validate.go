package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"handrail/guard"
)

// rule is the rule of the decisions that are made here.
const rule = "guard/agent"

// instead is what a caller can do about a call that the validator refused.
const instead = "do it by commands whose effect is plain to see, or let the user do it"

// Validate settles llm: allow, ask or deny. The error is a fault of the server
// (ErrServer, ErrOff), for which the caller has a fallback; the decision then has
// no verdict, only how far it came. What the caller can cause is answered with
// ask.
func (a *Agent) Validate(ctx context.Context, c *guard.EvalContext, d *guard.Decision) (*guard.Decision, error) {
	began := time.Now()
	ours, cancel := context.WithTimeout(ctx, a.opt.Deadline)
	defer cancel()
	ans, err := a.judge(ctx, ours, c, d)
	ans.MS = time.Since(began).Milliseconds()
	failed := errors.Is(err, ErrServer) || errors.Is(err, ErrOff)
	switch {
	case failed:
		ans.Model, ans.Fault, ans.Effects = a.opt.Model, err.Error(), nil
		ans.verdict, ans.reason = guard.VerdictDeny, err.Error()
	case err != nil:
		ans.verdict, ans.reason, ans.Effects = guard.VerdictAsk, err.Error(), nil
	}
	out := &guard.Decision{Verdict: ans.verdict, Rule: rule, Reason: reasonOf(ans), Validator: &ans.Validation, Digest: d.Digest}
	if out.Verdict != guard.VerdictAllow {
		out.Instead = instead
	}
	if a.opt.OnDecision != nil {
		a.opt.OnDecision(Record{Validation: ans.Validation, Digest: d.Digest, Verdict: out.Verdict, Reason: out.Reason, Cause: err})
	}
	if failed {
		return out, err
	}
	return out, nil
}

func reasonOf(ans answer) string {
	if ans.reason == "" {
		return "the validator sees no harm in it"
	}
	return "the validator: " + ans.reason
}

// judge waits for its turn, lets the model judge one call, and keeps the
// breaker.
func (a *Agent) judge(caller, ctx context.Context, c *guard.EvalContext, d *guard.Decision) (answer, error) {
	a.mu.Lock()
	stopped := a.breaker.open(time.Now())
	a.mu.Unlock()
	if stopped != nil {
		return answer{}, stopped
	}
	m, err := a.ready(ctx)
	if err != nil {
		return answer{}, err
	}
	ev, err := a.evidence(c, d)
	if err != nil {
		return answer{Validation: a.named(m)}, err
	}
	k := a.keyOf(m, ev)
	if got, ok := a.cache.get(k, time.Now()); ok {
		got.Cached = true
		return got, nil
	}
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return answer{Validation: a.named(m)}, ErrTime
	}
	ans := answer{Validation: a.named(m)}
	if err = a.same(ctx, m); err == nil {
		ans, err = a.converse(ctx, m, ev)
	}
	if caller.Err() != nil { // the caller went away: that says nothing about the server
		return ans, ErrTime
	}
	a.note(err)
	if err == nil && ans.verdict == guard.VerdictAllow {
		a.cache.put(k, ans, time.Now())
	}
	return ans, err
}

func (a *Agent) named(m *model) guard.Validation {
	return guard.Validation{Model: a.opt.Model, ModelDigest: m.digest}
}

// note keeps the breaker, and tells once when the validator is lost or back.
func (a *Agent) note(err error) {
	a.mu.Lock()
	if errors.Is(err, ErrServer) {
		a.lost(err)
	}
	opened, closed := a.breaker.note(err, time.Now())
	told := a.state.told
	if opened || errors.Is(err, ErrServer) {
		a.state.told = true
	} else if closed || err == nil {
		a.state.told = false
	}
	now := a.state.told
	tell := a.opt.Notice
	if a.opt.Once && !a.state.met && errors.Is(err, ErrDown) {
		tell = a.opt.Absent
	}
	a.mu.Unlock()
	switch {
	case tell == nil || told == now:
	case now:
		tell(fmt.Sprintf("the Guard Agent is not available (%v): what rules cannot tell is decided by the fallback until it is back", err))
	default:
		tell("the Guard Agent is back")
	}
}
