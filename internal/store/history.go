package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"time"

	"handrail/elicit"
	"handrail/guard"
)

// How much history is kept. It is for replay and suggest; the audit log forgets
// nothing.
const (
	historyMax = 5000
	historyFor = 90 * 24 * time.Hour
	detailMax  = 64 << 10 // bytes of facts and input of one decision
	batchMax   = 128
)

// lull is how long errands are gathered: a transaction costs a hundred times what
// one more statement in it does.
const lull = 250 * time.Millisecond

// errand is what is written when there is time: a note, or that a token was used.
type errand struct {
	note  Note
	token string
	used  int64 // ms
}

// Note is one decision on its way into the history. Call and Decision must not
// be changed afterwards.
type Note struct {
	At       time.Time
	CallID   string
	Call     *guard.EvalContext
	Decision *guard.Decision
	Approval elicit.Outcome // what became of the question; empty where nobody was asked
	Choice   elicit.Choice
}

// Past is one decision of the history.
type Past struct {
	At     time.Time
	CallID string
	// Call is the call as it was judged, its secrets taken out; nil where it was
	// too large to keep.
	Call     *guard.EvalContext
	Findings []guard.Finding
	// Judged is the verdict of the rules alone, Verdict what came of it.
	Judged, Verdict guard.Verdict
	Rule            string
	Digest          string
	Granted         bool
	Approval        elicit.Outcome
	Choice          elicit.Choice
	// Whole says that nothing was taken out: judging Call again says what the
	// rules would have said.
	Whole bool
}

// detail is what of a call is kept as JSON.
type detail struct {
	Input    json.RawMessage `json:"input,omitempty"`
	Roots    []string        `json:"roots,omitempty"`
	Facts    *guard.Facts    `json:"facts,omitempty"`
	Script   string          `json:"script,omitempty"`
	Findings []guard.Finding `json:"findings,omitempty"`
}

// Note adds a decision to the history, later and in the background. Where the
// store does not keep up, or cannot be written, the note is dropped: a decision
// never waits for its history.
func (s *Store) Note(n Note) {
	if s != nil && s.redact != nil && n.Call != nil && n.Decision != nil {
		s.later(errand{note: n})
	}
}

// later takes an errand, unless there are too many.
func (s *Store) later(e errand) {
	select {
	case s.errands <- e:
	default:
		return
	}
	if len(s.errands) >= batchMax {
		select {
		case s.many <- struct{}{}:
		default:
		}
	}
}

// write runs errands until the store is closed.
func (s *Store) write() {
	defer close(s.closed)
	for written := 0; ; {
		var batch []errand
		select {
		case e := <-s.errands:
			batch = append(batch, e)
			select {
			case <-time.After(lull):
			case <-s.many:
			case <-s.ended:
			}
		case <-s.ended:
		}
		for more := true; more && len(batch) < batchMax; {
			select {
			case e := <-s.errands:
				batch = append(batch, e)
			default:
				more = false
			}
		}
		if len(batch) == 0 { // only when it is to end
			return
		}
		_ = s.run(batch, written%100 < len(batch)) // what cannot be written is dropped
		written += len(batch)
	}
}

