package command

import (
	"strings"

	"handrail/guard"
)

const unknown Role = "unknown"

// hidden is the part for what cannot be told before it runs.
func hidden(why string) Part {
	return Part{Role: unknown, Word: guard.Word{Text: why, Exact: true}, Index: -1}
}

func exactly(role Role, text string) Part {
	return Part{Role: role, Word: guard.Word{Text: text, Exact: true}, Index: -1}
}

// SedParts reads a sed script and returns what it does beside editing: files
// that r, w and s///w name, commands of e, and an unknown part for what s///e
// makes up, and for a script that cannot be read. (GNU sed 4.9, "sed scripts".)
func SedParts(script guard.Word) []Part {
	if !script.Exact {
		return []Part{hidden("a sed script of which a part is not known")}
	}
	s := &sed{text: script.Text}
	for s.ok() {
		s.command()
	}
	if s.bad {
		s.parts = append(s.parts, hidden("a sed script that cannot be read"))
	}
	return s.parts
}

type sed struct {
	text  string // what is left
	bad   bool
	parts []Part
}

func (s *sed) ok() bool { return s.text != "" && !s.bad }

func (s *sed) peek() byte {
	if s.text == "" {
		return 0
	}
	return s.text[0]
}

func (s *sed) skip(chars string) { s.text = strings.TrimLeft(s.text, chars) }

// command reads one command with its addresses.
func (s *sed) command() {
	s.skip(" \t\n;{}")
	if s.text == "" {
		return
	}
	s.address()
	if s.skip(" \t"); s.peek() == ',' {
		s.text = s.text[1:]
		s.skip(" \t")
		s.address()
	}
	s.skip(" \t!")
	c := s.peek()
	if c == 0 || s.bad {
		s.bad = true // an address without a command
		return
	}
	s.text = s.text[1:]
	switch c {
	case '{', '}':
	case '#':
		s.line()
	case '=', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z', 'F':
		s.end()
	case 'l', 'L', 'q', 'Q':
		s.skip(" \t0123456789")
		s.end()
	case 'a', 'i', 'c':
		s.block()
	case ':', 'b', 't', 'T', 'v':
		s.skip(" \t")
		if i := strings.IndexAny(s.text, "; \t\n}"); i >= 0 {
			s.text = s.text[i:]
		} else {
			s.text = ""
		}
	case 'r', 'R':
		s.file("read")
	case 'w', 'W':
		s.file("write")
	case 'e':
		if cmd := strings.TrimSpace(s.line()); cmd != "" {
			s.parts = append(s.parts, exactly(Shell, cmd))
		} else {
			s.parts = append(s.parts, hidden("sed's e runs its input as a command"))
		}
	case 's':
		s.substitute()
	case 'y':
		if d := s.delimiter(); !s.bad {
			s.until(d)
			s.until(d)
			s.end()
		}
	default:
		s.bad = true
	}
}

// address reads an address, if one stands here.
func (s *sed) address() {
	switch c := s.peek(); {
	case c >= '0' && c <= '9' || c == '+' || c == '~':
		s.skip("0123456789+~")
	case c == '$':
		s.text = s.text[1:]
	case c == '/', c == '\\' && len(s.text) > 1:
		if c == '\\' {
			s.text = s.text[1:]
		}
		d := s.delimiter()
		s.until(d)
		s.skip("IM")
	}
}

// end wants the end of a command.
func (s *sed) end() {
	s.skip(" \t")
	switch s.peek() {
	case 0, '\n', ';', '}', '#':
	default:
		s.bad = true
	}
}

// line takes the rest of the line.
func (s *sed) line() string {
	line, rest, _ := strings.Cut(s.text, "\n")
	s.text = rest
	return line
}

// block takes the text of a, i and c: lines that end in a backslash go on.
func (s *sed) block() {
	s.skip(" \t")
	first := true
	for {
		line := s.line()
		n := len(line) - len(strings.TrimRight(line, `\`))
		more := n%2 == 1
		if first && strings.TrimSpace(line) == `\` {
			more = true
		}
		if first = false; !more || s.text == "" {
			return
		}
	}
}

func (s *sed) file(role Role) {
	name := strings.TrimLeft(s.line(), " \t")
	switch name {
	case "":
		s.bad = true
	case "/dev/stdout", "/dev/stderr", "/dev/stdin":
	default:
		s.parts = append(s.parts, exactly(role, name))
	}
}

// delimiter takes the character that parts a command.
func (s *sed) delimiter() byte {
	d := s.peek()
	if d == 0 || d == '\n' || d == '\\' || d >= 0x80 {
		s.bad = true
		return 0
	}
	s.text = s.text[1:]
	return d
}

// until takes all up to the next delimiter. One inside of brackets ends the
// part for some seds and not for others, so it cannot be read.
func (s *sed) until(d byte) {
	bracket := -1
	for i := 0; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '\\':
			i++
		case c == d:
			if bracket >= 0 && strings.IndexByte(s.text[i:], ']') >= 0 && i-bracket < 64 && !strings.ContainsRune(s.text[bracket:i], ']') {
				s.bad = true
				return
			}
			s.text = s.text[i+1:]
			return
		case c == '[' && bracket < 0:
			bracket = i
		case c == ']' && i > bracket+1:
			bracket = -1
		}
	}
	s.bad = true
}

func (s *sed) substitute() {
	d := s.delimiter()
	s.until(d)
	if s.bad {
		return
	}
	s.replacement(d)
	for s.ok() {
		c := s.text[0]
		switch {
		case c >= '0' && c <= '9' || strings.IndexByte("gpiImM", c) >= 0:
			s.text = s.text[1:]
		case c == 'e':
			s.text = s.text[1:]
			s.parts = append(s.parts, hidden("sed's s///e runs what it makes"))
		case c == 'w':
			s.text = s.text[1:]
			s.file("write")
			return
		default:
			s.end()
			return
		}
	}
}

// replacement takes all up to the next delimiter; brackets mean nothing in it.
func (s *sed) replacement(d byte) {
	for i := 0; i < len(s.text); i++ {
		switch s.text[i] {
		case '\\':
			i++
		case d:
			s.text = s.text[i+1:]
			return
		}
	}
	s.bad = true
}
