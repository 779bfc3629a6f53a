package tools

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"handrail/guard"
	"handrail/tools/place"
)

// Limits of one page of safe_read.
const (
	readLines   = 2000
	readRunes   = 2000      // of one line
	readBytes   = 256 << 10 // of the page
	readUnsized = 1 << 20   // of a file that says it has no bytes (/proc)
	readBuffer  = 64 << 10
	sniffBytes  = 8 << 10 // by which the encoding is told
)

func (a *ReadArgs) do(ctx context.Context, j *job, facts *guard.Facts) *Result {
	path, _ := ofFile(facts)
	dir, err := place.OpenDir(filepath.Dir(path), false)
	if err != nil {
		return failed(err)
	}
	defer dir.Close()
	f, st, err := place.OpenRegular(dir, filepath.Base(path))
	if err != nil {
		return failed(err)
	}
	defer f.Close()
	size := st.Size
	if size == 0 {
		size = readUnsized
	}
	p := &page{first: max(a.Offset, 1), limit: a.Limit, whole: st.Size <= hashMax}
	if p.limit == 0 {
		p.limit = readLines
	}
	if err := p.read(ctx, f, size); err != nil {
		return failed(fmt.Errorf("read %s: %w", path, err))
	}
	j.bytes = int64(p.text.Len())
	return p.result(path, st.Size)
}

// page is a window of lines over a file, read in constant memory.
type page struct {
	first, limit int64 // first line counted from 1; number of lines
	whole        bool  // the file is read to its end, for its hash and number of lines

	text     strings.Builder
	encoding encoding
	line     int64 // lines seen
	last     int64 // last line in text
	cut      bool  // a line was cut
	ended    bool  // the end of the file was seen
	crlf     bool
	smuggled bool   // a line has characters that are shown as \u{…}
	sum      string // where ended
}

// read reads the lines in the first size bytes of r.
func (p *page) read(ctx context.Context, r io.Reader, size int64) error {
	raw := &hashed{ctx: ctx, r: io.LimitReader(r, size), hash: sha256.New()}
	room := int(min(max(size, sniffBytes), readBuffer))
	buffered := bufio.NewReaderSize(raw, room)
	start, err := buffered.Peek(sniffBytes)
	if err != nil && err != io.EOF {
		return err
	}
	p.encoding = detect(start)
	if p.encoding == binary {
		if !p.whole {
			return nil
		}
		_, err := io.Copy(io.Discard, buffered)
		p.sum = raw.sum()
		return err
	}
	lines := bufio.NewReaderSize(p.encoding.reader(buffered), room)
	for {
		line, err := p.next(lines)
		if err == io.EOF {
			p.ended, p.sum = true, raw.sum()
			return nil
		}
		if err != nil {
			return err
		}
		if p.full() && !p.whole {
			return nil
		}
		if p.line < p.first || p.full() {
			continue
		}
		if p.text.Len()+len(line) > readBytes && p.last > 0 {
			p.limit = p.last - p.first + 1 // full
			continue
		}
		fmt.Fprintf(&p.text, "%6d\t%s\n", p.line, line)
		p.last = p.line
	}
}

// full reports whether the page has all the lines it may have.
func (p *page) full() bool { return p.last-p.first+1 >= p.limit && p.last > 0 }

// next reads one line, without its end; of a long one only the beginning is
// kept, and of one that is not on the page nothing.
func (p *page) next(r *bufio.Reader) (string, error) {
	wanted := p.line+1 >= p.first && !p.full()
	var kept []byte
	got := 0
	for {
		part, err := r.ReadSlice('\n')
		got += len(part)
		if wanted {
			kept = append(kept, part[:min(len(part), max(readRunes*utf8.UTFMax+2-len(kept), 0))]...)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if err != nil && (err != io.EOF || got == 0) {
			return "", err
		}
		p.line++
		return p.show(kept, got-len(kept)), nil
	}
}

// show makes a line readable and cuts a long one; dropped bytes of it are gone
// already.
func (p *page) show(line []byte, dropped int) string {
	line = bytes.TrimSuffix(line, []byte("\n"))
	if bytes.HasSuffix(line, []byte("\r")) {
		p.crlf, line = true, line[:len(line)-1]
	}
	p.smuggled = p.smuggled || bytes.ContainsFunc(line, smuggled)
	text := readable(line)
	runes := 0
	for i := range text {
		if runes == readRunes {
			p.cut = true
			return fmt.Sprintf("%s[… about %d bytes of this line cut …]", text[:i], len(text)-i+dropped)
		}
		runes++
	}
	return text
}

// result words the page.
func (p *page) result(path string, size int64) *Result {
	res := &Result{Path: path, SHA256: p.sum, Content: p.text.String(), Truncated: p.cut}
	if p.encoding == binary {
		res.Text = fmt.Sprintf("%s is a binary file of %d bytes; its content is not shown.", path, size)
		if p.sum != "" {
			res.Text += " sha256 " + p.sum
		}
		return res
	}
	var notes []string
	switch {
	case p.ended && p.line == 0:
		notes = append(notes, "the file is empty")
	case p.last == 0:
		err := failed(fmt.Errorf("offset %d is past the end: %s has %d lines", p.first, path, p.line))
		err.Path, err.SHA256 = path, p.sum
		return err
	case p.ended && p.last == p.line:
		notes = append(notes, fmt.Sprintf("lines %d to %d, the end", p.first, p.last))
	case p.ended:
		notes = append(notes, fmt.Sprintf("lines %d to %d of %d; go on with offset %d", p.first, p.last, p.line, p.last+1))
	default:
		notes = append(notes, fmt.Sprintf("lines %d to %d of a file of %d bytes; go on with offset %d", p.first, p.last, size, p.last+1))
	}
	res.Truncated = res.Truncated || !p.ended || p.last < p.line
	if p.crlf {
		notes = append(notes, "lines end in CRLF")
	}
	if p.smuggled {
		notes = append(notes, `\u{…} stands for characters that hide or reorder text`)
	}
	if p.encoding != utf8Plain {
		notes = append(notes, p.encoding.String())
	}
	if p.sum != "" {
		notes = append(notes, "sha256 "+p.sum)
	}
	res.Text = res.Content + "[" + strings.Join(notes, "; ") + "]"
	return res
}

// hashed hashes what passes, and stops when ctx ends.
type hashed struct {
	ctx  context.Context
	r    io.Reader
	hash hash.Hash
}

func (c *hashed) Read(b []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, why(c.ctx)
	}
	n, err := c.r.Read(b)
	c.hash.Write(b[:n])
	return n, err
}

func (c *hashed) sum() string { return hex.EncodeToString(c.hash.Sum(nil)) }
