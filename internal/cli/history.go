package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"handrail/guard/audit"
	"handrail/internal/config"
	"handrail/tools/history"
)

var historyCommand = subcommand{
	name:  "history",
	usage: "[--json] [--limit N] [--config FILE] [--principal NAME] [CALL]",
	short: "list calls and what they changed",
	doc: `Each line is a call: when, its ID, the tool, the verdict, what it changed
(+ made, ~ changed, - removed), and the command or path. The last N are listed
(default 20).

With CALL, the ID or its beginning, everything that is known of that call: the
files that it changed, and what was not kept, so that undo cannot bring it back.

--principal shows the calls of one principal of a server for a team.`,
	run: historyList,
}

// past is one call as log and history know it.
type past struct {
	Call     string          `json:"call"`
	Time     time.Time       `json:"time"`
	Tool     string          `json:"tool"`
	Verdict  string          `json:"verdict"`
	Rule     string          `json:"rule,omitempty"`
	Reason   string          `json:"reason,omitempty"`
	Approval string          `json:"approval,omitempty"`
	Dir      string          `json:"dir,omitempty"`
	Input    json.RawMessage `json:"input,omitempty"`
	ExitCode *int            `json:"exit_code,omitempty"`
	Error    string          `json:"error,omitempty"`
	Kept     *history.Record `json:"kept,omitempty"` // absent where the call could change nothing
	Changes  []changeLine    `json:"changes,omitempty"`
}

// changeLine is one path that a call changed.
type changeLine struct {
	Sign string       `json:"sign"` // + made, ~ changed, - removed
	Path history.Name `json:"path"`
}

func historyList(s streams, args []string) (int, error) {
	f := newFlags("history")
	asJSON, limit := f.Bool("json", false, ""), f.Int("limit", 20, "")
	file, principal := f.String("config", "", ""), f.String("principal", "", "")
	rest, err := f.operands(args, 0, 1)
	if err != nil {
		return 0, err
	}
	if *limit < 1 {
		return 0, usagef("--limit must be at least 1")
	}
	c, err := whose(*file, *principal)
	if err != nil {
		return 0, err
	}
	path := c.AuditLog()
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return 0, nothingYet(path)
	}
	kept, err := history.Open(c.History(), history.Limits{})
	if err != nil {
		return 0, err
	}
	if len(rest) == 1 {
		return historyOf(s, kept, path, rest[0], *principal, *asJSON)
	}
	calls, err := pastCalls(path, *principal, func(string) bool { return true }, *limit)
	if err == nil {
		err = join(kept, calls)
	}
	if err != nil {
		return 0, err
	}
	if *asJSON {
		return 0, printJSON(s.stdout, calls)
	}
	for _, p := range calls {
		fmt.Fprintln(s.stdout, p.line())
	}
	return 0, nil
}

// historyOf shows one call.
func historyOf(s streams, kept *history.Store, log, id string, principal string, asJSON bool) (int, error) {
	calls, err := pastCalls(log, principal, func(call string) bool {
		return strings.HasPrefix(call, id) || strings.HasPrefix(strings.TrimPrefix(call, "call-"), id)
	}, 2)
	switch {
	case err != nil:
		return 0, err
	case len(calls) == 0:
		return 0, fmt.Errorf("no call has an ID that begins with %q; `handrail history` lists them", id)
	case len(calls) > 1:
		return 0, fmt.Errorf("%q begins the ID of several calls; give more of it", id)
	}
	p := calls[0]
	p.Kept, err = kept.Find(p.Call)
	if err == nil {
		err = p.changed(kept)
	}
	if err != nil && !errors.Is(err, history.ErrNone) {
		return 0, err
	}
	if asJSON {
		return 0, printJSON(s.stdout, p)
	}
	p.print(s.stdout)
	return 0, nil
}

// pastCalls reads from the log the last calls, at most n, whose ID is wanted.
func pastCalls(path, principal string, wanted func(call string) bool, n int) ([]*past, error) {
	var calls []*past
	byID := map[string]*past{}
	files, err := audit.Files(path)
	if err != nil {
		return nil, err
	}
	each := func(line []byte) error {
		var r audit.Record
		if json.Unmarshal(line, &r) != nil || r.CallID == "" || principal != "" && r.Principal != principal || !wanted(r.CallID) {
			return nil
		}
		p := byID[r.CallID]
		if p == nil {
			p = &past{Call: r.CallID, Time: r.Time, Tool: r.Tool}
			byID[r.CallID] = p
			if calls = append(calls, p); len(calls) > n {
				delete(byID, calls[0].Call)
				calls = calls[1:]
			}
		}
		p.add(&r)
		return nil
	}
	for _, file := range files {
		if err := audit.Tail(context.Background(), file, -1, false, each); err != nil {
			return nil, err
		}
	}
	return calls, nil
}

