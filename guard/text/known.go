package text

import (
	"encoding/base64"
	"math/bits"
	"net/url"
	"slices"
	"strings"
)

// Known are secrets whose values are known. A nil *Known knows the bearer tokens
// of Handrail itself, by their shape.
type Known struct {
	forms   []string
	begin   begins // forms[i] is in the set i%64
	replace *strings.Replacer
}

var ownToken = Pattern(own)

// shortest is the length in bytes below which a value is a word like any other.
const shortest = 8

// NewKnown knows values: as they are, in base64 wherever they stand in what was
// encoded, and as a URL has them. Values of less than 8 bytes are left out.
func NewKnown(values ...string) *Known {
	var forms []string
	for _, v := range values {
		if len(v) >= shortest {
			forms = append(forms, v, url.QueryEscape(v), url.PathEscape(v))
			forms = append(forms, encoded(v)...)
		}
	}
	slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) }) // the longest first
	k := &Known{forms: slices.Compact(forms)}
	var pairs []string
	for i, f := range k.forms {
		k.begin.add(f, 1<<(i%64))
		pairs = append(pairs, f, Removed)
	}
	k.replace = strings.NewReplacer(pairs...)
	return k
}

// Redact returns s with the values replaced by [redacted]. Anything else stays as
// it is, byte for byte.
func (k *Known) Redact(s string) string {
	if k != nil && k.in(s) {
		s = k.replace.Replace(s)
	}
	if strings.Contains(s, prefix) {
		s = ownToken().ReplaceAllString(s, Removed)
	}
	return s
}

// in reports whether one of the values is in s.
func (k *Known) in(s string) bool {
	for i := range len(s) - 2 {
		for sets := k.begin.at(s, i); sets != 0; sets &= sets - 1 {
			for n := bits.TrailingZeros64(sets); n < len(k.forms); n += 64 {
				if strings.HasPrefix(s[i:], k.forms[n]) {
					return true
				}
			}
		}
	}
	return false
}

// encoded is v in base64, after 0, 1 and 2 other bytes, without the characters
// that its neighbours have a part in.
func encoded(v string) (forms []string) {
	for before, skip := range []int{0, 2, 3} {
		raw := append(make([]byte, before), v...)
		whole := len(raw) * 8 / 6
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			forms = append(forms, enc.EncodeToString(raw)[skip:whole])
		}
	}
	return forms
}
