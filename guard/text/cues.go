package text

import (
	"math/bits"
	"strings"
)

// family are shapes that are looked for together, one after the other: at most 64.
// A text is looked at once for the cues of all, since nearly every one has none, and
// all that is recorded is looked at.
type family struct {
	shapes []shape
	begin  begins // for each shape a bit, its cues in letters of both cases
}

func familyOf(shapes []shape) *family {
	f := &family{shapes: shapes}
	for i, sh := range shapes {
		for _, cue := range sh.cues {
			f.begin.add(cue, 1<<i)
			f.begin.add(strings.ToUpper(cue), 1<<i)
		}
	}
	return f
}

// redact takes out of s what the shapes match.
func (f *family) redact(s string) string {
	for set := f.cued(s); set != 0; set &= set - 1 {
		n := bits.TrailingZeros64(set)
		if sh := &f.shapes[n]; sh.at != nil && !hasOther(s) {
			s = f.redactCued(s, n)
		} else {
			s = sh.re().ReplaceAllStringFunc(s, sh.removed)
		}
	}
	return s
}

// other are the letters beside A to Z that an expression in any case takes for one
// of a to z.
var other = strings.NewReplacer("\u212a", "k", "\u017f", "s")

func hasOther(s string) bool {
	return strings.Contains(s, "\u212a") || strings.Contains(s, "\u017f")
}

// cued returns the shapes that have a cue in s, in letters of any case.
func (f *family) cued(s string) (set uint64) {
	if hasOther(s) {
		s = other.Replace(s)
	}
	for i := range len(s) - 2 {
		for may := f.begin.at(s, i) &^ set; may != 0; may &= may - 1 {
			if n := bits.TrailingZeros64(may); f.shapes[n].begins(s[i:]) {
				set |= 1 << n
			}
		}
	}
	return set
}

// redactCued is redact for one shape that has an at.
func (f *family) redactCued(s string, n int) string {
	sh, done := &f.shapes[n], 0
	var b strings.Builder
	for i := 0; i < len(s)-2; i++ {
		if f.begin.at(s, i)>>n&1 == 0 || !sh.begins(s[i:]) || sh.word && i > 0 && inWord(s[i-1]) {
			continue
		}
		if m := sh.at().FindString(s[i:]); m != "" {
			b.WriteString(s[done:i] + sh.removed(m))
			done = i + len(m)
			i = done - 1
		}
	}
	return b.String() + s[done:]
}

// inWord reports whether b belongs to a word, as \b has it.
func inWord(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}

// begins reports whether s begins with a cue, in letters of any case.
func (sh *shape) begins(s string) bool {
	for _, cue := range sh.cues {
		if folds(s, cue) {
			return true
		}
	}
	return false
}

// folds reports whether s begins with text, which is in lower case, in letters of
// any case.
func folds(s, text string) bool {
	if len(s) < len(text) {
		return false
	}
	for i := range len(text) {
		b := s[i]
		if 'A' <= b && b <= 'Z' {
			b += 'a' - 'A'
		}
		if b != text[i] {
			return false
		}
	}
	return true
}

// begins says which of 64 sets of texts may have one that begins at a place: for
// the first, second and third byte there, the sets that have a text with it.
type begins [3][256]uint64

// add puts a text of three bytes or more into sets.
func (b *begins) add(text string, sets uint64) {
	for i := range b {
		b[i][text[i]] |= sets
	}
}

// at is about the text that begins at s[i], of three bytes or more.
func (b *begins) at(s string, i int) (sets uint64) {
	return b[0][s[i]] & b[1][s[i+1]] & b[2][s[i+2]]
}
