package text

import (
	"encoding/base64"
	"math/rand/v2"
	"net/url"
	"os"
	"strings"
	"testing"
)

// A known value does not come through, however it is encoded and wherever it
// stands.
func TestKnown(t *testing.T) {
	values := []string{"s3cret/with+signs=", "correct horse battery", "ümlaut-pässword", "12345678"}
	k := NewKnown(values...)
	for _, v := range values {
		for lead := range 5 {
			whole := strings.Repeat("x", lead) + v + "tail"
			for _, s := range []string{whole, base64.StdEncoding.EncodeToString([]byte(whole)), base64.URLEncoding.EncodeToString([]byte(whole)), url.QueryEscape(whole), url.PathEscape(whole)} {
				if got := k.Redact("before " + s + " after"); !strings.Contains(got, Removed) || !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") {
					t.Errorf("%q after %d bytes: %q", v, lead, got)
				}
			}
		}
	}
}

// Handrail's own tokens are taken out wherever they stand, also where nothing is
// known.
func TestOwnTokens(t *testing.T) {
	token := "hrt_" + strings.Repeat("aB3-_", 9)[:43]
	for _, redact := range []func(string) string{(*Known)(nil).Redact, NewKnown().Redact, Tokens, Redact} {
		if got := redact("a " + token + "\nb"); got != "a "+Removed+"\nb" {
			t.Error(got)
		}
	}
}

// Everything else comes through byte for byte: sources, binary data, words that
// secrets are called by.
func TestKnownLeavesTheRest(t *testing.T) {
	k := NewKnown("a-value-that-is-nowhere-here", "short")
	source, err := os.ReadFile("redact.go")
	if err != nil {
		t.Fatal(err)
	}
	binary := make([]byte, 1<<16)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range binary {
		binary[i] = byte(r.Uint32())
	}
	for _, s := range []string{"", "short", string(source), string(binary), "password=hunter2 token: abc", "hrt_short", "\x1b[31mred\x1b[0m\r\n\x00"} {
		if got := k.Redact(s); got != s {
			t.Errorf("%.40q was changed", s)
		}
	}
}
