package tools

import (
	"bytes"
	"errors"
	"io"
	"os"
	"unicode/utf8"
)

// spoolMax is what one stream of a command may come to, in bytes. A command that
// writes more is ended.
const spoolMax = 64 << 20

// spool is a stream on disk: a temporary file without a name, so that nothing
// else reaches it and nothing is left of it. The zero value holds nothing.
type spool struct {
	file *os.File
	size int64
	full bool
	err  error // it could not be written: what is in memory is all there is
}

// write appends p and reports whether the spool has just become full.
func (s *spool) write(p []byte) (filled bool) {
	if s.err != nil || s.full {
		return false
	}
	if s.file == nil {
		if s.file, s.err = os.CreateTemp("", "handrail-spool-"); s.err == nil {
			s.err = os.Remove(s.file.Name())
		}
		if s.err != nil {
			return false
		}
	}
	if room := spoolMax - s.size; int64(len(p)) > room {
		p, s.full = p[:room], true
	}
	var n int
	n, s.err = s.file.Write(p)
	s.size += int64(n)
	return s.full && s.err == nil
}

func (s *spool) close() {
	if s.file != nil {
		s.file.Close()
		s.err = os.ErrClosed
	}
}

// keep spools p where the stream has become too long for memory. What is held in
// memory goes first: nothing has been dropped yet.
func (c *capture) keep(p []byte) {
	if c.spool.file == nil {
		if c.cut > 0 || len(c.head)+len(c.tail)+len(p) <= headBytes+tailBytes {
			return
		}
		c.spool.write(append(bytes.Clone(c.head), c.ordered()...))
	}
	if c.spool.write(p) && c.flooded != nil {
		go c.flooded()
	}
}

// Page is the part of the stream that begins at offset, of at most limit bytes:
// whole lines where that leaves something, else whole characters. next is where
// to go on, total how long the stream is so far. Offsets count bytes without
// terminal escape sequences.
func (c *capture) Page(offset, limit int64) (text string, next, total int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	part, total, err := c.at(offset, limit)
	if err != nil || len(part) == 0 {
		return "", min(offset, total), total, err
	}
	if offset+int64(len(part)) < total {
		if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
			part = part[:i+1]
		} else {
			part = whole(part)
		}
	}
	return readable(part), offset + int64(len(part)), total, nil
}

// at reads from the spool, or from memory where all of the stream is there.
func (c *capture) at(offset, limit int64) (part []byte, total int64, err error) {
	switch {
	case c.spool.file != nil && c.spool.err == nil:
		if offset >= c.spool.size {
			return nil, c.spool.size, nil
		}
		part = make([]byte, min(limit, c.spool.size-offset))
		n, err := c.spool.file.ReadAt(part, offset)
		if err == io.EOF {
			err = nil
		}
		return part[:n], c.spool.size, err
	case c.cut > 0:
		return nil, c.cut, errors.New("the whole of it could not be kept on disk; only what the call itself returned is left")
	}
	all := append(bytes.Clone(c.head), c.ordered()...)
	total = int64(len(all))
	offset = min(offset, total)
	return all[offset:min(offset+limit, total)], total, nil
}

// whole drops the part of a character at the end of b, unless that is all.
func whole(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i < len(b); i++ {
		if utf8.RuneStart(b[len(b)-i]) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}
