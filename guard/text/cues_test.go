package text

import (
	"math/rand/v2"
	"regexp/syntax"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// A look at a text finds what looking for each cue finds.
func TestCues(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	between := []string{"", "a", "K", "\u212a", "ß", "\u017f", " ", "-", "\xff", "x_", "s"}
	for _, f := range []*family{bare(), all()} {
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
			want, low := uint64(0), strings.ToLower(other.Replace(s))
			for i, sh := range f.shapes {
				for _, cue := range sh.cues {
					if strings.Contains(low, cue) {
						want |= 1 << i
					}
				}
			}
			if got := f.cued(s); got != want {
				t.Fatalf("%q: %b, not %b", s, got, want)
			}
			found |= want
		}
		if found != 1<<len(f.shapes)-1 {
			t.Errorf("not every shape was found: %b", found)
		}
	}
}

// Of all letters that are not ASCII, other has those that fold to it.
func TestOther(t *testing.T) {
	for r := rune(utf8.RuneSelf); r <= unicode.MaxRune; r++ {
		want := string(r)
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			if f < utf8.RuneSelf {
				want = strings.ToLower(string(f))
			}
		}
		if got := other.Replace(string(r)); got != want {
			t.Errorf("%U: %q, not %q", r, got, want)
		}
	}
}

// What an expression matches has one of its cues.
func TestCuesOfMatches(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for i, sh := range all().shapes {
		tree, err := syntax.Parse(sh.re().String(), syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		matched := 0
		for range 1000 {
			var b strings.Builder
			match(r, &b, tree)
			if s := b.String(); sh.re().MatchString(s) {
				matched++
				if all().cued(s)>>i&1 == 0 {
					t.Fatalf("%s: %q has no cue", sh.re(), s)
				}
			}
		}
		if matched < 50 {
			t.Errorf("%s: %d matches", sh.re(), matched)
		}
	}
}

// match writes a text that the expression matches, but for what it says of places.
func match(r *rand.Rand, b *strings.Builder, re *syntax.Regexp) {
	least, most := 1, 1
	switch re.Op {
	case syntax.OpLiteral:
		for _, c := range re.Rune {
			for range r.IntN(4) {
				if re.Flags&syntax.FoldCase != 0 {
					c = unicode.SimpleFold(c)
				}
			}
			b.WriteRune(c)
		}
		return
	case syntax.OpCharClass:
		n := 2 * r.IntN(len(re.Rune)/2)
		b.WriteRune(re.Rune[n] + r.Int32N(min(re.Rune[n+1]-re.Rune[n]+1, 100)))
		return
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('x')
		return
	case syntax.OpAlternate:
		match(r, b, re.Sub[r.IntN(len(re.Sub))])
		return
	case syntax.OpStar:
		least, most = 0, 3
	case syntax.OpPlus:
		most = 3
	case syntax.OpQuest:
		least = 0
	case syntax.OpRepeat:
		least, most = re.Min, max(re.Max, re.Min+3)
	}
	for range least + r.IntN(most-least+1) {
		for _, sub := range re.Sub {
			match(r, b, sub)
		}
	}
}

// All that is looked for at once, and only where cues stand, is what each expression
// finds by itself, one after the other.
func TestAll(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	between := []string{"", "", " ", "=", ": ", "x-", "a", "_", "://u:", "@", "'", "\n", "-", "ü", "\xff"}
	some := func(list []string) string { return list[r.IntN(len(list))] }
	for _, sh := range all().shapes {
		tree, err := syntax.Parse(sh.re().String(), syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		for range 40 {
			var b strings.Builder
			for range 1 + r.IntN(3) {
				b.WriteString(some(between))
				match(r, &b, tree)
				b.WriteString(some(between) + some(all().shapes[r.IntN(len(all().shapes))].cues) + some(between) + strings.Repeat("aB3x", r.IntN(13)))
			}
			s := b.String()
			want := s
			for _, sh := range all().shapes {
				want = sh.re().ReplaceAllStringFunc(want, sh.removed)
			}
			if got := Redact(s); got != want {
				t.Fatalf("%q:\n%q, not\n%q", s, got, want)
			}
		}
	}
}

// BenchmarkManyCues is a text of 32 kB that consists of about the cues of one shape:
// one that is tried at each of them and fails late would take seconds.
func BenchmarkManyCues(b *testing.B) {
	r := rand.New(rand.NewPCG(11, 12))
	for _, sh := range all().shapes {
		if sh.at == nil {
			continue
		}
		tree, err := syntax.Parse(sh.re().String(), syntax.Perl)
		if err != nil {
			b.Fatal(err)
		}
		for _, after := range []string{"", " ", "-", ".", ":", "=\""} {
			var m strings.Builder
			match(r, &m, tree)
			unit := m.String()[:len(sh.cues[0])] + after // in letters that the expression takes
			s := strings.Repeat(unit, 32<<10/len(unit)) + " "
			b.Run(unit, func(b *testing.B) {
				for b.Loop() {
					Redact(s)
				}
			})
		}
	}
}