// add takes what one record tells.
func (p *past) add(r *audit.Record) {
	switch r.Event {
	case audit.Decision:
		p.Verdict, p.Rule, p.Reason = r.Verdict, r.Rule, r.Reason
		if p.Input == nil {
			p.Input, p.Dir = r.Input, r.Dir
		}
	case audit.Answer:
		p.Approval = r.Approval
	case audit.Outcome:
		p.ExitCode, p.Error = r.ExitCode, r.Error
	}
}

// whose is the configuration that a file makes, or under it that of a principal.
func whose(file, principal string) (*config.Config, error) {
	c, err := ofPrincipal(file, principal)
	if err != nil || principal == "" {
		return c, err
	}
	return c.For(principal)
}

// join adds what the history kept for the calls, which are in the order of time.
func join(kept *history.Store, calls []*past) error {
	if len(calls) == 0 {
		return nil
	}
	byID := map[string]*past{}
	for _, p := range calls {
		byID[p.Call] = p
	}
	return kept.Records(func(r *history.Record) bool {
		if p := byID[r.Call]; p != nil {
			p.Kept = r
		}
		return !r.Began.Before(calls[0].Time)
	})
}

func (p *past) changed(kept *history.Store) error {
	if p.Kept.Ended.IsZero() {
		return nil // what is there now is not known to be the call's
	}
	changes, err := kept.Changes(p.Kept)
	for _, c := range changes {
		sign := "~"
		switch {
		case c.Before == nil:
			sign = "+"
		case c.After == nil:
			sign = "-"
		}
		p.Changes = append(p.Changes, changeLine{sign, history.Name(c.Path)})
	}
	return err
}

// counts are what the call changed: "+3 ~1 -2"; "" where nothing is known.
func (p *past) counts() string {
	r := p.Kept
	switch {
	case r == nil:
		return ""
	case r.Ended.IsZero():
		return "?"
	}
	var words []string
	for _, c := range []struct {
		sign string
		n    int
	}{{"+", r.Made}, {"~", r.Changed}, {"-", r.Removed}} {
		if c.n > 0 {
			words = append(words, fmt.Sprintf("%s%d", c.sign, c.n))
		}
	}
	return strings.Join(words, " ")
}

// line shows the call in one line.
func (p *past) line() string {
	words := []string{p.Time.Local().Format("2006-01-02 15:04:05"), p.Call, fmt.Sprintf("%-9s", p.Tool), fmt.Sprintf("%-5s", p.Verdict),
		fmt.Sprintf("%-9s", p.counts()), oneLine(subject(p.Input))}
	switch {
	case p.Verdict != "allow":
		words = append(words, "— "+p.Rule)
	case p.Kept != nil && p.Kept.Undone != "":
		words = append(words, "(undone by "+p.Kept.Undone+")")
	case p.ExitCode != nil && *p.ExitCode != 0:
		words = append(words, fmt.Sprintf("(exit %d)", *p.ExitCode))
	case p.Error != "":
		words = append(words, "("+oneLine(p.Error)+")")
	}
	return strings.TrimRight(strings.Join(words, "  "), " ")
}

// print shows everything about the call.
func (p *past) print(w io.Writer) {
	fmt.Fprintln(w, p.line())
	if p.Reason != "" {
		fmt.Fprintf(w, "  %s: %s\n", p.Rule, oneLine(p.Reason))
	}
	if p.Approval != "" {
		fmt.Fprintf(w, "  a person was asked: %s\n", oneLine(p.Approval))
	}
	if p.Dir != "" {
		fmt.Fprintf(w, "  in %s\n", oneLine(p.Dir))
	}
	r := p.Kept
	switch {
	case r == nil:
		fmt.Fprintln(w, "  nothing was kept: the call could change nothing, or it was too long ago")
		return
	case r.Ended.IsZero():
		fmt.Fprintln(w, "  it has not ended, or the server did not live to see that: what it changed is not known")
	}
	const most = 500
	for i, c := range p.Changes {
		if i == most {
			fmt.Fprintf(w, "  … %d more; --json has all\n", len(p.Changes)-most)
			break
		}
		fmt.Fprintf(w, "  %s %s\n", c.Sign, oneLine(string(c.Path)))
	}
	for _, l := range r.Lost {
		fmt.Fprintf(w, "  not kept: %s: %s\n", oneLine(string(l.Path)), l.Why)
	}
	if r.Undone == "" && r.Effective() {
		fmt.Fprintf(w, "  `handrail undo %s` brings back what was before\n", r.Call)
	}
}

// here is the working directory, resolved.
func here() (string, error) {
	dir, err := os.Getwd()
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	return dir, err
}

// shortest shows path as seen from dir where it lies below.
func shortest(path, dir string) string {
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// count counts the steps that do one of the words.
func count(steps []history.Step, words ...string) (n int) {
	for _, s := range steps {
		if slices.Contains(words, s.Do) {
			n++
		}
	}
	return n
}
