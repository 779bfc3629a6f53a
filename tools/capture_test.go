package tools

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestEscapesAreLeftOut(t *testing.T) {
	for in, want := range map[string]string{
		"plain":              "plain",
		"\x1b[31mred\x1b[0m": "red",
		"\x1b]0;title\x07x":  "x",
		"\x1b]8;;http://e\x1b\\link\x1b]8;;\x1b\\": "link",
		"\x1b(Ba":                   "a",
		"\x1b7a\x1b8":               "a",
		"\x1bPq#0\x1b\\b":           "b",
		"a\x1b]unended\nnext line":  "a\nnext line",
		"\x1b[1;\x1b[2Kx":           "x",
		"\x1b\x1b[1mx":              "x",
		"\x1b]a\x1b[31mx":           "x",
		"nul\x00bel\a":              "nul␀bel␇",
		"50%\r100%\n":               "50%\r100%\n",
		"\u202egnp\u202c\U000E0041": `\u{202e}gnp\u{202c}\u{e0041}`,
		"שלום 👩\u200d💻 é":           "שלום 👩\u200d💻 é",
		"bad \xff utf8":             "bad \uFFFD utf8",
	} {
		var whole, bytewise capture
		whole.Write([]byte(in))
		for i := range len(in) {
			bytewise.Write([]byte{in[i]})
		}
		a, _ := whole.Text()
		b, _ := bytewise.Text()
		if a != want || b != want {
			t.Errorf("%q: got %q at once, %q byte by byte; want %q", in, a, b, want)
		}
	}
}

// FuzzCapture: however a stream is cut into writes, the same is kept; it is
// valid UTF-8 without escapes, and not longer than head, tail and mark.
func FuzzCapture(f *testing.F) {
	f.Add([]byte("a\x1b[31mb"), 3)
	f.Add(bytes.Repeat([]byte("漢字\n"), 9000), 1000)
	f.Fuzz(func(t *testing.T, in []byte, step int) {
		if len(in) < 1<<16 {
			in = bytes.Repeat(in, 1+(1<<16)/(len(in)+1))
		}
		step = 1 + (step&0x7fffffff)%len(append(in, 0))
		var whole, parts capture
		whole.Write(in)
		for b := in; len(b) > 0; b = b[min(step, len(b)):] {
			parts.Write(b[:min(step, len(b))])
		}
		a, cutA := whole.Text()
		b, cutB := parts.Text()
		if a != b || cutA != cutB {
			t.Fatalf("at once %d bytes, in parts %d bytes", len(a), len(b))
		}
		if !utf8.ValidString(a) || strings.ContainsRune(a, 0x1b) || len(a) > 3*(headBytes+tailBytes)+200 {
			t.Fatalf("%d bytes, valid %v", len(a), utf8.ValidString(a))
		}
	})
}
