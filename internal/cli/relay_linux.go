package cli

import (
	"bytes"
	"io"
)

// relay passes on what a part of the server says, line by line and with nothing in
// it that a terminal would obey: whoever took the part over has no hold of where
// root's log goes.
type relay struct {
	to   io.Writer
	rest []byte // of a line that has not ended
}

// longest is how much of a line is kept back, in bytes.
const longest = 64 << 10

func (r *relay) Write(b []byte) (int, error) {
	r.rest = append(r.rest, b...)
	n := bytes.LastIndexByte(r.rest, '\n') + 1
	if len(r.rest)-n > longest {
		n = len(r.rest)
	}
	if n == 0 {
		return len(b), nil
	}
	for i, c := range r.rest[:n] {
		if c < ' ' && c != '\n' && c != '\t' || c == 0x7f || c == 0xc2 && i+1 < n && r.rest[i+1]&0xe0 == 0x80 { // and C1 in UTF-8
			r.rest[i] = '?'
		}
	}
	_, err := r.to.Write(r.rest[:n])
	r.rest = r.rest[:copy(r.rest, r.rest[n:])]
	return len(b), err
}
