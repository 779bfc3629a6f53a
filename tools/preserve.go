package tools

import (
	"context"
	"time"

	"handrail/elicit"
	"handrail/guard"
	"handrail/tools/history"
)

// deleted are the paths that a call deletes, at or below.
func deleted(facts *guard.Facts) (paths []string) {
	for _, e := range facts.Effects {
		if e.Kind == guard.Delete {
			paths = append(paths, e.Target)
		}
	}
	return paths
}

// preserve keeps what an allowed call could destroy, before it runs. A call that
// could destroy anything in the workspace, and that nobody approved, is allowed
// because the workspace can be brought back: where that fails it is refused, and
// so is what deletes unasked because that is kept, but is too large to be.
// Any other call runs, and note says that it cannot be undone.
func (j *job) preserve(ctx context.Context, facts *guard.Facts, d *guard.Decision, approval elicit.Outcome) (kept *history.Kept, note string, refusal *Result) {
	if j.box.History == nil {
		return nil, "", nil
	}
	kept, err := j.box.History.Keep(ctx, history.Call{ID: j.id, Tool: j.call.Tool, Session: j.call.Session,
		Roots: j.call.Roots, Skip: []string{j.env["TMPDIR"]}}, facts)
	switch {
	case err == nil && d.Contained && kept.Misses(deleted(facts)):
		return nil, "", j.refuse(&guard.Decision{Rule: "history/keep",
			Reason:  "what this call deletes is too large to be kept, so it could not be brought back: " + kept.Untold(),
			Instead: "let the user delete it, or repeat the call with `escalate`, so that a person is asked"})
	case err == nil:
		return kept, kept.Untold(), nil
	case (kept.Whole() || d.Contained) && approval == "" && !d.Granted:
		return nil, "", j.refuse(&guard.Decision{Rule: "history/keep",
			Reason:  "the workspace could not be kept as it is now, so what this call destroys could not be brought back: " + err.Error(),
			Instead: "tell the user; the call can be repeated when the history can be written again"})
	}
	return nil, "this call cannot be undone: " + err.Error(), nil
}

// preserved looks at what the call left, so that it can be undone, and says in
// the result what could not be kept.
func (j *job) preserved(ctx context.Context, kept *history.Kept, note string, res *Result) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if err := kept.Done(ctx); err != nil {
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
