package tools

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	"handrail/guard"
	"handrail/guard/disk"
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
// question, and so does what deletes unasked because that is kept, but is not, and
// what replaces a file that is not kept as if it were deleted. Any other call runs,
// and the note says that it cannot be undone.
func (j *job) preserve(ctx context.Context, facts *guard.Facts, d *guard.Decision) {
	if j.box.History == nil || d.Verdict != guard.VerdictAllow {
		return
	}
	kept, err := j.box.History.Keep(ctx, history.Call{ID: j.id, Tool: j.call.Tool, Session: j.call.Session,
		Roots: j.call.Roots, Skip: []string{j.scratch}}, facts)
	at, replaced := j.replaced(kept, facts, d)
	missed := ""
	if d.Contained {
		missed = kept.Missed()
	}
	switch {
	case err != nil && (kept.Whole() || d.Contained || replaced != "") && !d.Granted:
		j.unkept(ctx, facts, d, max(at, deletion(facts)), "the workspace could not be kept as it is now, so what this call destroys could not be brought back: "+err.Error(),
			"tell the user; the call runs without a question when the history can be written again")
	case err == nil && missed != "":
		if replaced != "" {
			missed += ", and what it replaces: " + replaced
		}
		j.unkept(ctx, facts, d, deletion(facts), "what this call deletes cannot be kept, so it could not be brought back: "+missed,
			"leave out of the call what cannot be kept, or move it away instead")
	case err == nil && replaced != "":
		j.unkept(ctx, facts, d, at, "what this call replaces cannot be kept, so it could not be brought back: "+replaced,
			"write to a new name, or move away what stands there")
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

// unkept makes d ask because of reason, which is about effect i, or with -1 about
// all of the call.
func (j *job) unkept(ctx context.Context, facts *guard.Facts, d *guard.Decision, i int, reason, instead string) {
	j.box.Guard.Unkept(ctx, j.context(facts), d, guard.Finding{Rule: keptRule, Reason: reason, Instead: instead, Effect: i})
}

// deletion is the first effect that deletes, or -1.
func deletion(facts *guard.Facts) int {
	return slices.IndexFunc(facts.Effects, func(e guard.Effect) bool { return e.Kind == guard.Delete })
}

// replaced names the files that the call gives another content though nobody was
// asked, of which nothing is kept and deleting would not go unasked; at is the
// effect that replaces the first of them. What git has, or ignores as builds make
// it, and what this session made does not count.
func (j *job) replaced(kept *history.Kept, facts *guard.Facts, d *guard.Decision) (at int, names string) {
	if d.Granted {
		return -1, ""
	}
	var lost []history.Lost
	view := &disk.View{Created: j.made}
	for _, l := range kept.Replaced() {
		i := slices.IndexFunc(facts.Effects, func(e guard.Effect) bool { return e.Replaces() && filepath.Clean(e.Target) == string(l.Path) })
		if i < 0 || view.Stat(string(l.Path)).Type != disk.File {
			continue
		}
		loss := view.Loss(string(l.Path))
		if loss != nil && loss.Changed+loss.Untracked == 0 || j.freed(facts, d, i, loss) {
			continue
		}
		if lost = append(lost, l); len(lost) == 1 {
			at = i
		}
	}
	if len(lost) == 0 {
		return -1, ""
	}
	return at, history.Names(lost)
}

// freed reports whether the user's own rule lets effect i of the call write, or
// the rules would let the same call delete what stands there, whose loss is given.
func (j *job) freed(facts *guard.Facts, d *guard.Decision, i int, loss *guard.Loss) bool {
	if slices.ContainsFunc(d.Findings, func(f guard.Finding) bool {
		return f.Effect == i && f.Source != "" && f.Verdict == guard.VerdictAllow
	}) {
		return true
	}
	deletes := *facts
	deletes.Effects = slices.Clone(facts.Effects)
	deletes.Effects[i].Kind, deletes.Effects[i].Loss = guard.Delete, loss
	return !slices.ContainsFunc(j.box.Guard.Judge(j.context(&deletes)).Findings, func(f guard.Finding) bool {
		return f.Effect == i && f.Verdict != guard.VerdictAllow || f.Effect < 0 && f.Verdict == guard.VerdictDeny
	})
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
