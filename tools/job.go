package tools

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"handrail/elicit"
	"handrail/guard"
	"handrail/guard/disk"
	"handrail/tools/place"
)

// job is one call on its way through the toolbox.
type job struct {
	box   *Toolbox
	call  Call
	id    string
	began time.Time
	bytes int64 // of output, or written; for the audit

	scratch string            // the session's temporary directory; empty: none
	env     map[string]string // what a command of this call gets; nil for the file tools

	// finish is to be called once with what the call came to: by run, or where the
	// call is detached by the job that goes on after it.
	finish   func(*Result) error
	detached bool

	decision  time.Duration   // what the first one took, until its record was written
	recorded  []func() error  // which wait until the disk has them
	decided   *guard.Decision // by which it may run
	preserves preservation    // what was kept before it
	held      *confined       // what holds its command
	loose     error           // why nothing does, and so it does not run

	first  judged         // for the history
	answer elicit.Answer  // what came of the question
	offer  *guard.Pattern // what always would cover; nil where it is no choice
	over   error          // why the call ended while it waited for the answer
	left   bool           // the call waits for a person elsewhere
	waits  string         // where, or why not, in sentences
}

// request is the bound arguments of a tool: what they would do, how that is
// shown to a person, and the doing.
type request interface {
	check() error
	// facts reads what the call would do. It is called again before the run.
	facts(*job) (*guard.Facts, error)
	// shown is what would be done, exactly, and what the agent says about it.
	shown(*guard.Facts) (command, says string)
	do(context.Context, *job, *guard.Facts) *Result
}

// newID names a call: unique, and safe in a file name and a variable.
func newID() string { return "call-" + strings.ToLower(rand.Text()[:16]) }

func (j *job) run(ctx context.Context) *Result {
	b := j.box
	if b.Guard == nil || b.Reader == nil || b.Reader.Table == nil || b.Audit == nil || len(j.call.Roots) == 0 {
		return j.refuse(&guard.Decision{Rule: "guard/error", Reason: "the server is not set up: guard, reader, command table, audit log or workspace root is missing"})
	}
	if d := j.tooFast(); d != nil {
		if err := j.recordDecision(d, &guard.Facts{}); err != nil {
			return j.unrecorded(err)
		}
		return j.refuse(d)
	}
	req, facts, err := j.read()
	if err != nil {
		return j.invalid(err)
	}
	if d := j.overfull(facts); d != nil {
		if err := j.recordDecision(d, facts); err != nil {
			return j.unrecorded(err)
		}
		return j.refuse(d)
	}
	d, err := j.judge(ctx, facts)
	if err != nil {
		return j.unrecorded(err)
	}
	j.first = judged{facts, d}
	defer j.remember()
	var approval elicit.Outcome
	if d.Verdict == guard.VerdictAsk {
		if err := j.durable(); err != nil { // before a person is bothered
			j.abandon()
			return j.unrecorded(err)
		}
		a := j.ask(ctx, req, facts, d)
		if a.Outcome != elicit.Approved {
			return j.unapproved(d, a)
		}
		if facts, d, err = j.again(ctx, req, d, a.Choice); err != nil {
			j.abandon()
			return j.unrecorded(err)
		}
		approval = a.Outcome
	}
	if d.Verdict != guard.VerdictAllow {
		j.abandon()
		return j.refuse(d)
	}
	leave, refusal := j.place(ctx, req, facts, d)
	if refusal != nil {
		return refusal
	}
	defer leave()
	j.decided = d
	watched := j.watch(facts)
	if _, ok := req.(*BashArgs); ok { // while the disk works
		j.held, j.loose = j.confine(ctx, facts)
	}
	if err := j.durable(); err != nil {
		j.abandon()
		return j.unrecorded(err)
	}
	sources := facts.Sources
	if d.Validator != nil {
		sources = slices.Concat(sources, d.Validator.Sources)
	}
	if err := unchanged(sources); err != nil { // the last look: whoever keeps the disk busy makes the wait as long as they like
		j.abandon()
		return j.refuse(&guard.Decision{Rule: "guard/changed", Reason: err.Error(), Instead: "call again: the file is then judged as it is now"})
	}
	j.finish = func(res *Result) error {
		j.held.clear()
		j.keep(watched)
		j.preserved(context.WithoutCancel(ctx), res)
		return j.recordOutcome(res)
	}
	res := req.do(ctx, j, facts)
	res.Verdict, res.Approval, res.Rule = guard.VerdictAllow, approval, d.Rule
	if res.Reason == "" {
		res.Reason = d.Reason
	}
	if j.detached {
		told(res, j.preserves.note)
		return res
	}
	if err := j.finish(res); err != nil {
		res.Text += "\n[the audit log could not be written after the run: " + err.Error() + "]"
	}
	return res
}

// read binds the arguments and says what the call would do.
func (j *job) read() (request, *guard.Facts, error) {
	if err := j.surround(); err != nil {
		return nil, nil, err
	}
	req, err := bind(j.call.Tool, j.call.Input)
	if err != nil {
		return nil, nil, err
	}
	facts, err := req.facts(j)
	return req, facts, err
}

