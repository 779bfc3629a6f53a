package audit

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

// decoded is redacted the plain way: names sorted, and of one that is there twice
// the last.
func decoded(raw json.RawMessage, short func(string) string) (kept json.RawMessage, whole bool) {
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	whole = dec.Decode(&v) == nil
	if _, err := dec.Token(); whole && err != io.EOF || !whole {
		v, whole = string(raw), false
	}
	var walk func(v any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case string:
			now := short(v)
			whole = whole && now == v
			return now
		case []any:
			for i := range v {
				v[i] = walk(v[i])
			}
		case map[string]any:
			for k, e := range v {
				v[k] = walk(e)
			}
		}
		return v
	}
	b, err := encode(walk(v))
	if err != nil {
		panic(err)
	}
	return b, whole
}

// Going over the strings keeps what decoding and encoding all of it keeps.
func FuzzRedactedKeeps(f *testing.F) {
	for _, raw := range []string{
		`{"command":"ls -l","timeout":120}`, `{"command":"echo a && echo \u003cb\u003e > c","n":[1,2.50,1E5,-0,null,true,false,{}]}`,
		`"x"`, `""`, `12`, `null`, `[]`, `{}`, ` { "b" : [ "hush" , "a" ] , "a" : { "hush" : "hush" } } `,
		`{"a":"say \"hush\"","b":"back\\","c":"\\\"hush","d":"\u0068ush","":"","e":"\\u0000 \u0000"}`,
		`{"a":"größe ✓ hush","ß":"\u00df","line":"` + "\u2028" + `\u2029","lone":"\ud800","pair":"\ud83d\ude00"}`,
		"{\"a\":\"\xff\",\"\xfe\":\"\xc3\",\"del\":\"\x7f\"}",
		`{"a":"hush","a":"b"}`, `{"a":"b","a":"hush"}`, `{"a":{"x":1},"a":{"y":"hush"}}`,
		`{"a":1} {"b":2}`, `{"a":1}]`, `{"a":1}}`, `"a" "b"`, `{"a":"hush"`, `hush`, ` `, `{"a":}`, `"\x"`, "\"a\nb\"", `[":",":hush:",{":":":"}]`,
	} {
		f.Add([]byte(raw))
	}
	hush := func(s string) string { return strings.ReplaceAll(s, "hush", `<"…">`) }
	same := func(s string) string { return s }
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) == 0 {
			return
		}
		kept, whole := redacted(raw, hush)
		want, wantWhole := decoded(raw, hush)
		want, _ = decoded(want, same) // what is no UTF-8 takes two times to settle
		if sorted, ok := decoded(kept, same); !ok || !bytes.Equal(sorted, want) {
			t.Errorf("%q: kept %q, not %q", raw, kept, want)
		}
		var tight bytes.Buffer
		if err := json.Compact(&tight, kept); err != nil || !bytes.Equal(tight.Bytes(), kept) || !utf8.Valid(kept) {
			t.Errorf("%q: kept %q, %v", raw, kept, err)
		}
		all, _ := redacted(raw, same)
		once, _ := decoded(raw, same)
		if repeats := len(all) != len(once); whole != wantWhole && (whole || !repeats) {
			t.Errorf("%q: kept %q, whole: %v", raw, kept, whole)
		}
	})
}

// A field that is there twice is kept twice, in the order in which it was sent: what
// was refused for it can be seen.
func TestRedactedTwice(t *testing.T) {
	kept, whole := Redacted(json.RawMessage(`{"b":"1", "a":"token=abcdefgh", "a":"2"}`))
	if string(kept) != `{"b":"1","a":"token=[redacted]","a":"2"}` || whole {
		t.Errorf("%s, %v", kept, whole)
	}
}
