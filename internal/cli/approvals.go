package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"handrail/elicit"
	"handrail/guard/audit"
	"handrail/guard/owner"
	"handrail/guard/text"
	"handrail/internal/config"
	"handrail/internal/store"
)

var approvalsCommand = subcommand{
	name:  "approvals",
	usage: "\n       handrail approvals list [--all] [--json] [--config FILE] [--principal NAME]\n       handrail approvals show [--json] ID\n       handrail approvals approve [--session | --always [--for DURATION]] ID...\n       handrail approvals deny ID...",
	short: "answer calls that wait for a person",
	doc: `A call that needs a person's approval, brought by a client that cannot ask one,
waits here. In a terminal, handrail approvals alone shows a live list: arrow keys
choose, Enter shows a call in full, and only there it can be approved.

approve lets exactly this call run once; --session for as long as its session
lasts; --always keeps the narrow rule that show prints, for 30 days or what --for
says. The agent must make the same call again: it then runs at once. A call that
was changed is asked about anew.

No command of an agent can do this: the guard denies it, and this program refuses
to be started by one.

--config names the configuration of a server. Where its principals have Unix users,
each has a list of its own: --principal NAME (as root, or as that user).`,
	run: approvals,
}

// desk is where waiting calls are answered: the store, and the log in which every
// answer is recorded first.
type desk struct {
	store *store.Store
	log   *audit.Log
	by    string
	// principals are those whom the configuration names.
	principals []string
}

// openDesk opens that of a configuration, which may not be had.
func openDesk(c *config.Config, err error) (*desk, error) {
	if err != nil {
		return nil, err
	}
	st, err := c.OpenStore()
	if err != nil {
		return nil, err
	}
	log, err := audit.Open(c.AuditLog())
	if err != nil {
		st.Close()
		return nil, err
	}
	d := &desk{store: st, log: log, by: "somebody", principals: slices.Sorted(maps.Keys(c.Principals))}
	if u, err := owner.User(); err == nil {
		d.by = u.Username
	}
	if by := os.Getenv(byVariable); by != "" {
		d.by = by + " as " + d.by
	}
	return d, nil
}

func (d *desk) close() {
	d.store.Close()
	d.log.Close()
}

// answer records the answer and then gives it.
func (d *desk) answer(id string, choice elicit.Choice, until time.Time) (store.Waiting, error) {
	ctx := context.Background()
	w, err := d.store.WaitingCall(ctx, id)
	if err == nil && w.State != store.Unanswered {
		err = store.ErrGone
	}
	if err != nil {
		return w, named(id, err)
	}
	r := &audit.Record{Event: audit.Answer, CallID: w.Question.ID, Tool: w.Question.Tool, Client: "handrail approvals", Session: w.Question.Session, Principal: w.Question.Principal,
		Digest: w.Question.Digest, Approval: string(elicit.Approved), Choice: string(choice), Channel: "approvals", TookMS: time.Since(w.Asked).Milliseconds(), Reason: id + " answered by " + d.by}
	if choice == elicit.Deny {
		r.Approval, r.Choice = string(elicit.Declined), ""
	}
	if err := d.log.Append(r); err != nil {
		return w, fmt.Errorf("what is not recorded is not approved: %w", err)
	}
	w, err = d.store.Answer(ctx, id, choice, d.by, until)
	if err != nil {
		r.Error, r.Approval = "the answer did not count: "+err.Error(), string(elicit.Unsupported)
		_ = d.log.Append(r)
	}
	return w, named(id, err)
}

// named says which record an error is about.
func named(id string, err error) error {
	if errors.Is(err, store.ErrGone) {
		return fmt.Errorf("no call waits as %s: it was answered, or its time is over (`handrail approvals list --all` shows what became of it)", text.Visible(id))
	}
	return err
}

func approvals(s streams, args []string) (int, error) {
	if err := byPerson(); err != nil {
		return 0, err
	}
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		f := newFlags("approvals")
		file, principal := f.String("config", "", ""), f.String("principal", "", "")
		if _, err := f.operands(args, 0, 0); err != nil {
			return 0, err
		}
		if !isTerminal(s.stdin) || !isTerminal(s.stdout) {
			return 0, usagef("the live list needs a terminal; `handrail approvals list` does not")
		}
		d, err := deskOf(*file, *principal)
		if err != nil {
			return 0, err
		}
		defer d.close()
		return 0, live(d, s.stdin.(*os.File), s.stdout.(*os.File))
	}
	return s.act("approvals", []verb{{"list", approvalsList.run}, {"show", approvalsShow}, {"approve", approvalsApprove}, {"deny", approvalsDeny}}, args)
}

var approvalsList = listing[store.Waiting]{name: "approvals list", empty: "nothing waits for you", find: (*store.Store).WaitingCalls,
	json: func(w store.Waiting) any { return jsonOf(w) },
	line: func(w store.Waiting) string {
		return strings.Join([]string{w.ID, standingOf(w), ago(w.Asked), oneLine(w.Client), headline(w)}, "\t")
	}}

// headline is a waiting call in one line.
func headline(w store.Waiting) string {
	line := []rune(oneLine(w.Question.Tool + "  " + w.Question.Command))
	if len(line) > 100 {
		return string(line[:100]) + "…"
	}
	return string(line)
}

func standingOf(w store.Waiting) string {
	if w.State == store.Unanswered {
		return "waits " + short(time.Until(w.Expires))
	}
	return string(w.State)
}

func ago(t time.Time) string { return short(time.Since(t)) + " ago" }

