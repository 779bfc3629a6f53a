package tools

import (
	"context"
	"slices"
	"time"

	"handrail/guard"
	"handrail/tools/history"
)

// keptRule is the rule that asks because what a call destroys cannot be kept.
const keptRule = "history/keep"

// preservation is what was kept before a call. The zero value is nothing.
type preservation struct {
	kept *history.Kept
	note string // what cannot be brought back
}

// preserve keeps what an allowed call could destroy, before it runs. A call that
// could destroy anything in the workspace, and that nobody approved, is allowed
// because the workspace can be brought back: where that fails it becomes a
// question, and so does what deletes unasked because that is kept, but is not.
// Any other call runs, and the note says that it cannot be undone.
func (j *job) preserve(ctx context.Context, facts *guard.Facts, d *guard.Decision) {
	if j.box.History == nil || d.Verdict != guard.VerdictAllow {
		return
	}
	kept, err := j.box.History.Keep(ctx, history.Call{ID: j.id, Tool: j.call.Tool, Session: j.call.Session,
		Roots: j.call.Roots, Skip: []string{j.env["TMPDIR"]}}, facts)
	missed := kept.Missed()
	switch {
	case err != nil && (kept.Whole() || d.Contained) && !d.Granted:
		j.unkept(ctx, facts, d, "the workspace could not be kept as it is now, so what this call destroys could not be brought back: "+err.Error(),
			"tell the user; the call runs without a question when the history can be written again")
	case err == nil && d.Contained && missed != "":
		j.unkept(ctx, facts, d, "what this call deletes cannot be kept, so it could not be brought back: "+missed,
			"leave out of the call what cannot be kept, or move it away instead")
	}
	if d.Verdict != guard.VerdictAllow {
		kept.Forget() // it would only be listed as a call that changed nothing
		return
	}
	if j.preserves.kept = kept; err != nil {
		j.preserves = preservation{note: "this call cannot be undone: " + err.Error()}
	} else {
		j.preserves.note = kept.Untold()
	}
}

// unkept makes d ask because of reason, which is about what the call deletes, or
// about all of it.
func (j *job) unkept(ctx context.Context, facts *guard.Facts, d *guard.Decision, reason, instead string) {
	j.box.Guard.Unkept(ctx, j.context(facts), d, guard.Finding{Rule: keptRule, Reason: reason, Instead: instead,
		Effect: slices.IndexFunc(facts.Effects, func(e guard.Effect) bool { return e.Kind == guard.Delete })})
}

// abandon forgets what was kept before a call that does not run after all.
func (j *job) abandon() {
	j.preserves.kept.Forget()
	j.preserves = preservation{}
}

// preserved looks at what the call left, so that it can be undone, and says in
// the result what could not be kept.
func (j *job) preserved(ctx context.Context, res *Result) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	note := j.preserves.note
	if err := j.preserves.kept.Done(ctx); err != nil {
		note = "this call can be undone only by force: " + err.Error()
	}
	told(res, note)
}

// told adds a note to a result.
func told(res *Result, note string) {
	if note != "" {
		res.Text += "\n[" + note + "]"
	}
}
