package tools

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// changed is the outcome of an edit.
type changed struct {
	content []byte
	count   int // of replacements
	// The first replacement: before[start:oldEnd] became content[start:newEnd].
	start, oldEnd, newEnd int
}

// numbered is how safe_read shows a line; copied into old_string it never matches.
var numbered = regexp.MustCompile(`^ *[0-9]+\t`)

// change replaces old by new in content. Line ends count as equal, CRLF or LF,
// and what is put in gets those of the file (of the place, where the file
// mixes them). Without all, old must occur exactly once; the error tells how
// often it does. That nothing would change is an error too.
func change(content []byte, old, new string, all bool) (*changed, error) {
	text, crs := unify(content)
	find := []byte(strings.ReplaceAll(old, "\r\n", "\n"))
	at := occurrences(text, find, all)
	switch {
	case len(find) == 0:
		return nil, errors.New("old_string is empty")
	case len(at) == 0 && numbered.MatchString(old):
		return nil, errors.New("old_string does not occur in the file: it begins with a line number of safe_read; leave the numbers out")
	case len(at) == 0 && strings.Contains(old, `\u{`):
		return nil, errors.New("old_string does not occur in the file: where safe_read shows \\u{…}, the file has the hidden character itself; leave that part out")
	case len(at) == 0:
		return nil, errors.New("old_string does not occur in the file (0 times); it must match exactly, blanks included: read the file again")
	case len(at) > 1 && !all:
		return nil, fmt.Errorf("old_string occurs %s times in the file (%s); add lines around it until it is unique, or set replace_all", times(len(at)), places(text, at))
	}
	c := &changed{count: len(at)}
	ends := newLineEnds(content, crs)
	done := 0
	for _, i := range at {
		from, to := original(crs, i), original(crs, i+len(find))
		c.content = append(c.content, content[done:from]...)
		fresh := withEnds(new, ends.at(from))
		if done == 0 && c.newEnd == 0 {
			c.start, c.oldEnd, c.newEnd = from, to, from+len(fresh)
		}
		c.content = append(c.content, fresh...)
		done = to
	}
	c.content = append(c.content, content[done:]...)
	if bytes.Equal(c.content, content) {
		return nil, errors.New("old_string and new_string are the same: nothing would change")
	}
	return c, nil
}

// unify returns content with every CRLF as LF, and where in that text these
// stand. original leads back.
func unify(content []byte) (text []byte, crs []int) {
	if !bytes.Contains(content, []byte("\r\n")) {
		return content, nil
	}
	text = make([]byte, 0, len(content))
	for i, b := range content {
		if b == '\r' && i+1 < len(content) && content[i+1] == '\n' {
			crs = append(crs, len(text))
			continue
		}
		text = append(text, b)
	}
	return text, crs
}

// original is the offset in the content of offset i in the unified text.
func original(crs []int, i int) int {
	n, _ := slices.BinarySearch(crs, i)
	return i + n
}

// manyTimes is where counting of what must be unique stops.
const manyTimes = 100

// occurrences finds find in text: all that do not overlap, or with !all also
// those that do, since any of them may be meant; of these at most manyTimes.
func occurrences(text, find []byte, all bool) (at []int) {
	step := 1
	if all {
		step = len(find)
	}
	for from := 0; len(find) > 0 && from <= len(text)-len(find) && (all || len(at) < manyTimes); {
		i := bytes.Index(text[from:], find)
		if i < 0 {
			break
		}
		at = append(at, from+i)
		from += i + step
	}
	return at
}

func times(n int) string {
	if n == manyTimes {
		return fmt.Sprintf("%d or more", n)
	}
	return fmt.Sprint(n)
}

// lineEnds says how the lines of a file end: all alike, or place by place.
type lineEnds struct {
	content []byte
	mixed   bool
	all     string // where not mixed; empty: there are no lines
	next    int    // a newline not before the last place that was asked for
	last    int    // the last newline of the file
}

func newLineEnds(content []byte, crs []int) *lineEnds {
	switch lines := bytes.Count(content, []byte("\n")); {
	case lines == 0:
		return &lineEnds{}
	case len(crs) == 0:
		return &lineEnds{all: "\n"}
	case len(crs) == lines:
		return &lineEnds{all: "\r\n"}
	}
	return &lineEnds{content: content, mixed: true, next: -1, last: bytes.LastIndexByte(content, '\n')}
}

// at is the line end for what is put in at from: that of the first
// newline at or after from, else of the last one in the file. Places are asked
// for in order.
func (l *lineEnds) at(from int) string {
	if !l.mixed {
		return l.all
	}
	if l.next < from && from <= l.last {
		l.next = from + bytes.IndexByte(l.content[from:], '\n')
	}
	i := l.next
	if from > l.last {
		i = l.last
	}
	if i > 0 && l.content[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// withEnds gives text the line ends; empty leaves it as it is.
func withEnds(text, end string) string {
	if end == "" {
		return text
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if end == "\n" {
		return text
	}
	return strings.ReplaceAll(text, "\n", end)
}

// places names the lines of the first occurrences.
func places(text []byte, at []int) string {
	var lines []string
	line, done := 1, 0
	for _, i := range at[:min(len(at), 8)] {
		line += bytes.Count(text[done:i], []byte("\n"))
		done = i
		lines = append(lines, fmt.Sprint(line))
	}
	more := ""
	if len(at) > 8 {
		more = ", …"
	}
	return "lines " + strings.Join(lines, ", ") + more
}

// diff shows the first replacement: the whole lines that it touches, before
// and after, with two lines around them.
func (c *changed) diff(before []byte) string {
	top, oldTo, newTo := lineStart(before, c.start), c.oldEnd, c.newEnd
	if lineStart(before, oldTo) != oldTo || lineStart(c.content, newTo) != newTo { // not whole lines
		oldTo, newTo = nextLine(before, oldTo), nextLine(c.content, newTo)
	}
	above, below := top, newTo
	for range 2 { // lines around
		above = lineStart(c.content, max(above-1, 0))
		below = nextLine(c.content, below)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "@@ line %d @@\n", 1+bytes.Count(before[:top], []byte("\n")))
	prefixed(&b, " ", c.content[above:top])
	prefixed(&b, "-", before[top:oldTo])
	prefixed(&b, "+", c.content[top:newTo])
	prefixed(&b, " ", c.content[newTo:below])
	return b.String()
}

func lineStart(b []byte, i int) int { return bytes.LastIndexByte(b[:i], '\n') + 1 }

// nextLine is the start of the line after the one of offset i, or the end.
func nextLine(b []byte, i int) int {
	if n := bytes.IndexByte(b[i:], '\n'); n >= 0 {
		return i + n + 1
	}
	return len(b)
}

// prefixed writes the lines of text, at most 20, each after sign.
func prefixed(b *strings.Builder, sign string, text []byte) {
	if len(text) == 0 {
		return
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for i, l := range lines {
		if i == 20 {
			fmt.Fprintf(b, "%s… %d more lines\n", sign, len(lines)-i)
			return
		}
		fmt.Fprintf(b, "%s%s\n", sign, clip(readable([]byte(strings.TrimSuffix(l, "\r"))), 300))
	}
}
