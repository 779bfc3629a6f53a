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

// A value is found first wherever replacing changes something, also of many and
// beside bytes that are no UTF-8.
func TestKnownIn(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	word := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "abA\xc3\xa9"[r.IntN(5)]
		}
		return string(b)
	}
	for _, n := range []int{0, 1, 3, 40} {
		values := make([]string, n)
		for i := range values {
			values[i] = word(shortest + r.IntN(2))
		}
		k, found := NewKnown(values...), 0
		for range 20000 {
			s := word(r.IntN(40))
			if r.IntN(2) == 0 && n > 0 {
				v := values[r.IntN(n)]
				s += v[:len(v)-r.IntN(2)] + word(r.IntN(3))
			}
			want := k.replace.Replace(s)
			if got := k.Redact(s); got != want || k.in(s) != (want != s) {
				t.Fatalf("%q of %d values: %q, not %q", s, n, got, want)
			}
			if want != s {
				found++
			}
		}
		if n > 0 && found < 1000 {
			t.Errorf("%d values were found %d times", n, found)
		}
	}
}

func BenchmarkKnown(b *testing.B) {
	k := NewKnown("3f2a9b1c-77aa-4c1e-9f0e", "correct horse battery staple")
	for name, s := range map[string]string{
		"short":   "/home/user/src/project/cmd/main.go",
		"nothing": strings.Repeat("ok  \thandrail/guard\t0.01s coverage of the token table: 12%\n", 500),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				k.Redact(s)
			}
		})
	}
}
