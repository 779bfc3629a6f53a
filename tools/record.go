package tools

import (
	"errors"
	"time"

	"handrail/elicit"
	"handrail/guard"
	"handrail/guard/audit"
)

func (j *job) record(event audit.Event) *audit.Record {
	return &audit.Record{Event: event, CallID: j.id, Tool: j.call.Tool, Client: j.call.Client,
		Transport: j.call.Transport, Session: j.call.Session, Principal: j.call.Principal}
}

func (j *job) recordDecision(d *guard.Decision, facts *guard.Facts) error {
	r := j.record(audit.Decision)
	r.Input = j.call.Input
	r.Verdict, r.Rule, r.Reason, r.Digest, r.Granted = d.Verdict.String(), d.Rule, d.Reason, d.Digest, d.Granted
	r.Dir, r.Findings, r.Effects = facts.Dir, d.Findings, facts.Effects
	r.Validator = d.Validator
	durable, err := j.box.Audit.Begin(r)
	if err != nil {
		return err
	}
	if j.decision == 0 {
		j.decision = time.Since(j.began)
	}
	j.recorded = append(j.recorded, durable)
	return nil
}

// durable waits until all decisions are on the disk. An error means that nothing
// may run.
func (j *job) durable() error {
	var errs []error
	for _, wait := range j.recorded {
		errs = append(errs, wait())
	}
	return errors.Join(errs...)
}

func (j *job) recordQuestion(d *guard.Decision) error {
	r := j.record(audit.Question)
	r.Verdict, r.Rule, r.Reason, r.Digest = d.Verdict.String(), d.Rule, d.Reason, d.Digest
	return j.box.Audit.Append(r)
}

func (j *job) recordAnswer(d *guard.Decision, a elicit.Answer) error {
	r := j.record(audit.Answer)
	r.Digest, r.Approval, r.Channel = d.Digest, string(a.Outcome), a.Channel
	if a.Client != "" {
		r.Client = a.Client
	}
	r.TookMS = a.Took.Milliseconds()
	if a.Outcome == elicit.Approved {
		r.Choice, r.Quick = string(a.Choice), a.Took < 300*time.Millisecond
	}
	return j.box.Audit.Append(r)
}

func (j *job) recordOutcome(res *Result) error {
	r := j.record(audit.Outcome)
	r.ExitCode, r.DurationMS, r.Bytes, r.SHA256, r.TimedOut = res.ExitCode, res.DurationMS, j.bytes, res.SHA256, res.TimedOut
	r.Sandbox = res.Sandbox
	if res.IsError {
		r.Error = res.Reason
	}
	return j.box.Audit.Append(r)
}

func (j *job) recordFault(text string) error {
	r := j.record(audit.Outcome)
	r.Error = text
	return j.box.Audit.Append(r)
}
