package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"handrail/guard"
)

// How long grants hold at most; Options say otherwise of alwaysFor.
const (
	alwaysFor  = 30 * 24 * time.Hour
	sessionFor = 24 * time.Hour   // where the session's end is not seen
	onceFor    = 10 * time.Minute // after the approval of a call that waits
)

// ErrGone says that there is no such record or grant, or that it was answered,
// revoked or expired before.
var ErrGone = errors.New("there is none such that is open")

// Kept is a grant as the store keeps it. Times are zero where they did not come.
type Kept struct {
	ID       string         `json:"id"`
	Scope    guard.Scope    `json:"scope"`
	Shown    string         `json:"shown"` // what was approved, in a clause; not made visible
	Tool     string         `json:"tool"`
	Dir      string         `json:"dir"`
	Pattern  *guard.Pattern `json:"pattern,omitempty"`
	Digest   string         `json:"digest,omitempty"`
	Session  string         `json:"session,omitempty"`
	By       string         `json:"by"`      // who approved it
	Channel  string         `json:"channel"` // how they were reached
	Created  time.Time      `json:"created"`
	Expires  time.Time      `json:"expires"`
	Used     int64          `json:"used"` // how often it answered
	LastUsed time.Time      `json:"last_used,omitzero"`
	Revoked  time.Time      `json:"revoked,omitzero"`

	Principal string `json:"principal,omitempty"`
}

// Holds reports whether the grant can still answer for a call.
func (k Kept) Holds(now time.Time) bool {
	return k.Revoked.IsZero() && now.Before(k.Expires) && (k.Scope != guard.Once || k.Used == 0)
}

// Keep records a grant. Its ID and the time of its making are set here, and it
// always expires.
func (s *Store) Keep(ctx context.Context, k Kept) (Kept, error) {
	err := s.do(ctx, func(t *tx) error {
		var err error
		k, err = s.keep(t, k)
		return err
	})
	return k, err
}

func (s *Store) keep(t *tx, k Kept) (Kept, error) {
	now := s.now()
	most := map[guard.Scope]time.Duration{guard.Once: onceFor, guard.Session: sessionFor, guard.Always: s.always}[k.Scope]
	k.ID, k.Created = newID(), now
	if k.Expires.IsZero() || k.Expires.After(now.Add(most)) {
		k.Expires = now.Add(most)
	}
	pattern := ""
	switch {
	case k.Scope == guard.Always && k.Pattern == nil, k.Scope != guard.Always && k.Digest == "", k.Scope == guard.Session && k.Session == "":
		return k, fmt.Errorf("a grant %q of nothing", k.Scope)
	case k.Scope == guard.Always:
		b, err := json.Marshal(k.Pattern)
		if err != nil {
			return k, err
		}
		pattern, k.Digest, k.Session, k.Principal = string(b), "", "", k.Pattern.Principal
		if k.Shown == "" {
			k.Shown = k.Pattern.String()
		}
	}
	_, err := t.exec(`INSERT INTO handrail_grants (id, scope, digest, session, principal, tool, dir, shown, pattern, created, expires, used, last_used, revoked, given_by, channel)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, ?, ?)`,
		k.ID, k.Scope.String(), k.Digest, k.Session, k.Principal, k.Tool, k.Dir, k.Shown, pattern, millis(now), millis(k.Expires), k.By, k.Channel)
	return k, err
}

const grantColumns = "id, scope, digest, session, principal, tool, dir, shown, pattern, created, expires, used, last_used, revoked, given_by, channel"

// Grants lists the grants that hold, newest first; with all also those that no
// longer do.
func (s *Store) Grants(ctx context.Context, all bool) (list []Kept, err error) {
	err = s.do(ctx, func(t *tx) error {
		list, err = s.grants(t, "ORDER BY created DESC, id LIMIT 1000")
		return err
	})
	if !all {
		now := s.now()
		list = slices.DeleteFunc(list, func(k Kept) bool { return !k.Holds(now) })
	}
	return list, err
}

func (s *Store) grants(t *tx, where string, args ...any) (list []Kept, err error) {
	rows, err := t.rows("SELECT "+grantColumns+" FROM handrail_grants "+where, args...)
	return list, each(rows, err, func() error {
		var k Kept
		var scope, pattern string
		var created, expires, last, revoked int64
		if err := rows.Scan(&k.ID, &scope, &k.Digest, &k.Session, &k.Principal, &k.Tool, &k.Dir, &k.Shown, &pattern, &created, &expires, &k.Used, &last, &revoked, &k.By, &k.Channel); err != nil {
			return err
		}
		if err := k.Scope.UnmarshalText([]byte(scope)); err != nil {
			return fmt.Errorf("grant %s: %w", k.ID, err)
		}
		if pattern != "" {
			k.Pattern = &guard.Pattern{}
			if err := json.Unmarshal([]byte(pattern), k.Pattern); err != nil {
				return fmt.Errorf("grant %s: %w", k.ID, err)
			}
		}
		k.Created, k.Expires, k.LastUsed, k.Revoked = timeOf(created), timeOf(expires), timeOf(last), timeOf(revoked)
		list = append(list, k)
		return nil
	})
}

