package store

import (
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"handrail/guard"
	"handrail/guard/audit"
)

func benchStore(b *testing.B) *Store {
	s, err := Open(context.Background(), Options{Place: filepath.Join(b.TempDir(), "store.db"), Redact: redact})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

// BenchmarkNote is what a decision pays for its history.
func BenchmarkNote(b *testing.B) {
	s := benchStore(b)
	c, d := call("mytool build")
	for b.Loop() {
		s.Note(Note{At: time.Now(), Call: c, Decision: d})
	}
}

// BenchmarkDetail is what that is in the background, but for the database.
func BenchmarkDetail(b *testing.B) {
	s := &Store{redact: audit.Redacted}
	c, d := call("cd cmd && go test ./... 2>&1 | grep -v '^ok' > /tmp/out.txt")
	c.Facts.Commands = slices.Repeat(c.Facts.Commands, 3)
	c.Facts.Effects = slices.Repeat(c.Facts.Effects, 6)
	for b.Loop() {
		if kept, whole := s.detail(c, d); kept == "" || !whole {
			b.Fatal(kept, whole)
		}
	}
}

// BenchmarkCover is what a call that asks pays to look for a grant, among 100
// always grants of its directory of which none fits.
func BenchmarkCover(b *testing.B) {
	s := benchStore(b)
	l := NewLedger(s, believed)
	for i := range 100 {
		p, err := guard.PatternOf(call(fmt.Sprintf("mytool x%d", i)))
		if err == nil {
			err = l.Add(guard.Grant{Scope: guard.Always, Pattern: p})
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	c, d := call("mytool build")
	for b.Loop() {
		if _, ok, err := l.Cover(context.Background(), c, d); ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

// BenchmarkPreview is what a question pays for "would have covered 14 of your
// last 200 calls".
func BenchmarkPreview(b *testing.B) {
	s := benchStore(b)
	c, d := call("mytool build")
	batch := make([]Note, 1000)
	for i := range batch {
		batch[i] = Note{At: time.Now(), Call: c, Decision: d}
	}
	if err := s.writeNotes(batch, false); err != nil {
		b.Fatal(err)
	}
	p, err := guard.PatternOf(c, d)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if n, of, err := s.Covered(context.Background(), p, 200); n != 200 || of != 200 || err != nil {
			b.Fatal(n, of, err)
		}
	}
}

// BenchmarkBearer is what every request with a token pays, while the history of
// others is written.
func BenchmarkBearer(b *testing.B) {
	s := benchStore(b)
	sum := sha256.Sum256([]byte("secret"))
	if _, err := s.AddToken(b.Context(), Token{Name: "n", Principal: "p", Expires: time.Now().Add(time.Hour)}, sum); err != nil {
		b.Fatal(err)
	}
	ended := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		c, d := call("mytool build")
		for {
			select {
			case <-ended:
				return
			case <-time.After(time.Millisecond):
				s.Note(Note{At: time.Now(), Call: c, Decision: d})
			}
		}
	})
	b.Cleanup(func() { close(ended); wg.Wait() })
	for b.Loop() {
		if _, err := s.Bearer(b.Context(), sum); err != nil {
			b.Fatal(err)
		}
	}
}
