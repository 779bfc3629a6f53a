package mcpserver

import (
	"fmt"
	"iter"
	"strings"

	"handrail/internal/jsonstring"
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
	if name, said := ambiguousIn(string(text)); name != "" {
		return said, strings.EqualFold(name, "id")
	}
	for _, part := range [][]byte{m.Params, m.Result} {
		if name, said := ambiguousIn(string(part)); name != "" {
			return said, false
		}
	}
	return "", false
}

// ambiguousIn names the first such field of one object; anything else has none.
func ambiguousIn(object string) (name, said string) {
	seen := map[string]bool{}
	for name := range names(object) {
		if seen[name] {
			return name, fmt.Sprintf("the field %.100q is given more than once", name)
		}
		seen[name] = true
		for _, known := range outer {
			if name != known && strings.EqualFold(name, known) {
				return name, fmt.Sprintf("there is no field %.100q; it is written %q", name, known)
			}
		}
	}
	return "", ""
}

// names are those of the fields of one object (valid JSON), as they stand;
// anything else has none. Every message goes through here, so nothing is decoded
// but what has escapes.
func names(object string) iter.Seq[string] {
	return func(yield func(string) bool) {
		name, depth := "", 0
		for i := 0; i < len(object); i++ {
			switch object[i] {
			case '{', '[':
				if depth++; depth == 1 && object[i] == '[' {
					return
				}
			case '}', ']':
				depth--
			case '"':
				size, plain := jsonstring.Literal(object[i:])
				if name = object[i+1 : i+size-1]; !plain && depth == 1 {
					name = jsonstring.Text(object[i : i+size])
				}
				i += size - 1
			case ':':
				if depth == 1 && !yield(name) {
					return
				}
			}
		}
	}
}
