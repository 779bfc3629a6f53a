package command

import (
	"strconv"
	"strings"

	"handrail/guard"
)

// AwkParts reads an awk program and returns what it does beside printing:
// commands of system() and pipes, files that it prints to or gets lines from.
// Constant strings become Shell, write and read parts; what is computed, loaded
// or cannot be read becomes an unknown part. (POSIX awk, and gawk 5.)
func AwkParts(program guard.Word) []Part {
	if !program.Exact {
		return []Part{hidden("an awk program of which a part is not known")}
	}
	toks, ok := awkTokens(program.Text)
	if !ok {
		return []Part{hidden("an awk program that cannot be read")}
	}
	a := awk{toks: toks, printing: -1}
	for a.at = range toks {
		a.token()
	}
	return a.parts
}

type awkKind uint8

const (
	awkOther  awkKind = iota // an operator or bracket: its text
	awkName                  // a name or keyword
	awkString                // a string: its value
	awkValue                 // a number or regular expression
)

type awkToken struct {
	kind awkKind
	text string
}

type awk struct {
	toks     []awkToken
	at       int
	depth    int // of brackets
	printing int // the depth at which print stands, or -1
	parts    []Part
}

// see returns the token n places on; outside of the program a line's end.
func (a *awk) see(n int) awkToken {
	if i := a.at + n; i >= 0 && i < len(a.toks) {
		return a.toks[i]
	}
	return awkToken{text: "\n"}
}

func (a *awk) token() {
	t := a.see(0)
	if t.kind == awkName {
		a.name(t.text)
		return
	}
	if t.kind != awkOther {
		return
	}
	switch t.text {
	case "(", "[", "{":
		a.depth++
	case ")", "]", "}":
		a.depth--
		if a.depth < a.printing {
			a.printing = -1
		}
	case ";", "\n":
		if a.depth <= a.printing {
			a.printing = -1
		}
	case "|", "|&":
		a.pipe()
	case ">", ">>":
		if a.printing == a.depth {
			a.output(t.text)
		}
	case "@":
		a.parts = append(a.parts, hidden("awk code that is loaded, or a function called by a computed name"))
	}
}

func (a *awk) name(name string) {
	switch name {
	case "print", "printf":
		a.printing = a.depth
	case "system":
		if a.see(1).text == "(" && a.see(2).kind == awkString && a.see(3) == (awkToken{text: ")"}) {
			a.command(a.see(2).text)
		} else {
			a.parts = append(a.parts, hidden("a command that awk makes up for system()"))
		}
	case "getline":
		a.getline()
	}
}

func (a *awk) command(text string) {
	if strings.HasPrefix(text, "/inet") {
		a.parts = append(a.parts, hidden("awk opens a network connection"))
		return
	}
	a.parts = append(a.parts, exactly(Shell, text))
}

// pipe reads both print | "command" and "command" | getline.
func (a *awk) pipe() {
	if next := a.see(1); next == (awkToken{awkName, "getline"}) {
		if a.see(-1).kind == awkString && !a.see(-2).closes() {
			a.command(a.see(-1).text)
			return
		}
	} else if next.kind == awkString && a.see(2).ends() {
		a.command(next.text)
		return
	}
	a.parts = append(a.parts, hidden("a command that awk makes up for a pipe"))
}

// output reads print > "file".
func (a *awk) output(op string) {
	next := a.see(1)
	if next.kind != awkString || !a.see(2).ends() {
		a.parts = append(a.parts, hidden("a file name that awk makes up to print to"))
		return
	}
	switch {
	case next.text == "-" || next.text == "/dev/stdout" || next.text == "/dev/stderr" || strings.HasPrefix(next.text, "/dev/fd/"):
	case strings.HasPrefix(next.text, "/inet"):
		a.parts = append(a.parts, hidden("awk opens a network connection"))
	case op == ">>":
		a.parts = append(a.parts, exactly("write/append", next.text))
	default:
		a.parts = append(a.parts, exactly("write", next.text))
	}
}

// getline reads getline [place] < "file".
func (a *awk) getline() {
	n := 1
	if a.see(n).text == "$" && a.see(n).kind == awkOther {
		n++
	}
	if t := a.see(n); t.kind == awkName || n == 2 && t.kind == awkValue {
		n++
	}
	if a.see(n) == (awkToken{text: "["}) {
		for open := 0; a.at+n < len(a.toks); n++ {
			if t := a.see(n); t.kind == awkOther && t.text == "[" {
				open++
			} else if t.kind == awkOther && t.text == "]" {
				if open--; open == 0 {
					n++
					break
				}
			}
		}
	}
	if a.see(n).text != "<" || a.see(n).kind != awkOther {
		return // from the input, or from a pipe
	}
	file := a.see(n + 1)
	switch {
	case file.kind != awkString || a.see(n+2).opens():
		a.parts = append(a.parts, hidden("a file name that awk makes up to read"))
	case strings.HasPrefix(file.text, "/inet"):
		a.parts = append(a.parts, hidden("awk opens a network connection"))
	case file.text != "-":
		a.parts = append(a.parts, exactly("read", file.text))
	}
}

