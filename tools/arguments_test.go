package tools

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// FuzzBind: what is bound is what any strict reader of JSON would have read,
// and every field of it was written exactly once.
func FuzzBind(f *testing.F) {
	for _, s := range []string{`{"command":"ls"}`, `{"command":"ls","timeout_ms":5,"cwd":null}`, `{"path":"a","content":"b"}`, `{"path":"a","offset":1e0}`,
		`{"path":"a","old_string":"x","new_string":"","replace_all":true}`, `{"command":"a","Command":"b"}`, `{"comm\u0061nd":"a"}`, `{"command":"a"}x`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		for _, tool := range []string{Bash, Read, Write, Edit} {
			req, err := bind(tool, input)
			if err != nil {
				continue
			}
			other := reflect.New(reflect.TypeOf(req).Elem()).Interface()
			dec := json.NewDecoder(bytes.NewReader(input))
			dec.DisallowUnknownFields()
			if err := dec.Decode(other); err != nil || !reflect.DeepEqual(req, other) {
				t.Fatalf("%s %s: bound %+v, another reader %+v %v", tool, input, req, other, err)
			}
			var fields map[string]json.RawMessage
			if err := json.Unmarshal(input, &fields); err != nil {
				t.Fatalf("%s %s: bound, but %v", tool, input, err)
			}
			depth, names := 0, 0
			for dec := json.NewDecoder(bytes.NewReader(input)); ; {
				tok, err := dec.Token()
				if err != nil {
					break
				}
				if d, ok := tok.(json.Delim); ok {
					depth += map[bool]int{true: 1, false: -1}[strings.ContainsRune("{[", rune(d))]
				}
				names++
			}
			if names != 2+2*len(fields) || depth != 0 {
				t.Fatalf("%s %s: %d tokens for %d fields", tool, input, names, len(fields))
			}
		}
	})
}
