package tools

import (
	"bufio"
	"bytes"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// encoding is how a file writes text. The zero value is binary: no text.
type encoding uint8

const (
	binary encoding = iota
	utf8Plain
	utf8BOM
	utf16LE
	utf16BE
	latin1
)

func (e encoding) String() string {
	return [...]string{"binary", "UTF-8", "UTF-8 with BOM", "UTF-16 (little endian)", "UTF-16 (big endian)", "not UTF-8, shown as Latin-1"}[e]
}

// detect tells the encoding by the start of a file.
func detect(start []byte) encoding {
	switch {
	case bytes.HasPrefix(start, []byte{0xef, 0xbb, 0xbf}):
		return utf8BOM
	case bytes.HasPrefix(start, []byte{0xff, 0xfe}):
		return utf16LE
	case bytes.HasPrefix(start, []byte{0xfe, 0xff}):
		return utf16BE
	case bytes.IndexByte(start, 0) >= 0:
		return binary
	}
	whole, _, _ := wholeRunes(start, nil) // the last rune may be cut
	if len(start) < sniffBytes {
		whole = start
	}
	if utf8.Valid(whole) {
		return utf8Plain
	}
	return latin1
}

// reader turns text in the encoding into UTF-8 without BOM.
func (e encoding) reader(r *bufio.Reader) io.Reader {
	switch e {
	case utf8BOM:
		_, _ = r.Discard(3)
	case utf16LE, utf16BE:
		_, _ = r.Discard(2)
		return &recoder{next: func() (rune, error) { return e.utf16(r) }}
	case latin1:
		return &recoder{next: func() (rune, error) { b, err := r.ReadByte(); return rune(b), err }}
	}
	return r
}

// utf16 reads one rune; a lone surrogate or half a unit is a replacement.
func (e encoding) utf16(r *bufio.Reader) (rune, error) {
	unit := func(b []byte) rune {
		if e == utf16BE {
			return rune(b[0])<<8 | rune(b[1])
		}
		return rune(b[1])<<8 | rune(b[0])
	}
	var b [2]byte
	if n, err := io.ReadFull(r, b[:]); err != nil {
		if n == 1 {
			return utf8.RuneError, nil
		}
		return 0, err
	}
	c := unit(b[:])
	if !utf16.IsSurrogate(c) {
		return c, nil
	}
	if next, err := r.Peek(2); err == nil {
		if full := utf16.DecodeRune(c, unit(next)); full != utf8.RuneError {
			_, _ = r.Discard(2)
			return full, nil
		}
	}
	return utf8.RuneError, nil
}

// recoder is a reader of the UTF-8 form of runes.
type recoder struct {
	next func() (rune, error)
	rest []byte
}

func (d *recoder) Read(p []byte) (int, error) {
	for len(d.rest) < len(p) {
		c, err := d.next()
		if err != nil {
			if len(d.rest) == 0 {
				return 0, err
			}
			break
		}
		d.rest = utf8.AppendRune(d.rest, c)
	}
	n := copy(p, d.rest)
	d.rest = append(d.rest[:0], d.rest[n:]...)
	return n, nil
}