// Revoke ends a grant at once, for every process. ErrGone where there is none
// that holds.
func (s *Store) Revoke(ctx context.Context, id string) error {
	now := millis(s.now())
	return s.do(ctx, func(t *tx) error {
		n, err := t.exec("UPDATE handrail_grants SET revoked = ? WHERE id = ? AND revoked = 0 AND expires > ?", now, id, now)
		if err == nil && n == 0 {
			err = ErrGone
		}
		return err
	})
}

// endSession forgets the grants of a session of a principal.
func (s *Store) endSession(ctx context.Context, principal, session string) error {
	return s.do(ctx, func(t *tx) error {
		_, err := t.exec("DELETE FROM handrail_grants WHERE scope = 'session' AND principal = ? AND session = ?", principal, session)
		return err
	})
}

// cover finds a grant that answers for the call and uses it. Which process
// spends a once grant is decided by the one UPDATE that still finds it unused.
func (s *Store) cover(ctx context.Context, c *guard.EvalContext, d *guard.Decision) (g guard.Grant, ok bool, err error) {
	now := millis(s.now())
	err = s.do(ctx, func(t *tx) error {
		g, ok = guard.Grant{}, false
		fits, err := s.grants(t, `WHERE revoked = 0 AND expires > ? AND principal = ? AND (digest = ? AND (scope = 'session' AND session = ? OR scope = 'once' AND used = 0) OR scope = 'always' AND tool = ? AND dir = ?)
			ORDER BY CASE scope WHEN 'session' THEN 0 WHEN 'always' THEN 1 ELSE 2 END, created LIMIT 500`, now, c.Principal, d.Digest, c.Session, c.ToolName, c.WorkingDir)
		if err != nil {
			return err
		}
		for _, k := range fits {
			if k.Scope == guard.Always && (d.Verdict != guard.VerdictAsk || !k.Pattern.Covers(c, d)) {
				continue
			}
			n, err := t.exec("UPDATE handrail_grants SET used = used + 1, last_used = ? WHERE id = ? AND revoked = 0 AND expires > ? AND (scope <> 'once' OR used = 0)", now, k.ID, now)
			if err != nil {
				return err
			}
			if n == 1 {
				g, ok = guard.Grant{ID: k.ID, Digest: k.Digest, Session: k.Session, Scope: k.Scope, Pattern: k.Pattern, Expires: k.Expires}, true
				return nil
			}
		}
		return nil
	})
	if err != nil { // also a commit that failed: then it was not spent
		return guard.Grant{}, false, err
	}
	return g, ok, nil
}

// Ledger answers ask by what people approved: in this process's memory what they
// answered through a channel of this process, in the store what was approved
// elsewhere or for always. The zero value covers nothing.
type Ledger struct {
	Store *Store
	// Honour reports whether what the store says may be believed: where commands
	// run with the user's own rights they could write it themselves. Nil means
	// that it may not.
	Honour func() bool
	// Principal is whose ledger it is: sessions of others may have the same name.
	Principal string

	here *guard.Grants
}

// NewLedger returns a ledger on s.
func NewLedger(s *Store, honour func() bool) *Ledger {
	return &Ledger{Store: s, Honour: honour, here: guard.NewGrants()}
}

// Honoured reports whether the store's grants count.
func (l *Ledger) Honoured() bool { return l != nil && l.Store != nil && l.Honour != nil && l.Honour() }

// Cover answers for a call; see guard.Ledger.
func (l *Ledger) Cover(ctx context.Context, c *guard.EvalContext, d *guard.Decision) (guard.Grant, bool, error) {
	if g, ok, err := l.here.Cover(ctx, c, d); ok || err != nil {
		return g, ok, err
	}
	if !l.Honoured() {
		return guard.Grant{}, false, nil
	}
	return l.Store.cover(ctx, c, d)
}

// Add records a grant that was given through a channel of this process.
func (l *Ledger) Add(g guard.Grant) error {
	if g.Scope != guard.Always {
		return l.here.Add(g)
	}
	if !l.Honoured() || g.Pattern == nil {
		return errors.New("an always grant can only be kept where the store is believed")
	}
	_, err := l.Store.Keep(context.Background(), Kept{Scope: guard.Always, Pattern: g.Pattern, Tool: g.Pattern.Tool, Dir: g.Pattern.Dir, Expires: g.Expires, By: "whoever was asked", Channel: "question"})
	return err
}

// EndSession forgets every grant of a session.
func (l *Ledger) EndSession(session string) error {
	err := l.here.EndSession(session)
	if l.Store != nil && session != "" {
		err = errors.Join(err, l.Store.endSession(context.Background(), l.Principal, session))
	}
	return err
}
