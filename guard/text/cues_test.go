package text

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// A look at a text finds what looking for each cue finds.
func TestCues(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	between := []string{"", "a", "K", "\u212a", "ß", "İ", " ", "-", "\xff", "x_", "s"}
	for _, f := range []*family{tokens, places, all} {
		found := uint64(0)
		for range 20000 {
			var b strings.Builder
			for range r.IntN(6) {
				cue := "nothing"
				if sh := f.shapes[r.IntN(len(f.shapes))]; r.IntN(3) > 0 {
					cue = sh.cues[r.IntN(len(sh.cues))]
				}
				if r.IntN(2) == 0 {
					cue = strings.ToUpper(cue)
				}
				b.WriteString(cue[:len(cue)-r.IntN(2)] + between[r.IntN(len(between))])
			}
			s := b.String()
			want := uint64(0)
			for i, sh := range f.shapes {
				for _, cue := range sh.cues {
					if strings.Contains(strings.ToLower(s), cue) {
						want |= 1 << i
					}
				}
			}
			if got := f.cues().in(s); got != want {
				t.Fatalf("%q: %b, not %b", s, got, want)
			}
			found |= want
		}
		if found != 1<<len(f.shapes)-1 {
			t.Errorf("not every shape was found: %b", found)
		}
	}
}

// Two letters alone become ASCII in lower case without being it.
func TestASCII(t *testing.T) {
	for r := rune(utf8.RuneSelf); r <= unicode.MaxRune; r++ {
		want := string(r)
		if low := unicode.ToLower(r); low < utf8.RuneSelf {
			want = string(low)
		}
		if got := ascii.Replace(string(r)); got != want {
			t.Errorf("%U: %q, not %q", r, got, want)
		}
	}
}

// One look for tokens and places takes out what two do.
func TestAll(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	between := []string{"", " ", "=", ": ", "://u:", "@", "'", "\n", "-", "ü"}
	some := func(list []string) string { return list[r.IntN(len(list))] }
	for range 20000 {
		var b strings.Builder
		for range 1 + r.IntN(4) {
			cue := some(all.shapes[r.IntN(len(all.shapes))].cues)
			if r.IntN(2) == 0 {
				cue = strings.ToUpper(cue)
			}
			b.WriteString(some(between) + cue + some(between) + strings.Repeat("aB3x", r.IntN(13)))
		}
		if s := b.String(); Redact(s) != places.redact(tokens.redact(s)) {
			t.Fatalf("%q:\n%q, not\n%q", s, Redact(s), places.redact(tokens.redact(s)))
		}
	}
}
