package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"regexp"
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
	switch id.(type) {
	case string, json.Number:
		return id, true
	}
	return nil, false
}