// short is a time in its largest unit.
func short(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	case d >= 2*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d >= 2*time.Minute:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return fmt.Sprintf("%ds", max(0, d/time.Second))
}

func approvalsShow(s streams, args []string) (int, error) {
	f := newFlags("approvals show")
	asJSON := f.Bool("json", false, "")
	d, rest, err := f.desk(args, 1, 1)
	if err != nil {
		return 0, err
	}
	defer d.close()
	w, err := d.store.WaitingCall(context.Background(), rest[0])
	if err != nil {
		return 0, named(rest[0], err)
	}
	if *asJSON {
		return 0, printJSON(s.stdout, jsonOf(w))
	}
	_, err = io.WriteString(s.stdout, described(w))
	return 0, err
}

// described is a waiting call in full, made visible.
func described(w store.Waiting) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  asked %s", w.ID, standingOf(w), ago(w.Asked))
	if w.Times > 1 {
		fmt.Fprintf(&b, ", %d times, last %s", w.Times, ago(w.Last))
	}
	if w.By != "" {
		fmt.Fprintf(&b, "; answered by %s: %s", oneLine(w.By), w.Choice)
	}
	b.WriteString("\n")
	who := []string{}
	for _, part := range [][2]string{{"client", w.Client}, {"over", w.Via}, {"session", w.Question.Session}, {"for", w.Question.Principal}} {
		if part[1] != "" {
			who = append(who, part[0]+" "+oneLine(part[1]))
		}
	}
	fmt.Fprintf(&b, "%s\n\n%s", strings.Join(who, ", "), w.Question.Message(text.Visible))
	return b.String()
}

func approvalsApprove(s streams, args []string) (int, error) {
	f := newFlags("approvals approve")
	file, principal := f.String("config", "", ""), f.String("principal", "", "")
	session, always, long := f.Bool("session", false, ""), f.Bool("always", false, ""), f.Duration("for", 0, "")
	rest, err := f.operands(args, 1, -1)
	if err != nil {
		return 0, err
	}
	choice := elicit.AllowOnce
	var until time.Time
	switch {
	case *session && *always:
		return 0, usagef("--session and --always exclude each other")
	case *long != 0 && !*always:
		return 0, usagef("--for goes with --always")
	case *long < 0:
		return 0, usagef("--for %v is no time", *long)
	case *session:
		choice = elicit.AllowSession
	case *always:
		choice = elicit.AllowAlways
		if *long > 0 {
			until = time.Now().Add(*long)
		}
	}
	return s.answers(*file, *principal, rest, choice, until)
}

func approvalsDeny(s streams, args []string) (int, error) {
	f := newFlags("approvals deny")
	file, principal := f.String("config", "", ""), f.String("principal", "", "")
	rest, err := f.operands(args, 1, -1)
	if err != nil {
		return 0, err
	}
	return s.answers(*file, *principal, rest, elicit.Deny, time.Time{})
}

// answers gives one answer to several calls. It stops at the first that cannot
// be answered.
func (s streams) answers(file, principal string, ids []string, choice elicit.Choice, until time.Time) (int, error) {
	d, err := deskOf(file, principal)
	if err != nil {
		return 0, err
	}
	defer d.close()
	for _, id := range slices.Compact(ids) {
		w, err := d.answer(id, choice, until)
		if err != nil {
			return 0, err
		}
		fmt.Fprintf(s.stdout, "%s: %s\n", id, became(w, choice))
	}
	return 0, nil
}

// became says what an answer means for the call.
func became(w store.Waiting, choice elicit.Choice) string {
	switch choice {
	case elicit.AllowOnce:
		return "approved: it runs when the agent makes the same call again within 10 minutes"
	case elicit.AllowSession:
		return "approved for its session: it runs whenever the agent makes the same call"
	case elicit.AllowAlways:
		return "always allowed: " + oneLine(w.Pattern.String()) + " (`handrail grants` lists and revokes it)"
	}
	return "denied: nothing runs"
}

// waitingJSON is the form of list --json and show --json.
type waitingJSON struct {
	ID        string      `json:"id"`
	State     store.State `json:"state"`
	Tool      string      `json:"tool"`
	Dir       string      `json:"dir"`
	Command   string      `json:"command"`
	Effects   []string    `json:"effects"`
	Reasons   []string    `json:"reasons"`
	AgentSays string      `json:"agent_says,omitempty"`
	Always    string      `json:"always,omitempty"` // what --always would keep
	Client    string      `json:"client"`
	Transport string      `json:"transport"`
	Session   string      `json:"session"`
	Principal string      `json:"principal,omitempty"`
	CallID    string      `json:"call_id"`
	Digest    string      `json:"digest"`
	Times     int64       `json:"times"`
	Asked     time.Time   `json:"asked"`
	Expires   time.Time   `json:"expires"`
	Choice    string      `json:"choice,omitempty"`
	By        string      `json:"by,omitempty"`
}

func jsonOf(w store.Waiting) waitingJSON {
	q := w.Question
	return waitingJSON{ID: w.ID, State: w.State, Tool: q.Tool, Dir: q.Dir, Command: q.Command, Effects: q.Effects, Reasons: q.Reasons, AgentSays: q.AgentSays, Always: q.Always,
		Client: w.Client, Transport: w.Via, Session: q.Session, Principal: q.Principal, CallID: q.ID, Digest: q.Digest, Times: w.Times, Asked: w.Asked, Expires: w.Expires, Choice: string(w.Choice), By: w.By}
}
