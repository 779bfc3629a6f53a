package text

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
)

// Known are secrets whose values are known. A nil *Known knows the bearer tokens
// of Handrail itself, by their shape.
type Known struct {
	forms *strings.Replacer
}

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
	var pairs []string
	for _, f := range slices.Compact(forms) {
		pairs = append(pairs, f, Removed)
	}
	return &Known{strings.NewReplacer(pairs...)}
}

// Redact returns s with the values replaced by [redacted]. Anything else stays as
// it is, byte for byte.
func (k *Known) Redact(s string) string {
	if k != nil {
		s = k.forms.Replace(s)
	}
	return mine.redact(s)
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
