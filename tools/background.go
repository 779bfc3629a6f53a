package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"handrail/guard"
)

// Reading of outputs.
const (
	pageBytes  = 32 << 10 // at most, and where nothing is said
	maxWait    = 30 * time.Second
	jobTimeout = 24 * time.Hour // of a job where nothing is said
)

// launch starts a job and says how it began.
func (a *BashArgs) launch(ctx context.Context, j *job, s *script) *Result {
	o, err := j.background(ctx, s, func(e *ending) {
		res, _ := j.result(e, s.timeout)
		_ = j.finish(res) // there is nobody to tell; the decision is recorded
	})
	if err != nil {
		return failed(fmt.Errorf("nothing ran: %w", err))
	}
	j.detached = true
	res := o.more(0, s.timeout)
	if res.Sandbox == nil {
		res.Sandbox = j.held.said()
	}
	return res
}

// outputArgs are arguments of safe_bash that name an output: it is read, or its
// job ended. Nothing runs.
type outputArgs struct{ *BashArgs }

func (a outputArgs) facts(j *job) (*guard.Facts, error) {
	if _, err := j.box.outputs.get(j.call, a.OutputID); err != nil {
		return nil, fmt.Errorf("field \"output_id\": %w", err)
	}
	what := "reads what a call of this session wrote"
	if a.End {
		what = "ends a job of this session"
	}
	return &guard.Facts{Dir: j.call.Roots[0],
		Effects: []guard.Effect{{Kind: guard.Exec, Target: a.OutputID, Note: what, From: -1, Exact: true, Command: -1}}}, nil
}

func (a outputArgs) shown(*guard.Facts) (command, says string) {
	if a.End {
		return "end the job " + a.OutputID, ""
	}
	return "read the output " + a.OutputID, ""
}

func (a outputArgs) do(ctx context.Context, j *job, _ *guard.Facts) *Result {
	o, err := j.box.outputs.get(j.call, a.OutputID)
	if err != nil {
		return failed(err)
	}
	if a.Stream != "" {
		return o.page(a.Stream, a.Offset, a.Limit)
	}
	if a.End {
		o.stop(errors.New("a call of its session ended it"))
		<-o.done
	}
	o.wait(ctx, time.Duration(a.WaitMS)*time.Millisecond)
	return o.more(a.Limit, 0)
}

// wait returns when the job has ended, wrote something that was not read, or the
// time is up.
func (o *output) wait(ctx context.Context, most time.Duration) {
	timeout := time.NewTimer(most)
	defer timeout.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !o.news() {
		select {
		case <-o.done:
			return
		case <-ctx.Done():
			return
		case <-timeout.C:
			return
		case <-tick.C:
		}
	}
}

// streams are those of a command, by name.
func (o *output) streams() map[string]*capture {
	return map[string]*capture{"stdout": &o.out, "stderr": &o.err}
}

// news reports whether there is something that was not read.
func (o *output) news() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for name, c := range o.streams() {
		if _, _, total, _ := c.Page(0, 0); total > o.read[name] {
			return true
		}
	}
	return false
}

// page is a part of one stream.
func (o *output) page(stream string, offset, limit int64) *Result {
	c := o.streams()[stream]
	if limit <= 0 {
		limit = pageBytes
	}
	text, next, total, err := c.Page(offset, limit)
	if err != nil {
		return failed(err)
	}
	res := &Result{OutputID: o.id, NextOffset: next, Running: o.running()}
	res.Truncated = next < total
	if stream == "stdout" {
		res.Stdout = text
	} else {
		res.Stderr = text
	}
	note := fmt.Sprintf("%s, bytes %d to %d of %d", stream, min(offset, total), next, total)
	if res.Truncated {
		note += fmt.Sprintf("; go on with offset %d", next)
	}
	res.Text = bashText(res, note)
	return res
}

// more is what came since the last reading, and how the job stands.
func (o *output) more(limit int64, timeout time.Duration) *Result {
	if limit <= 0 {
		limit = pageBytes
	}
	running := o.running() // before reading: what an ended job wrote is all there
	res := &Result{OutputID: o.id, Running: running}
	o.mu.Lock()
	for name, c := range o.streams() {
		text, next, total, err := c.Page(o.read[name], limit)
		if err != nil {
			o.mu.Unlock()
			return failed(err)
		}
		o.read[name] = next
		res.Truncated = res.Truncated || next < total
		if name == "stdout" {
			res.Stdout = text
		} else {
			res.Stderr = text
		}
	}
	o.mu.Unlock()
	notes := []string{fmt.Sprintf("job %s", o.id)}
	if running {
		res.DurationMS = time.Since(o.began).Milliseconds()
		notes = append(notes, fmt.Sprintf("running for %s", seconds(time.Since(o.began))), "read on with output_id, wait_ms to wait for more, end: true to end it; it ends with this session")
	} else {
		res.ExitCode, res.TimedOut, res.DurationMS = &o.Code, o.timedOut, o.took.Milliseconds()
		notes = append(notes, fmt.Sprintf("ended with exit code %d after %s", o.Code, seconds(o.took)))
		if told := o.told(res, timeout); o.cancelled == nil {
			notes = append(notes, told...)
		}
		if o.held != nil {
			notes = append(notes, o.held.told(o.ending, res)...)
		}
		res.IsError = false // reading went well
	}
	if res.Truncated {
		notes = append(notes, "there is more: read on")
	}
	res.Text = bashText(res, strings.Join(notes, "; "))
	return res
}
