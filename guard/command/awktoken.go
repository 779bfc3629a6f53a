package command

import (
	"strconv"
	"strings"
)

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
