package tools

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// What is kept of each stream of a command, in bytes.
const (
	headBytes = 8 << 10
	tailBytes = 24 << 10
)

// capture takes one stream of a command and keeps its head and its tail, in
// constant memory, and the whole of it in a spool once that is more. Terminal
// escape sequences are left out. It is safe for concurrent use.
type capture struct {
	mu      sync.Mutex
	escapes escapes
	head    []byte
	tail    []byte // a ring once full; next is where the oldest byte stands
	next    int
	cut     int64 // bytes that fell out of the middle
	lines   int64 // line ends among them
	raw     int64 // bytes that came
	spool   spool
	flooded func() // called once when the spool is full; may be nil
}

// Write never fails.
func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw += int64(len(p))
	rest := c.escapes.strip(p)
	c.keep(rest)
	if n := min(headBytes-len(c.head), len(rest)); n > 0 {
		c.head = append(c.head, rest[:n]...)
		rest = rest[n:]
	}
	if over := len(rest) - tailBytes; over > 0 { // only its end can stay
		c.drop(c.tail)
		c.drop(rest[:over])
		c.tail, c.next = append(c.tail[:0], rest[over:]...), 0
		return len(p), nil
	}
	if n := min(tailBytes-len(c.tail), len(rest)); n > 0 {
		c.tail = append(c.tail, rest[:n]...)
		rest = rest[n:]
	}
	for len(rest) > 0 {
		n := min(len(rest), tailBytes-c.next)
		c.drop(c.tail[c.next : c.next+n])
		copy(c.tail[c.next:], rest[:n])
		c.next = (c.next + n) % tailBytes
		rest = rest[n:]
	}
	return len(p), nil
}

func (c *capture) drop(b []byte) {
	c.cut += int64(len(b))
	c.lines += int64(bytes.Count(b, []byte{'\n'}))
}

// Text is what was kept, as valid UTF-8 without control characters, with a
// mark where something was cut; cut says that something was.
func (c *capture) Text() (text string, cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	tail := c.ordered()
	if c.cut == 0 {
		return readable(append(bytes.Clone(c.head), tail...)), false
	}
	head, tail, runes := wholeRunes(c.head, tail)
	return fmt.Sprintf("%s\n[… %d bytes (%d lines) cut …]\n%s", readable(head), c.cut+int64(runes), c.lines, readable(tail)), true
}

// ordered is the tail, oldest byte first.
func (c *capture) ordered() []byte { return append(bytes.Clone(c.tail[c.next:]), c.tail[:c.next]...) }

// Progress is how many bytes came and the last line with text so far.
func (c *capture) Progress() (total int64, last string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.head
	if len(c.tail) > 0 {
		b = c.ordered()
	}
	b = bytes.TrimRight(b, "\r\n\t ")
	if i := bytes.LastIndexAny(b, "\r\n"); i >= 0 {
		b = b[i+1:]
	}
	return c.raw, clip(readable(b), 200)
}

// wholeRunes drops the parts of a rune at the end of head and the start of
// tail, and says how many bytes that were.
func wholeRunes(head, tail []byte) (h, t []byte, dropped int) {
	h, t = head, tail
	for i := 1; i <= utf8.UTFMax && i <= len(h); i++ {
		if b := h[len(h)-i]; utf8.RuneStart(b) {
			if !utf8.FullRune(h[len(h)-i:]) {
				h = h[:len(h)-i]
			}
			break
		}
	}
	for i := 0; i < utf8.UTFMax-1 && len(t) > 0 && !utf8.RuneStart(t[0]); i++ {
		t = t[1:]
	}
	return h, t, len(head) - len(h) + len(tail) - len(t)
}

// readable makes b valid UTF-8 and shows what would not be seen as it is: control
// characters other than tab and line ends as pictures (U+2400…), characters that
// reorder or smuggle text as \u{…}.
func readable(b []byte) string {
	text := strings.ToValidUTF8(string(b), string(utf8.RuneError))
	if !strings.ContainsFunc(text, func(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 || smuggled(r) }) {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			out.WriteRune(r)
		case r < 0x20:
			out.WriteRune('\u2400' + r)
		case r == 0x7f:
			out.WriteRune('\u2421')
		case r >= 0x80 && r < 0xa0:
			out.WriteRune(utf8.RuneError)
		case smuggled(r):
			fmt.Fprintf(&out, `\u{%x}`, r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// smuggled reports whether r makes a person and a model see different texts:
// bidirectional controls (CVE-2021-42574), and tag characters, which no person
// sees and models read.
func smuggled(r rune) bool {
	switch {
	case r == 0x061c, r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return true
	}
	return r >= 0xe0000 && r <= 0xe007f
}

// escapes leaves out terminal escape sequences (ECMA-48: CSI, OSC, DCS and the
// like), also where a sequence is spread over several writes. A sequence that
// never ends costs its line, not the rest of the stream.
type escapes struct{ state byte }

const esc = 0x1b

// strip returns p without escape sequences.
func (e *escapes) strip(p []byte) []byte {
	if e.state == 0 && bytes.IndexByte(p, esc) < 0 {
		return p
	}
	out := make([]byte, 0, len(p))
	for _, b := range p {
		switch e.state {
		case 0:
			if b == esc {
				e.state = esc
			} else {
				out = append(out, b)
			}
		case esc: // what follows ESC
			switch {
			case b == '[':
				e.state = '['
			case b == ']' || b == 'P' || b == 'X' || b == '^' || b == '_':
				e.state = ']'
			case b >= 0x20 && b < 0x30: // intermediate bytes: ESC ( B
			case b >= 0x30 && b < 0x7f || b == esc:
				e.state = map[bool]byte{true: esc}[b == esc]
			default:
				e.state, out = 0, append(out, b)
			}
		case '[': // CSI: parameters until a final byte
			if b >= 0x20 && b < 0x40 {
				continue
			}
			e.state = 0
			if b == esc {
				e.state = esc
			} else if b < 0x40 || b >= 0x7f {
				out = append(out, b)
			}
		case ']': // a string until BEL or ST
			switch {
			case b == 0x07:
				e.state = 0
			case b == esc:
				e.state = '\\'
			case b == '\n' || b == '\r':
				e.state, out = 0, append(out, b)
			}
		case '\\': // ESC inside a string: ST ends it, anything else starts anew
			e.state = 0
			if b != '\\' {
				out = append(out, e.stripOne(b)...)
			}
		}
	}
	return out
}

// stripOne handles the byte after an ESC that did not end a string.
func (e *escapes) stripOne(b byte) []byte {
	e.state = esc
	return e.strip([]byte{b})
}