// context is the call as the guard sees it.
func (j *job) context(facts *guard.Facts) *guard.EvalContext {
	return &guard.EvalContext{ToolName: j.call.Tool, Input: j.call.Input, WorkingDir: facts.Dir, Facts: facts,
		Roots: j.call.Roots, Scratch: j.scratch, Session: j.call.Session, Principal: j.call.Principal}
}

// judge evaluates facts, keeps what an allowed call could destroy, and records the
// decision. An error means that it is not recorded: nothing may run.
func (j *job) judge(ctx context.Context, facts *guard.Facts) (*guard.Decision, error) {
	d := j.box.Guard.Evaluate(guard.WithProgress(ctx, j.call.Progress), j.context(facts))
	j.preserve(ctx, facts, d)
	err := j.recordDecision(d, facts)
	if err != nil {
		j.abandon()
	}
	return d, err
}

// again turns a person's yes into a grant and judges the call as it is now. It
// must still be the call that was shown.
func (j *job) again(ctx context.Context, req request, asked *guard.Decision, choice elicit.Choice) (*guard.Facts, *guard.Decision, error) {
	changed := &guard.Decision{Rule: "guard/changed", Digest: asked.Digest,
		Reason:  "what the call would do changed while a person was asked, so the approval is for something else",
		Instead: "call again: the person is asked about it as it is now"}
	if j.box.Guard.Grants == nil {
		return nil, &guard.Decision{Rule: "guard/error", Reason: "approvals cannot be kept: the server has no grants"}, nil
	}
	facts, err := req.facts(j)
	if err != nil {
		return nil, changed, j.recordDecision(changed, &guard.Facts{})
	}
	if err := j.grant(facts, asked, choice); err != nil {
		return nil, &guard.Decision{Rule: "guard/error", Reason: "the approval cannot be kept: " + err.Error()}, nil
	}
	d, err := j.judge(ctx, facts)
	if err == nil && d.Verdict != guard.VerdictDeny && (d.Verdict != guard.VerdictAllow || d.Digest != asked.Digest) {
		return nil, changed, j.recordDecision(changed, facts)
	}
	if err == nil && d.Verdict == guard.VerdictAllow && choice == elicit.AllowAlways {
		if err = j.durable(); err == nil {
			j.keepRule()
		}
	}
	return facts, d, err
}

// grant keeps a person's yes. A yes to more power is for one run only.
func (j *job) grant(facts *guard.Facts, asked *guard.Decision, choice elicit.Choice) error {
	grant := guard.Grant{Session: j.call.Session, Expires: time.Now().Add(time.Minute)}
	if choice == elicit.AllowSession && !escalated(facts) {
		grant.Scope, grant.Expires = guard.Session, time.Time{}
	}
	for _, digest := range j.box.Guard.Approved(j.context(facts), asked, grant.Scope) {
		grant.Digest = digest
		if err := j.box.Guard.Grants.Add(grant); err != nil {
			return err
		}
	}
	return nil
}

// unchanged checks that the scripts that were read for the decision are still
// what they were.
func unchanged(sources []guard.Source) error {
	for _, s := range sources {
		sum, err := hashFile(s.Path)
		if err != nil || sum != s.SHA256 {
			return fmt.Errorf("%s changed after it was judged", s.Path)
		}
	}
	return nil
}

// hashFile returns the SHA-256 of a regular file (path absolute, resolved).
func hashFile(path string) (string, error) {
	dir, err := place.OpenDir(filepath.Dir(path), false)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	f, st, err := place.OpenRegular(dir, filepath.Base(path))
	if err != nil {
		return "", err
	}
	defer f.Close()
	if st.Size > hashMax {
		return "", errors.New("too large")
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, hashMax)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// hashMax bounds the files whose hash is taken, in bytes.
const hashMax = 64 << 20

// locate makes a path of the arguments absolute and follows its links; linked
// says that it had some.
func (j *job) locate(path string) (resolved string, linked bool, err error) {
	home := j.box.Reader.Home
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') {
		if home == "" {
			return "", false, errors.New("the home directory is not known; give an absolute path")
		}
		path = home + rest
	}
	if !filepath.IsAbs(path) {
		path = j.call.Roots[0] + "/" + path
	}
	resolved, ok := new(disk.View).Resolve(path)
	if !ok || !filepath.IsAbs(resolved) {
		return "", false, fmt.Errorf("where %s leads could not be told (a loop of links, or no permission to look)", path)
	}
	return resolved, resolved != filepath.Clean(path), nil
}

// broke is the answer to a fault of the server itself.
func (j *job) broke(fault any) *Result {
	defer func() { _ = recover() }() // the log may be what is broken
	res := j.refuse(&guard.Decision{Rule: "guard/error", Reason: fmt.Sprintf("the server failed on this call: %v", fault)})
	if j.box.Audit != nil {
		_ = j.recordFault(fmt.Sprintf("panic: %v\n%s", fault, debug.Stack()))
	}
	return res
}
