package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"handrail/elicit"
	"handrail/guard"
)

const (
	// waitFor is how long a call waits for a person, unless Options say otherwise.
	waitFor = time.Hour
	// waitingMax is how many calls of one principal wait at once; it keeps an agent that varies
	// its calls from burying the one that matters.
	waitingMax = 100
	// keptFor is how long an answered or expired record can still be looked at.
	keptFor = 24 * time.Hour
)

// ErrFull says that too many calls wait already.
var ErrFull = errors.New("too many calls wait for an answer already")

// State is what became of a call that waits.
type State string

// The states of a call that waits.
const (
	Unanswered State = "open"
	Approved   State = "approved"
	Denied     State = "denied"
	Expired    State = "expired"
)

// Waiting is a call that was asked about where nobody could answer: the record
// that a person answers elsewhere. The same call (digest) has one record.
type Waiting struct {
	ID       string
	Question elicit.Question
	Pattern  *guard.Pattern // what always would cover; nil where it cannot be offered
	Client   string
	Via      string // the transport
	Asked    time.Time
	Last     time.Time // when it was called again
	Times    int64     // how often it was called
	Expires  time.Time
	State    State
	Choice   elicit.Choice // once answered
	Answered time.Time
	By       string
}

// Leave records that a call waits, and returns its record: the one that is there
// where the same call waits already, or was denied not long ago.
func (s *Store) Leave(ctx context.Context, w Waiting) (Waiting, error) {
	question, err := json.Marshal(w.Question)
	if err != nil || w.Question.Digest == "" {
		return w, errors.Join(errors.New("store: a record of no call"), err)
	}
	pattern, err := json.Marshal(w.Pattern)
	if err != nil {
		return w, fmt.Errorf("store: %w", err)
	}
	err = s.do(ctx, func(t *tx) error {
		now := s.now()
		if _, err := t.exec("DELETE FROM handrail_pending WHERE expires < ?", millis(now.Add(-keptFor))); err != nil {
			return err
		}
		have, err := s.waiting(t, "WHERE digest = ?", w.Question.Digest)
		if err != nil {
			return err
		}
		if len(have) == 1 && (have[0].State == Denied && now.Before(have[0].Expires) || have[0].State == Unanswered) {
			w = have[0]
			w.Times, w.Last = w.Times+1, now
			if w.State == Unanswered {
				w.Expires = now.Add(s.wait)
			}
			_, err := t.exec("UPDATE handrail_pending SET times = ?, last = ?, expires = ? WHERE digest = ?", w.Times, millis(w.Last), millis(w.Expires), w.Question.Digest)
			return err
		}
		var open int
		if err := t.row("SELECT count(*) FROM handrail_pending WHERE state = 'open' AND expires > ? AND principal = ?", millis(now), w.Question.Principal).Scan(&open); err != nil {
			return err
		}
		if open >= waitingMax {
			return ErrFull
		}
		// Another process may leave the same call at this moment: its record stays.
		if _, err = t.exec(`INSERT INTO handrail_pending (principal, digest, id, question, pattern, client, transport, asked, last, times, expires, state, choice, answered, answered_by)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, 'open', '', 0, '')
			ON CONFLICT (digest) DO UPDATE SET id = excluded.id, question = excluded.question, pattern = excluded.pattern, client = excluded.client, transport = excluded.transport,
				asked = excluded.asked, last = excluded.last, times = 1, expires = excluded.expires, state = 'open', choice = '', answered = 0, answered_by = ''
			WHERE handrail_pending.state <> 'open' OR handrail_pending.expires <= excluded.asked`,
			w.Question.Principal, w.Question.Digest, newID(), string(question), string(pattern), w.Client, w.Via, millis(now), millis(now), millis(now.Add(s.wait))); err != nil {
			return err
		}
		if have, err = s.waiting(t, "WHERE digest = ?", w.Question.Digest); err == nil && len(have) == 1 {
			w = have[0]
		}
		return err
	})
	return w, err
}

// WaitingCalls lists the calls that wait, the oldest first; with all also those
// that were answered or expired within a day.
func (s *Store) WaitingCalls(ctx context.Context, all bool) (list []Waiting, err error) {
	err = s.do(ctx, func(t *tx) error {
		list, err = s.waiting(t, "ORDER BY asked, id LIMIT 1000")
		return err
	})
	if !all {
		list = slices.DeleteFunc(list, func(w Waiting) bool { return w.State != Unanswered })
	}
	return list, err
}

