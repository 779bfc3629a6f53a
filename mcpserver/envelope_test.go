package mcpserver

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
)

// FuzzNames holds the names of fields against what the library's decoder reads.
func FuzzNames(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"a":1}`, ` { "a" : "b:c" , "d" : { "e" : [ { "f" : 1 } ] } , "g" : "\\\"h\":1" } `, `[{"a":1}]`, `"a:b"`, `null`, `1`,
		`{"a\\":1,"b\"":2,"\u0063":3,"":4,"a":5,"a":6}`, `{"a":[1,{"b":[]}],"c":{}}`, "{\"\xff\":1,\"\u00e9\":2}", `{"a":"\\\\"}`,
		`{"method":"tools/call","params":{"name":"safe_bash","arguments":{"command":"echo '{\"a\":1}'"}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, object []byte) {
		if !json.Valid(object) {
			return
		}
		got, want := slices.Collect(names(string(object))), decoded(object)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", object, got, want)
		}
	})
}

// decoded are the names of an object's fields as the decoder reads them.
func decoded(object []byte) (names []string) {
	dec := json.NewDecoder(bytes.NewReader(object))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for dec.More() {
		name, _ := dec.Token()
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return nil
		}
		names = append(names, name.(string))
	}
	return names
}

func BenchmarkParse(b *testing.B) {
	text := []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"safe_bash","arguments":{"command":"go test ./..."}}}`)
	b.ReportAllocs()
	for b.Loop() {
		if m, _, fault := parse(text); fault != nil || m.version() != "" {
			b.Fatal(fault)
		}
	}
}
