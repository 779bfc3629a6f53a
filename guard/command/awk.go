package command

import (
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
		for open := 0; a.at+n < len(a.toks) && n < 1000; n++ {
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