// run does errands in one transaction. What is kept of calls is made before it:
// others wait for who writes.
func (s *Store) run(batch []errand, prune bool) error {
	type entry struct {
		Note
		detail string
		whole  bool
	}
	var entries []entry
	for _, e := range batch {
		if n := e.note; n.Call != nil {
			kept, whole := s.detail(n.Call, n.Decision)
			entries = append(entries, entry{n, kept, whole})
			runtime.Gosched() // calls that wait for a processor go first
		}
	}
	return s.do(context.Background(), func(t *tx) error {
		for _, e := range batch {
			if e.token == "" {
				continue
			}
			if _, err := t.exec("UPDATE handrail_tokens SET last_used = ? WHERE id = ? AND last_used < ?", e.used, e.token, e.used); err != nil {
				return err
			}
		}
		for _, n := range entries {
			d, c := n.Decision, n.Call
			_, err := t.exec(`INSERT INTO handrail_history (at, call_id, tool, dir, principal, digest, judged, verdict, rule, granted, approval, choice, whole, detail)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, millis(n.At), n.CallID, c.ToolName, c.WorkingDir, c.Principal, d.Digest,
				judgedOf(d).String(), d.Verdict.String(), d.Rule, number(d.Granted), string(n.Approval), string(n.Choice), number(n.whole), n.detail)
			if err != nil {
				return err
			}
			runtime.Gosched()
		}
		if !prune || len(entries) == 0 {
			return nil
		}
		_, err := t.exec("DELETE FROM handrail_history WHERE at < ?", millis(s.now().Add(-historyFor)))
		pruned := map[string]bool{}
		for _, n := range entries { // of each principal, so that none drives out another's
			if who := n.Call.Principal; err == nil && !pruned[who] {
				pruned[who] = true
				_, err = t.exec("DELETE FROM handrail_history WHERE principal = ? AND id <= (SELECT id FROM handrail_history WHERE principal = ? ORDER BY id DESC LIMIT 1 OFFSET ?)",
					who, who, historyMax)
			}
		}
		return err
	})
}

// judgedOf is the verdict of the rules alone: without what the validator said,
// and without the question that the want of a sandbox makes.
func judgedOf(d *guard.Decision) guard.Verdict {
	if d.Validator != nil { // it is asked about nothing else
		return guard.VerdictLLM
	}
	v, found := guard.VerdictAllow, false
	for _, f := range d.Findings {
		if f.Rule != guard.UnheldRule && f.Overruled == "" {
			v, found = min(v, f.Verdict), true
		}
	}
	if !found {
		return d.Verdict
	}
	return v
}

// detail is what is kept of a call, and whether that is all of it.
func (s *Store) detail(c *guard.EvalContext, d *guard.Decision) (kept string, whole bool) {
	all := detail{Input: c.Input, Roots: c.Roots, Facts: c.Facts, Findings: d.Findings}
	if c.Facts != nil {
		all.Script = c.Facts.Script
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // what has no escapes is looked at as it stands
	if err := enc.Encode(all); err != nil || b.Len() > detailMax {
		return "", false
	}
	clean, whole := s.redact(b.Bytes())
	// PostgreSQL takes no NUL in a text, also not as an escape in one that is read as JSON later.
	if bytes.Contains(clean, []byte(`\u0000`)) {
		return "", false
	}
	return string(clean), whole
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// History lists the last n decisions since a time, the newest first. A negative
// n means all that are kept.
func (s *Store) History(ctx context.Context, since time.Time, n int) (list []Past, err error) {
	if n < 0 || n > historyMax {
		n = historyMax
	}
	err = s.do(ctx, func(t *tx) error {
		list, err = s.history(t, "WHERE at >= ? ORDER BY id DESC LIMIT ?", millis(since), n)
		return err
	})
	return list, err
}

// HistoryOf lists the last n decisions on calls of one principal.
func (s *Store) HistoryOf(ctx context.Context, principal string, n int) (list []Past, err error) {
	err = s.do(ctx, func(t *tx) error {
		list, err = s.history(t, "WHERE principal = ? ORDER BY id DESC LIMIT ?", principal, min(n, historyMax))
		return err
	})
	return list, err
}

func (s *Store) history(t *tx, where string, args ...any) (list []Past, err error) {
	rows, err := t.rows("SELECT at, call_id, tool, dir, principal, digest, judged, verdict, rule, granted, approval, choice, whole, detail FROM handrail_history "+where, args...)
	return list, each(rows, err, func() error {
		var p Past
		var c guard.EvalContext
		var at int64
		var judged, verdict, kept string
		var granted, whole int
		err := rows.Scan(&at, &p.CallID, &c.ToolName, &c.WorkingDir, &c.Principal, &p.Digest, &judged, &verdict, &p.Rule, &granted, &p.Approval, &p.Choice, &whole, &kept)
		if err != nil {
			return err
		}
		p.At, p.Granted, p.Whole = timeOf(at), granted == 1, whole == 1
		p.Judged, _ = guard.ParseVerdict(judged) // deny where it is none
		p.Verdict, _ = guard.ParseVerdict(verdict)
		if kept != "" {
			var d detail
			if err := json.Unmarshal([]byte(kept), &d); err != nil {
				return fmt.Errorf("history of %s: %w", p.CallID, err)
			}
			if d.Facts != nil {
				d.Facts.Script = d.Script
			}
			c.Input, c.Roots, c.Facts = d.Input, d.Roots, d.Facts
			p.Findings, p.Call = d.Findings, &c
		}
		list = append(list, p)
		return nil
	})
}

// Asked is the decision of the rules on a past call as far as a pattern looks at
// it: a question, with the findings that made it one.
func (p Past) Asked() *guard.Decision {
	d := &guard.Decision{Verdict: p.Judged, Findings: p.Findings, Digest: p.Digest}
	if d.Verdict == guard.VerdictLLM {
		d.Verdict = guard.VerdictAsk
	}
	return d
}

// Covered counts how many of its principal's last n calls the pattern would have answered;
// of is how many there were.
func (s *Store) Covered(ctx context.Context, p *guard.Pattern, n int) (covered, of int, err error) {
	list, err := s.HistoryOf(ctx, p.Principal, n)
	for _, past := range list {
		if past.Call != nil && past.Whole && p.Covers(past.Call, past.Asked()) {
			covered++
		}
	}
	return covered, len(list), err
}
