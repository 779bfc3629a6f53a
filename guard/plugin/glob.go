package plugin

import (
	"fmt"
	"regexp"
	"strings"
)

// glob is a pattern of one text: * stands for any characters, ? for one, [a-z]
// for one of some. Every other character stands for itself.
type glob struct {
	text  string
	exact *regexp.Regexp // as written; nil where no character is special
	loose *regexp.Regexp // whatever the case of letters; nil too
	head  string         // folded: what stands before the first special character
}

func newGlob(text string) (*glob, error) {
	var b strings.Builder
	next := 0 // what a class has taken already ends here
	for i, c := range text {
		if i < next {
			continue
		}
		switch c {
		case '*':
			b.WriteString(`.*`)
		case '?':
			b.WriteString(`.`)
		case '[':
			end := strings.IndexByte(text[i+1:], ']')
			if end < 1 {
				return nil, fmt.Errorf("%q: a [ has no ]", text)
			}
			class := text[i+1 : i+1+end]
			negated := class[0] == '!' || class[0] == '^'
			if negated {
				class = class[1:]
			}
			if class == "" || strings.ContainsAny(class, `[\^&~`) {
				return nil, fmt.Errorf("%q: want [abc], [a-z] or [!abc]", text)
			}
			b.WriteByte('[')
			if negated {
				b.WriteByte('^')
			}
			b.WriteString(class + "]")
			next = i + 1 + end + 1
		case '\\':
			return nil, fmt.Errorf("%q: a backslash means nothing here; write [*] for a star", text)
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	g := &glob{text: text, head: text}
	at := strings.IndexAny(text, "*?[")
	if at >= 0 {
		g.head = text[:at]
	}
	if g.head = fold(g.head); at < 0 { // most are plain: a thousand guards must cost little
		return g, nil
	}
	var err error
	if g.exact, err = regexp.Compile(`(?s)\A` + b.String() + `\z`); err != nil {
		return nil, fmt.Errorf("%q: want *, ?, [abc] or [a-z]", text)
	}
	g.loose, err = regexp.Compile(`(?si)\A` + b.String() + `\z`)
	return g, err
}

// literal returns the longest run of plain characters, folded; "" where it is
// short.
func (g *glob) literal() string {
	best := ""
	text := g.text
	for text != "" {
		at := strings.IndexAny(text, "*?[")
		run := text
		if at >= 0 {
			run = text[:at]
		}
		if len(run) > len(best) {
			best = run
		}
		if at < 0 {
			break
		}
		if text[at] == '[' {
			at += strings.IndexByte(text[at:], ']')
		}
		text = text[at+1:]
	}
	return fold(best)
}

// covers reports whether the pattern is met by s as written.
func (g *glob) covers(s string) bool {
	if g.exact == nil {
		return s == g.text
	}
	return g.exact.MatchString(s)
}

// touches reports whether the pattern is met by s in any case of letters.
func (g *glob) touches(s string) bool {
	if g.loose == nil {
		return fold(s) == g.head
	}
	return strings.HasPrefix(fold(s), g.head) && g.loose.MatchString(s)
}

// globs are alternatives, less those that begin with "!".
type globs struct{ yes, no []*glob }

func newGlobs(texts []string) (*globs, error) {
	g := &globs{}
	for _, text := range texts {
		to := &g.yes
		text, not := strings.CutPrefix(text, "!")
		if not {
			to = &g.no
		}
		one, err := newGlob(text)
		if err != nil {
			return nil, err
		}
		if text == "" {
			return nil, fmt.Errorf("an empty pattern")
		}
		*to = append(*to, one)
	}
	return g, nil
}

func anyOf(list []*glob, is func(*glob) bool) bool {
	for _, g := range list {
		if is(g) {
			return true
		}
	}
	return false
}

func (g *globs) covers(s string) bool {
	return (len(g.yes) == 0 || anyOf(g.yes, func(g *glob) bool { return g.covers(s) })) && !anyOf(g.no, func(g *glob) bool { return g.touches(s) })
}

func (g *globs) touches(s string) bool {
	return (len(g.yes) == 0 || anyOf(g.yes, func(g *glob) bool { return g.touches(s) })) && !anyOf(g.no, func(g *glob) bool { return g.covers(s) })
}
