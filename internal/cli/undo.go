package cli

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"handrail/guard/audit"
	"handrail/tools/history"
)

var undoCommand = subcommand{
	name:  "undo",
	usage: "[--dry-run] [--force] [--json] [--config FILE] [--principal NAME] [CALL]",
	short: "bring back the state before a call",
	doc: `What the call changed or removed is restored, what it made is removed. CALL is an
ID of ` + "`handrail history`" + `, or its beginning; without it the last call that changed
something in this directory's workspace, and is not undone.

Nothing is done where work of later would be lost, or something was not kept:
these are named, and the exit code is 1. --force goes ahead; what is there now is
kept before, so that the undoing can be undone as well.

Of .git, everything is kept but the objects: branches, HEAD, index, stash and
reflog come back, and the commits with them, as long as git has not pruned these.`,
	run: undo,
}

func undo(s streams, args []string) (int, error) {
	if err := byPerson(); err != nil {
		return 0, err
	}
	f := newFlags("undo")
	dry, force, asJSON := f.Bool("dry-run", false, ""), f.Bool("force", false, ""), f.Bool("json", false, "")
	file, principal := f.String("config", "", ""), f.String("principal", "", "")
	rest, err := f.operands(args, 0, 1)
	if err != nil {
		return 0, err
	}
	c, err := whose(*file, *principal)
	if err != nil {
		return 0, err
	}
	kept, err := history.Open(c.History(), history.Limits{})
	if err != nil {
		return 0, err
	}
	dir, err := here()
	if err != nil {
		return 0, err
	}
	r, err := undoable(kept, dir, rest)
	if err != nil {
		return 0, err
	}
	log, err := audit.Open(c.AuditLog())
	if err != nil {
		return 0, err
	}
	defer log.Close()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	u, err := s.undo(ctx, kept, log, r, history.Options{DryRun: *dry, Force: *force, ID: "undo-" + strings.ToLower(rand.Text()[:16]), Tool: "undo"}, dir)
	if err != nil {
		return 0, errors.New(oneLine(err.Error())) // it can name a path of the workspace
	}
	code := 0
	if len(u.Failed) > 0 || !u.Done && len(u.Refused) > 0 && !*force {
		code = exitError
	}
	if *asJSON {
		return code, printJSON(s.stdout, u)
	}
	s.undone(u, dir, *dry)
	return code, nil
}

// undoable finds the call to undo.
func undoable(kept *history.Store, dir string, rest []string) (*history.Record, error) {
	if len(rest) == 1 {
		r, err := kept.Find(rest[0])
		if errors.Is(err, history.ErrNone) {
			err = fmt.Errorf("%q is no call that changed something, or it was too long ago; `handrail history` lists them", rest[0])
		}
		return r, err
	}
	r, err := kept.Last(dir)
	if errors.Is(err, history.ErrNone) {
		err = fmt.Errorf("no call changed something in %s that is not undone; `handrail history` lists them", dir)
	}
	return r, err
}

// undo records in the audit log what it is about to do, and then what became of it.
func (s streams) undo(ctx context.Context, kept *history.Store, log *audit.Log, r *history.Record, o history.Options, dir string) (*history.Undoing, error) {
	if o.DryRun {
		return kept.Undo(ctx, r, o)
	}
	command := "undo " + r.Call
	if o.Force {
		command = "undo --force " + r.Call
	}
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		return nil, err
	}
	if err := log.Append(&audit.Record{Event: audit.Decision, CallID: o.ID, Tool: o.Tool, Transport: "cli", Dir: dir, Input: input,
		Verdict: "allow", Reason: "the user undoes a call by hand"}); err != nil {
		return nil, err
	}
	u, err := kept.Undo(ctx, r, o)
	outcome := &audit.Record{Event: audit.Outcome, CallID: o.ID, Tool: o.Tool}
	switch {
	case err != nil:
		outcome.Error = err.Error()
	case !u.Done:
		outcome.Error = fmt.Sprintf("not done: %d paths in the way", len(u.Refused))
	case len(u.Failed) > 0:
		outcome.Error = fmt.Sprintf("%d of %d paths failed", len(u.Failed), len(u.Todo))
	}
	if e := log.Append(outcome); err == nil {
		err = e
	}
	return u, err
}

// undone prints what was done, or would be.
func (s streams) undone(u *history.Undoing, dir string, dry bool) {
	problems := func(mark string, list []history.Problem) {
		for _, p := range list {
			line := p.Why
			if p.Path != "" {
				line = shortest(string(p.Path), dir) + ": " + p.Why
			}
			fmt.Fprintf(s.stdout, "  %s %s\n", mark, oneLine(line))
		}
	}
	restored, removed := count(u.Todo, "restore", "mode"), count(u.Todo, "remove")
	switch {
	case len(u.Refused) > 0 && !u.Done:
		fmt.Fprintf(s.stdout, "%s is not undone:\n", u.Call)
		problems("!", u.Refused)
		fmt.Fprintln(s.stdout, "undo later calls first, or use --force: what is there now is then kept, and can be brought back")
		return
	case len(u.Todo) == 0:
		fmt.Fprintf(s.stdout, "nothing to do: everything is as it was before %s\n", u.Call)
	case dry || u.Done:
		for _, step := range u.Todo {
			fmt.Fprintf(s.stdout, "  %-7s %s\n", step.Do, oneLine(shortest(string(step.Path), dir)))
		}
	}
	problems("left as it is:", u.Left)
	problems("failed:", u.Failed)
	if dry {
		fmt.Fprintf(s.stdout, "would restore %d and remove %d; nothing was done\n", restored, removed)
	} else if u.Done {
		fmt.Fprintf(s.stdout, "%s is undone: %d restored, %d removed, %d failed. `handrail undo %s` takes that back\n", u.Call, restored-failed(u, false), removed-failed(u, true), len(u.Failed), u.ID)
	}
}

// failed counts the steps that failed: of those that remove, or of the others.
func failed(u *history.Undoing, remove bool) (n int) {
	does := map[history.Name]bool{}
	for _, step := range u.Todo {
		does[step.Path] = step.Do == "remove"
	}
	for _, p := range u.Failed {
		if does[p.Path] == remove {
			n++
		}
	}
	return n
}
