package store

import (
	"crypto/sha256"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestTokens(t *testing.T) {
	everywhere(t, func(t *testing.T, place string) {
		s, elsewhere := open(t, place), open(t, place)
		now := time.Now().Truncate(time.Millisecond)
		s.now, elsewhere.now = func() time.Time { return now }, func() time.Time { return now }
		sum := sha256.Sum256([]byte("secret"))
		for _, bad := range []Token{{}, {Name: "n", Principal: "p"}, {Name: "n", Principal: "p", Expires: now}, {Name: "n", Expires: now.Add(time.Hour)}} {
			if _, err := s.AddToken(t.Context(), bad, sum); err == nil {
				t.Errorf("%+v is kept", bad)
			}
		}
		made, err := s.AddToken(t.Context(), Token{Name: "laptop", Principal: "alice", Expires: now.Add(time.Hour)}, sum)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.AddToken(t.Context(), Token{Name: "laptop", Principal: "bob", Expires: now.Add(time.Hour)}, sha256.Sum256(nil)); err == nil || !strings.Contains(err.Error(), "another name") {
			t.Errorf("a name twice: %v", err)
		}
		if who, err := elsewhere.Bearer(t.Context(), sum); who.Principal != "alice" || err != nil {
			t.Errorf("%+v, %v", who, err)
		}
		if who, err := elsewhere.Bearer(t.Context(), sha256.Sum256([]byte("guess"))); who != (Token{}) || err == nil {
			t.Errorf("%+v, %v", who, err)
		}
		list, err := s.Tokens(t.Context(), false)
		for end := time.Now().Add(patience); err == nil && list[0].LastUsed.IsZero() && time.Now().Before(end); time.Sleep(lull / 10) { // it is noted later
			list, err = s.Tokens(t.Context(), false)
		}
		if err != nil || len(list) != 1 || list[0].ID != made.ID || !list[0].LastUsed.Equal(now) || !list[0].Expires.Equal(made.Expires) {
			t.Errorf("%+v, %v", list, err)
		}
		now = now.Add(time.Hour)
		if who, err := s.Bearer(t.Context(), sum); who != (Token{}) || err == nil {
			t.Errorf("expired: %+v, %v", who, err)
		}
		again := sha256.Sum256([]byte("another"))
		if _, err := s.AddToken(t.Context(), Token{Name: "laptop", Principal: "alice", Expires: now.Add(time.Hour)}, again); err != nil {
			t.Errorf("the name is free again: %v", err)
		}
		for range 2 { // the second time it is known
			if who, err := s.Bearer(t.Context(), again); who.Principal != "alice" || err != nil {
				t.Errorf("%+v, %v", who, err)
			}
		}
		if err := elsewhere.RevokeToken(t.Context(), "laptop"); err != nil {
			t.Error(err)
		}
		if who, err := s.Bearer(t.Context(), again); who != (Token{}) || err == nil {
			t.Errorf("revoked: %+v, %v", who, err)
		}
		if err := s.RevokeToken(t.Context(), "laptop"); !errors.Is(err, ErrGone) {
			t.Errorf("twice: %v", err)
		}
		if list, err = s.Tokens(t.Context(), true); err != nil || len(list) != 2 || list[0].Revoked.IsZero() {
			t.Errorf("%+v, %v", list, err)
		}
		// Whoever takes a token back by another way is found out by Holding.
		byHand := sha256.Sum256([]byte("by hand"))
		if made, err = s.AddToken(t.Context(), Token{Name: "desk", Principal: "alice", Expires: now.Add(time.Hour)}, byHand); err != nil {
			t.Fatal(err)
		}
		if who, err := s.Bearer(t.Context(), byHand); who.Principal != "alice" || err != nil {
			t.Errorf("%+v, %v", who, err)
		}
		if err := elsewhere.do(t.Context(), func(x *tx) error {
			_, err := x.exec("UPDATE handrail_tokens SET revoked = 1 WHERE id = ?", made.ID)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if ids, err := s.Holding(t.Context()); err != nil || ids[made.ID] {
			t.Errorf("%v, %v", ids, err)
		}
		if who, err := s.Bearer(t.Context(), byHand); who != (Token{}) || err == nil {
			t.Errorf("taken back by hand: %+v, %v", who, err)
		}
	})
}
