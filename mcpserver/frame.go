package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"regexp"

	"github.com/mark3labs/mcp-go/mcp"
)

// frame is one line of input without its newline. Of a line that is too long
// only the two ends are kept.
type frame struct {
	text []byte
	tail []byte // of a long line
	long bool
}

const ends = 256 // bytes kept of each end of a long line

// readFrame reads one line. What comes after the last newline is no message:
// its sender went away while writing.
func readFrame(r *bufio.Reader) (frame, error) {
	var f frame
	for {
		part, err := r.ReadSlice('\n')
		switch {
		case !f.long && len(f.text)+len(part) > maxLine+1:
			f.long = true
			f.tail = last(append(f.text, part...))
			f.text = bytes.Clone(f.text[:min(len(f.text), ends)])
		case f.long:
			f.tail = last(append(f.tail, part...))
		default:
			f.text = append(f.text, part...)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if err != nil {
			return frame{}, err
		}
		f.text, f.tail = bytes.TrimSpace(f.text), bytes.TrimSpace(f.tail)
		return f, nil
	}
}

func last(b []byte) []byte { return bytes.Clone(b[max(0, len(b)-ends):]) }

// Where clients put the id of a request: among the first fields, or last. Both
// patterns match only fields of the outermost object.
var (
	idFirst = regexp.MustCompile(`^\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(-?\d+|"[^"\\]*")\s*,`)
	idLast  = regexp.MustCompile(`[,{]\s*"id"\s*:\s*(-?\d+|"[^"\\]*")\s*\}$`)
)

// id is the id of a line that was too long to be read, or nil where it does not
// stand at one of its ends.
func (f frame) id() json.RawMessage {
	if m := idFirst.FindSubmatch(f.text); m != nil {
		return m[1]
	}
	if m := idLast.FindSubmatch(f.tail); m != nil {
		return m[1]
	}
	return nil
}

// idOf is a request id as a key: a string, or a number in its JSON text as
// json.Number. nil stands for none or null; ok is false for anything else.
func idOf(raw json.RawMessage) (id any, ok bool) {
	if raw == nil || string(raw) == "null" {
		return nil, true
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&id); err != nil && err != io.EOF {
		return nil, false
	}
	switch id := id.(type) {
	case string:
		return id, true
	case json.Number:
		_, err := id.Float64() // what is too large for one no reader of JSON gets right
		return id, err == nil
	}
	return nil, false
}

// message is what is looked at of a message before it goes to its place.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// begins reports whether a request begins something that a server which closes
// has no time for: a session, or a call. What reads the output of a call that ran
// before, or ends its job, only helps it to an end.
func (m message) begins() bool {
	var call struct {
		Arguments struct {
			OutputID string `json:"output_id"`
		} `json:"arguments"`
	}
	switch m.Method {
	case string(mcp.MethodInitialize):
		return true
	case string(mcp.MethodToolsCall):
		return json.Unmarshal(m.Params, &call) != nil || call.Arguments.OutputID == ""
	}
	return false
}

// parse reads one message. Where it is none, the fault says why, and only an id
// that is beyond doubt stands in m.
func parse(text []byte) (m message, id any, fault *rpcError) {
	invalid := func(said string) *rpcError { return &rpcError{mcp.INVALID_REQUEST, said} }
	if err := json.Unmarshal(text, &m); err != nil {
		if !json.Valid(text) {
			return message{}, nil, &rpcError{mcp.PARSE_ERROR, "not valid JSON"}
		}
		return message{}, nil, invalid("not a JSON-RPC message")
	}
	id, ok := idOf(m.ID)
	if said, ofID := ambiguous(text, m); said != "" {
		if !ok || ofID {
			m.ID = nil
		}
		return m, nil, invalid(said)
	}
	if !ok {
		return message{}, nil, invalid("an id is a string or a number")
	}
	if m.Method == "" && m.Result == nil && m.Error == nil {
		return m, nil, invalid("no method")
	}
	return m, id, nil
}

// faultOf reads the error of a response; one that cannot be read is one too.
func faultOf(raw json.RawMessage) *rpcError {
	if raw == nil {
		return nil
	}
	fault := &rpcError{}
	if json.Unmarshal(raw, fault) != nil {
		return &rpcError{Code: mcp.INTERNAL_ERROR, Message: "an error that cannot be read"}
	}
	return fault
}

func failure(id json.RawMessage, code int, said string) any {
	if id == nil {
		id = json.RawMessage("null")
	}
	return struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   rpcError        `json:"error"`
	}{mcp.JSONRPC_VERSION, id, rpcError{code, said}}
}
