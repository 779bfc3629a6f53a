package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"handrail/guard"
	"handrail/tools/place"
)

func (a *BashArgs) facts(j *job) (*guard.Facts, error) {
	dir := j.call.Roots[0]
	if a.Cwd != "" {
		var err error
		if dir, _, err = j.locate(a.Cwd); err != nil {
			return nil, fmt.Errorf("field \"cwd\": %w", err)
		}
	}
	if d, err := place.OpenDir(dir, false); err != nil {
		return nil, fmt.Errorf("field \"cwd\" must name an existing directory: %w", err)
	} else {
		d.Close()
	}
	facts := j.box.Reader.For(j.env, j.call.Roots, j.made).Read(a.Command, dir)
	if facts == nil {
		return nil, errors.New("the command could not be read")
	}
	facts.Dir = dir
	if !below(dir, j.call.Roots) { // so that the rules speak about the place itself
		facts.Effects = append(facts.Effects, guard.Effect{Kind: guard.Read, Action: "list", Target: dir, Written: a.Cwd,
			Note: "the working directory, outside the workspace", From: -1, Exact: true, Command: -1})
	}
	if a.Escalate != "" {
		facts.Effects = append(facts.Effects, a.escalation())
	} else {
		facts.Effects = append(facts.Effects, j.brokered(facts)...)
	}
	return facts, nil
}

func (a *BashArgs) shown(facts *guard.Facts) (command, says string) {
	return a.source(facts), a.Description
}

// source is what bash gets: the text printed from what was judged.
func (a *BashArgs) source(facts *guard.Facts) string {
	if facts.Script != "" {
		return facts.Script
	}
	return a.Command
}

func (a *BashArgs) do(ctx context.Context, j *job, facts *guard.Facts) *Result {
	held, err := j.held, j.loose
	if err == nil {
		err = held.plan.prepare()
	}
	if err != nil {
		j.held = nil // which made nothing
		return failed(fmt.Errorf("nothing ran: %w", err))
	}
	s := &script{text: a.source(facts), dir: facts.Dir, env: held.environment(j.env), id: j.id, timeout: defaultTimeout, progress: j.call.Progress,
		box: held.box, policy: held.plan.policy}
	if a.Background {
		s.timeout = jobTimeout
	}
	if a.TimeoutMS > 0 {
		s.timeout = time.Duration(a.TimeoutMS) * time.Millisecond
	}
	if len(s.text) > maxCommand {
		return failed(fmt.Errorf("the command is %d bytes; at most %d can be passed to bash: write a script with %s and run that", len(s.text), maxCommand, Write))
	}
	if a.Background {
		return a.launch(ctx, j, s)
	}
	e, err := s.run(ctx)
	if err != nil {
		return failed(fmt.Errorf("nothing ran: %w", err))
	}
	res, notes := j.result(e, s.timeout)
	if res.Truncated {
		res.OutputID = j.ended(e)
		notes = append(notes, fmt.Sprintf("all of it: output_id %s, with stream and offset", res.OutputID))
	}
	res.Text = bashText(res, strings.Join(notes, "; "))
	return res
}

// result is what a command that has ended came to, and the notes about it.
func (j *job) result(e *ending, timeout time.Duration) (*Result, []string) {
	res := &Result{ExitCode: &e.Code, TimedOut: e.timedOut, DurationMS: e.took.Milliseconds()}
	var cutOut, cutErr bool
	res.Stdout, cutOut = e.out.Text()
	res.Stderr, cutErr = e.err.Text()
	res.Truncated = cutOut || cutErr
	n, _ := e.out.Progress()
	m, _ := e.err.Progress()
	j.bytes = n + m
	notes := append([]string{fmt.Sprintf("exit code %d", e.Code), seconds(e.took)}, e.told(res, timeout)...)
	return res, append(notes, j.held.told(e, res)...)
}

// told says how a command ended where that is more than an exit code.
func (e *ending) told(res *Result, timeout time.Duration) (notes []string) {
	switch {
	case e.timedOut:
		res.Reason = fmt.Sprintf("timed out after %s; the command and all it started were ended", seconds(timeout))
	case e.flooded:
		res.Reason = fmt.Sprintf("it wrote more than %d MiB to a stream, so the command and all it started were ended: let it write to a file, or less", spoolMax>>20)
	case e.cancelled != nil:
		res.Reason = e.cancelled.Error() + "; the command and all it started were ended"
	case e.ended > 0:
		left := "1 background process was still running and was ended"
		if e.ended > 1 {
			left = fmt.Sprintf("%d background processes were still running and were ended", e.ended)
		}
		return []string{left + ": nothing outlives its call; background: true starts a job that does"}
	default:
		return nil
	}
	res.IsError = true
	return []string{res.Reason}
}

// bashText is a result for the model: the streams, then how it ended.
func bashText(res *Result, notes string) string {
	var b strings.Builder
	b.WriteString(res.Stdout)
	line := func() {
		if s := b.String(); s != "" && !strings.HasSuffix(s, "\n") {
			b.WriteByte('\n')
		}
	}
	if res.Stderr != "" {
		line()
		b.WriteString("[stderr]\n" + res.Stderr)
	}
	line()
	b.WriteString("[" + notes + "]")
	return b.String()
}