// ends reports whether a statement ends before t.
func (t awkToken) ends() bool {
	return t.kind == awkOther && (t.text == ";" || t.text == "\n" || t.text == "}")
}

// closes reports whether a value may end with t, so that a string after it
// would be joined to it.
func (t awkToken) closes() bool {
	if t.kind == awkOther {
		return t.text == ")" || t.text == "]" || t.text == "++" || t.text == "--"
	}
	return t.kind != awkName || !awkWords[t.text]
}

// opens reports whether a value may begin with t.
func (t awkToken) opens() bool {
	if t.kind == awkOther {
		return t.text == "(" || t.text == "$" || t.text == "++" || t.text == "--"
	}
	return t.kind != awkName || !awkWords[t.text]
}

// awkWords are the names after which an operand begins.
var awkWords = set("print printf return in if else while for do getline delete exit next nextfile case BEGIN END function func switch default")

// awkTokens parts a program into tokens. It fails where awks differ on what a
// token is.
func awkTokens(s string) (toks []awkToken, ok bool) {
	var heads []bool // for each open parenthesis: it belongs to if, while or for
	operand := false // whether what stands before is an operand, so "/" divides
	add := func(kind awkKind, text string, isOperand bool) {
		toks = append(toks, awkToken{kind, text})
		operand = isOperand
	}
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == ' ' || c == '\t' || c == '\r':
			i++
		case strings.HasPrefix(s[i:], "\\\n"):
			i += 2
		case strings.HasPrefix(s[i:], "\\\r\n"):
			i += 3
		case c == '#':
			if n := strings.IndexByte(s[i:], '\n'); n >= 0 {
				i += n
			} else {
				i = len(s)
			}
		case c == '"':
			text, n := awkQuoted(s[i:])
			if n == 0 {
				return nil, false
			}
			i += n
			add(awkString, text, true)
		case c == '/' && !operand:
			n := awkRegexp(s[i:])
			if n == 0 {
				return nil, false
			}
			i += n
			add(awkValue, "/", true)
		case c >= '0' && c <= '9' || c == '.' && i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '9':
			n := 1
			for i+n < len(s) && (plain(s[i+n:i+n+1], ".") && s[i+n] != '-' && s[i+n] != '_') {
				n++
			}
			i += n
			add(awkValue, "0", true)
		case c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z':
			n := 1
			for i+n < len(s) && plain(s[i+n:i+n+1], ":") && s[i+n] != '-' && (s[i+n] != ':' || strings.HasPrefix(s[i+n:], "::") || s[i+n-1] == ':') {
				n++
			}
			name := strings.TrimPrefix(s[i:i+n], "awk::")
			i += n
			add(awkName, name, !awkWords[name])
		case c >= 0x80 || c < ' ' && c != '\n' || c == '\'' || c == '\\' || c == '`':
			return nil, false
		default:
			op := awkOperator(s[i:])
			i += len(op)
			after := op == "]" || (op == "++" || op == "--") && operand
			switch op {
			case "(":
				heads = append(heads, len(toks) > 0 && toks[len(toks)-1].kind == awkName && awkHeads[toks[len(toks)-1].text])
			case ")":
				if len(heads) == 0 {
					return nil, false
				}
				after = !heads[len(heads)-1]
				heads = heads[:len(heads)-1]
			}
			add(awkOther, op, after)
		}
	}
	return toks, len(heads) == 0
}

var awkHeads = set("if while for switch")

func awkOperator(s string) string {
	for _, op := range []string{"**=", ">>", "||", "|&", "&&", "++", "--", "<=", ">=", "==", "!=", "!~", "+=", "-=", "*=", "/=", "%=", "^=", "**"} {
		if strings.HasPrefix(s, op) {
			return op
		}
	}
	return s[:1]
}

// awkQuoted reads a string; n is 0 where it does not end on its line.
func awkQuoted(s string) (text string, n int) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; c {
		case '"':
			return b.String(), i + 1
		case '\n':
			return "", 0
		case '\\':
			i++
			if i == len(s) {
				return "", 0
			}
			switch e := s[i]; {
			case e == '\n':
			case e >= '0' && e <= '7':
				k := i + 1
				for k < len(s) && k < i+3 && s[k] >= '0' && s[k] <= '7' {
					k++
				}
				v, _ := strconv.ParseUint(s[i:k], 8, 16)
				b.WriteByte(byte(v))
				i = k - 1
			case e == 'x' || e == 'u':
				return "", 0 // awks differ on how many digits belong to it
			default:
				if k := strings.IndexByte("abfnrtv", e); k >= 0 {
					e = "\a\b\f\n\r\t\v"[k]
				}
				b.WriteByte(e)
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", 0
}

// awkRegexp measures a regular expression; 0 where it does not end on its line,
// or where a slash in brackets would end it for some awks.
func awkRegexp(s string) int {
	bracket := -1
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\n':
			return 0
		case c == '\\':
			i++
		case c == '/' && bracket >= 0:
			return 0
		case c == '/':
			return i + 1
		case c == '[' && bracket < 0:
			bracket = i
			if strings.HasPrefix(s[i+1:], "^") {
				bracket++
			}
		case c == ']' && bracket >= 0 && i > bracket+1:
			bracket = -1
		}
	}
	return 0
}
