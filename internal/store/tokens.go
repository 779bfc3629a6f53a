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
	return s.do(ctx, func(x *tx) error {
		now := millis(s.now())
		n, err := x.exec("UPDATE handrail_tokens SET revoked = ? WHERE (id = ? OR name = ?) AND revoked = 0 AND expires > ?", now, name, name, now)
		if err == nil && n == 0 {
			err = ErrGone
		}
		return err
	})
}

// Bearer returns whose token has this SHA-256. An error says that there is none,
// or that the store cannot tell.
func (s *Store) Bearer(ctx context.Context, sum [sha256.Size]byte) (principal string, err error) {
	err = s.do(ctx, func(x *tx) error {
		var id string
		var expires, revoked, used int64
		row := x.row("SELECT id, principal, expires, revoked, last_used FROM handrail_tokens WHERE sum = ?", hex.EncodeToString(sum[:]))
		if err := row.Scan(&id, &principal, &expires, &revoked, &used); err != nil {
			return fmt.Errorf("no such token: %w", err)
		}
		now := s.now()
		if revoked != 0 || !timeOf(expires).After(now) {
			principal = ""
			return fmt.Errorf("token %s has ended", id)
		}
		if now.Sub(timeOf(used)) < time.Minute {
			return nil
		}
		_, err := x.exec("UPDATE handrail_tokens SET last_used = ? WHERE id = ?", millis(now), id)
		return err
	})
	if err != nil {
		return "", err
	}
	return principal, nil
}