// WaitingCall is the record with this ID; ErrGone where there is none.
func (s *Store) WaitingCall(ctx context.Context, id string) (w Waiting, err error) {
	err = s.do(ctx, func(t *tx) error {
		list, err := s.waiting(t, "WHERE id = ?", id)
		if err == nil && len(list) == 0 {
			return ErrGone
		}
		if err == nil {
			w = list[0]
		}
		return err
	})
	return w, err
}

func (s *Store) waiting(t *tx, where string, args ...any) (list []Waiting, err error) {
	rows, err := t.rows("SELECT id, question, pattern, client, transport, asked, last, times, expires, state, choice, answered, answered_by FROM handrail_pending "+where, args...)
	now := s.now()
	return list, each(rows, err, func() error {
		var w Waiting
		var question, pattern string
		var asked, last, expires, answered int64
		if err := rows.Scan(&w.ID, &question, &pattern, &w.Client, &w.Via, &asked, &last, &w.Times, &expires, &w.State, &w.Choice, &answered, &w.By); err != nil {
			return err
		}
		if err := errors.Join(json.Unmarshal([]byte(question), &w.Question), json.Unmarshal([]byte(pattern), &w.Pattern)); err != nil {
			return fmt.Errorf("record %s: %w", w.ID, err)
		}
		w.Asked, w.Last, w.Expires, w.Answered = timeOf(asked), timeOf(last), timeOf(expires), timeOf(answered)
		if w.State == Unanswered && !now.Before(w.Expires) {
			w.State = Expired
		}
		list = append(list, w)
		return nil
	})
}

// Answer answers the call that waits under this ID: of several answers the first
// counts, the others get ErrGone. An approval becomes a grant. until bounds an
// always grant; zero means the longest.
func (s *Store) Answer(ctx context.Context, id string, choice elicit.Choice, by string, until time.Time) (w Waiting, err error) {
	scope, state := guard.Once, Approved
	switch choice {
	case elicit.AllowOnce:
	case elicit.AllowSession:
		scope = guard.Session
	case elicit.AllowAlways:
		scope = guard.Always
	case elicit.Deny:
		state = Denied
	default:
		return w, fmt.Errorf("store: %q is no answer", choice)
	}
	err = s.do(ctx, func(t *tx) error {
		list, err := s.waiting(t, "WHERE id = ?", id)
		if err != nil {
			return err
		}
		if len(list) == 0 || list[0].State != Unanswered {
			return ErrGone
		}
		w = list[0]
		if scope != guard.Once && w.Question.Once {
			return errors.New("this call has more power than its sandbox gives: approve it once")
		}
		if scope == guard.Always && w.Pattern == nil {
			return errors.New("no rule can be made of this call: approve it once or for the session")
		}
		if scope == guard.Session && w.Question.Session == "" {
			return errors.New("this call belongs to no session: approve it once")
		}
		now := s.now()
		w.State, w.Choice, w.Answered, w.By = state, choice, now, by
		n, err := t.exec("UPDATE handrail_pending SET state = ?, choice = ?, answered = ?, answered_by = ? WHERE id = ? AND state = 'open' AND expires > ?",
			string(state), string(choice), millis(now), by, id, millis(now))
		if err == nil && n == 0 {
			err = ErrGone
		}
		if err != nil {
			return err
		}
		outcome := elicit.Declined
		if state == Approved {
			outcome = elicit.Approved
			k := Kept{Scope: scope, Digest: w.Question.Digest, Shown: w.Question.Command, Tool: w.Question.Tool, Dir: w.Question.Dir, By: by, Channel: "approvals", Principal: w.Question.Principal}
			if scope == guard.Session {
				k.Session = w.Question.Session
			}
			if scope == guard.Always {
				k.Pattern, k.Shown, k.Expires = w.Pattern, "", until
			}
			if _, err := s.keep(t, k); err != nil {
				return err
			}
		}
		_, err = t.exec("UPDATE handrail_history SET approval = ?, choice = ? WHERE digest = ? AND at >= ? AND approval IN ('unsupported', 'no_answer')",
			string(outcome), string(choice), w.Question.Digest, millis(w.Asked.Add(-time.Minute)))
		return err
	})
	return w, err
}
