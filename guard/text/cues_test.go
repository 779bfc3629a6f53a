package text

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// A look at a text finds what looking for each cue finds.
func TestCues(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	between := []string{"", "a", "K", "\u212a", "ß", "İ", " ", "-", "\xff", "x_", "s"}
	for _, f := range []*family{tokens, places, mine} {
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
		if found != f.cues().all {
			t.Errorf("not every shape was found: %b", found)
		}
	}
}
