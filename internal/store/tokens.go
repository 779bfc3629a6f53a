package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// Token is a bearer token as it is kept: by its SHA-256, never itself.
type Token struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"` // what a person calls it
	Principal string    `json:"principal"`
	Created   time.Time `json:"created"`
	Expires   time.Time `json:"expires"`
	Revoked   time.Time `json:"revoked,omitzero"`
	LastUsed  time.Time `json:"last_used,omitzero"` // to the minute
}

// tokensMax is how many tokens there can be.
const tokensMax = 10000

// AddToken keeps a token. Name, Principal and Expires must be set; a name is
// used once among those that hold.
func (s *Store) AddToken(ctx context.Context, t Token, sum [sha256.Size]byte) (Token, error) {
	now := s.now()
	if t.Name == "" || t.Principal == "" || !t.Expires.After(now) {
		return t, errors.New("store: a token needs a name, a principal and a time at which it ends")
	}
	t.ID, t.Created, t.Revoked, t.LastUsed = newID(), now, time.Time{}, time.Time{}
	err := s.do(ctx, func(x *tx) error {
		var same, all int
		if err := x.row("SELECT count(*) FROM handrail_tokens WHERE name = ? AND revoked = 0 AND expires > ?", t.Name, millis(now)).Scan(&same); err != nil {
			return err
		}
		if err := x.row("SELECT count(*) FROM handrail_tokens").Scan(&all); err != nil {
			return err
		}
		switch {
		case same > 0:
			return fmt.Errorf("a token called %q holds already: revoke it, or take another name", t.Name)
		case all >= tokensMax:
			return fmt.Errorf("there are %d tokens, and more are not kept", all)
		}
		_, err := x.exec("INSERT INTO handrail_tokens (id, name, principal, sum, created, expires, revoked, last_used) VALUES (?, ?, ?, ?, ?, ?, 0, 0)",
			t.ID, t.Name, t.Principal, hex.EncodeToString(sum[:]), millis(t.Created), millis(t.Expires))
		return err
	})
	return t, err
}

// Tokens returns those that hold, and with all the others too, newest first.
func (s *Store) Tokens(ctx context.Context, all bool) (list []Token, err error) {
	where, args := " WHERE revoked = 0 AND expires > ?", []any{millis(s.now())}
	if all {
		where, args = "", nil
	}
	err = s.do(ctx, func(x *tx) error {
		list = nil
		rows, err := x.rows("SELECT id, name, principal, created, expires, revoked, last_used FROM handrail_tokens"+where+" ORDER BY created DESC, id", args...)
		return each(rows, err, func() error {
			var t Token
			var created, expires, revoked, used int64
			err := rows.Scan(&t.ID, &t.Name, &t.Principal, &created, &expires, &revoked, &used)
			t.Created, t.Expires, t.Revoked, t.LastUsed = timeOf(created), timeOf(expires), timeOf(revoked), timeOf(used)
			list = append(list, t)
			return err
		})
	})
	return list, err
}

// RevokeToken ends a token, named by its id or its name, for every server at
// once. The error is ErrGone where none holds.
func (s *Store) RevokeToken(ctx context.Context, name string) error {
	err := s.do(ctx, func(x *tx) error {
		now := millis(s.now())
		n, err := x.exec("UPDATE handrail_tokens SET revoked = ? WHERE (id = ? OR name = ?) AND revoked = 0 AND expires > ?", now, name, name, now)
		if err == nil && n == 0 {
			err = ErrGone
		}
		return err
	})
	if err == nil {
		err = s.fault(s.touch())
	}
	return err
}

const bearerQuery = "SELECT id, principal, expires, revoked, last_used FROM handrail_tokens WHERE sum = ?"

// known is a token that was found to hold.
type known struct {
	Token
	asked   time.Time
	touched int64 // of the file, before it was asked
}

// knownFor is for how long a token is not asked for again: its use is noted to the
// minute. It ends with any RevokeToken, and where Holding does not list it.
const knownFor = time.Minute

// Bearer returns the token that has this SHA-256: its ID, Principal and Expires.
// An error says that there is none that holds, or that the store cannot tell. It
// is asked at every request, so it waits for nobody who writes, and a file is
// asked only where it may say something else than before; that the token was used
// is noted later.
func (s *Store) Bearer(ctx context.Context, sum [sha256.Size]byte) (Token, error) {
	touched, err := s.there()
	if err != nil {
		return Token{}, s.fault(err)
	}
	now := s.now()
	if v, ok := s.known.Load(sum); ok {
		if k := v.(*known); k.touched == touched && now.Sub(k.asked).Abs() < knownFor && k.Expires.After(now) {
			return k.Token, nil
		}
		s.known.Delete(sum)
	}
	var t Token
	var expires, revoked, used int64
	err = s.prompt(ctx, func(ctx context.Context) error {
		return s.bearer.QueryRowContext(ctx, hex.EncodeToString(sum[:])).Scan(&t.ID, &t.Principal, &expires, &revoked, &used)
	})
	if err != nil {
		return Token{}, fmt.Errorf("no such token: %w", err)
	}
	if t.Expires = timeOf(expires); revoked != 0 || !t.Expires.After(now) {
		return Token{}, fmt.Errorf("token %s has ended", t.ID)
	}
	if at := millis(now); at-used >= knownFor.Milliseconds() {
		s.later(errand{token: t.ID, used: at})
	}
	if !s.pg { // what another process does to a database is not seen
		s.known.Store(sum, &known{t, now, touched})
	}
	return t, nil
}

// Holding returns the ids of the tokens that hold now. Of others nothing is
// remembered, whoever ended them.
func (s *Store) Holding(ctx context.Context) (ids map[string]bool, err error) {
	err = s.look(ctx, func(x *tx) error {
		ids = map[string]bool{}
		rows, err := x.rows("SELECT id FROM handrail_tokens WHERE revoked = 0 AND expires > ?", millis(s.now()))
		return each(rows, err, func() error {
			var id string
			err := rows.Scan(&id)
			ids[id] = true
			return err
		})
	})
	s.known.Range(func(sum, v any) bool {
		if err != nil || !ids[v.(*known).ID] {
			s.known.Delete(sum)
		}
		return true
	})
	return ids, err
}
