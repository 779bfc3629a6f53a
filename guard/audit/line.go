package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"handrail/guard/text"
)

// head is how every line begins. Its order is that of Record's fields, so the
// hash is found without trusting anything that a caller wrote.
var head = text.Pattern(`^\{"seq":([0-9]{1,20}),"time":"[^"\\]{1,64}","prev":"([0-9a-f]{64}|)","hash":"([0-9a-f]{64})","event":"`)

// link is what chains one line to the next.
type link struct {
	seq        uint64
	prev, hash string
}

// errForm is a line that is no record of this log.
var errForm = errors.New("this is no whole record")

// content returns all of r's line after its link.
func content(r *Record) ([]byte, error) {
	line, err := encode(r)
	if err != nil {
		return nil, err
	}
	const event = `,"event":"`
	return line[bytes.Index(line, []byte(event)):], nil // what stands before is no caller's
}

// chain returns the line of r, newline included, from its link and the rest of it,
// and sets r.Hash.
func chain(r *Record, rest []byte) []byte {
	line := fmt.Appendf(nil, `{"seq":%d,"time":"%s","prev":"%s","hash":"`, r.Seq, r.Time.Format(time.RFC3339Nano), r.Prev)
	start := len(line)
	line = append(append(line, '"'), rest...)
	r.Hash = sum(line)
	return append(slices.Insert(line, start, []byte(r.Hash)...), '\n')
}

// read takes the link from a line without its newline, and checks that the
// line's hash is that of its bytes with the hash left empty.
func read(line []byte) (link, error) {
	m := head().FindSubmatchIndex(line)
	if m == nil || !json.Valid(line) {
		return link{}, errForm
	}
	seq, err := strconv.ParseUint(string(line[m[2]:m[3]]), 10, 64)
	if err != nil {
		return link{}, errForm
	}
	l := link{seq: seq, prev: string(line[m[4]:m[5]]), hash: string(line[m[6]:m[7]])}
	open := append(bytes.Clone(line[:m[6]]), line[m[7]:]...)
	if sum(open) != l.hash {
		return l, fmt.Errorf("the hash of record %d is not that of its content: it was changed", seq)
	}
	return l, nil
}

// encode writes v as one line of JSON, <, > and & as they are.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("audit: encode record: %w", err)
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// tear names the bytes that a crash left, without newlines at the end.
func tear(torn []byte) *Torn {
	torn = bytes.TrimRight(torn, "\n")
	return &Torn{Bytes: len(torn), SHA256: sum(torn)}
}
