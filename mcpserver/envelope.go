package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// outer are the fields of a message and of its params or result that decide
// what is done. Go reads a field in any case, and the last of several; whoever
// watches the wire may read another one.
var outer = []string{"jsonrpc", "id", "method", "params", "result", "error",
	"name", "arguments", "_meta", "requestState", "inputResponses", "requestId", "action", "content"}

// ambiguous says which field of a message (valid JSON) can be read in two ways:
// it stands twice in its object, or in another case than it should; ofID, that
// it is the id. said is empty where there is none. The arguments of a tool are not looked into: tools reads those
// strictly.
func ambiguous(text []byte, m message) (said string, ofID bool) {
	if name, said := ambiguousIn(text); name != "" {
		return said, strings.EqualFold(name, "id")
	}
	for _, part := range [][]byte{m.Params, m.Result} {
		if name, said := ambiguousIn(part); name != "" {
			return said, false
		}
	}
	return "", false
}

// ambiguousIn names the first such field of one object; anything else has none.
func ambiguousIn(object []byte) (name, said string) {
	dec := json.NewDecoder(bytes.NewReader(object))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return "", ""
	}
	seen := map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return "", ""
		}
		name, _ := t.(string)
		if seen[name] {
			return name, fmt.Sprintf("the field %.100q is given more than once", name)
		}
		seen[name] = true
		for _, known := range outer {
			if name != known && strings.EqualFold(name, known) {
				return name, fmt.Sprintf("there is no field %.100q; it is written %q", name, known)
			}
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return "", ""
		}
	}
	return "", ""
}
