// Package text makes text safe to put before a person or into a log: hidden
// characters are made visible, and what looks like a secret is taken out.
package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of what is shown as it stands.
const (
	maxBlanks     = 8 // longer runs of blanks are shown with a count
	maxMarks      = 2 // more combining marks on one letter are escaped
	maxEmptyLines = 2 // longer runs of empty lines are shown with a count
)

// Visible returns s so that a person sees what is there: control,
// bidirectional, zero-width, tag, filler and unassigned characters, variation
// selectors, line separators, carriage returns and blanks other than space and
// tab become \u{..} (hexadecimal), bytes that are not UTF-8 become \x{..}.
// Letters that pass for Latin ones (a Cyrillic "a" within a Latin word, full
// width and mathematical letters) become \u{..} too. A run of more than 8
// blanks is shown with its count (\u{20}×40). Several lines are numbered.
// Where s itself contains "\u{" or "\x{", that backslash becomes \u{5c}, so no
// text can pass for an escape. The result holds no such character whatever s is.
func Visible(s string) string {
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	if len(lines) == 1 {
		return visibleLine(lines[0])
	}
	width := len(fmt.Sprint(len(lines)))
	var b strings.Builder
	for i := 0; i < len(lines); i++ {
		if n := emptyRun(lines[i:]); n > maxEmptyLines {
			fmt.Fprintf(&b, "%*s┆ (%d empty lines)\n", width, "", n)
			i += n - 1
			continue
		}
		fmt.Fprintf(&b, "%*d│ %s\n", width, i+1, visibleLine(lines[i]))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Line returns s as Visible does, on one line: newlines become \u{a}.
func Line(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = visibleLine(line)
	}
	return strings.Join(lines, `\u{a}`)
}

func emptyRun(lines []string) int {
	for n, l := range lines {
		if l != "" {
			return n
		}
	}
	return len(lines)
}

// visibleLine makes one line visible, word by word.
func visibleLine(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		if n := span(s, isBlank); n > 0 {
			writeBlanks(&b, s[:n])
			s = s[n:]
			continue
		}
		if n := span(s, isWord); n > 0 {
			writeWord(&b, s[:n])
			s = s[n:]
			continue
		}
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x{%02x}`, s[0])
		case strings.HasPrefix(s, `\u{`), strings.HasPrefix(s, `\x{`), hidden(r):
			escape(&b, r)
		default:
			b.WriteRune(r)
		}
		s = s[n:]
	}
	return b.String()
}

// span is the length in bytes of the leading runes of s for which is holds.
func span(s string, is func(rune) bool) int {
	for i, r := range s {
		if !is(r) || r == utf8.RuneError {
			return i
		}
	}
	return len(s)
}

func isBlank(r rune) bool { return r == ' ' || r == '\t' }
func isWord(r rune) bool  { return unicode.IsLetter(r) || unicode.IsMark(r) }

func escape(b *strings.Builder, r rune) { fmt.Fprintf(b, `\u{%x}`, r) }

// writeBlanks writes a run of spaces and tabs; a long one as counts.
func writeBlanks(b *strings.Builder, run string) {
	if len(run) <= maxBlanks {
		b.WriteString(run)
		return
	}
	for len(run) > 0 {
		n := len(run) - len(strings.TrimLeft(run, run[:1]))
		fmt.Fprintf(b, `\u{%x}×%d`, run[0], n)
		run = run[n:]
	}
}

// writeWord writes a run of letters and marks; what is hidden or passes for
// something else is escaped.
func writeWord(b *strings.Builder, word string) {
	latin, all := scripts(word)
	marks := 0
	for _, r := range word {
		if unicode.IsMark(r) {
			marks++
		} else {
			marks = 0
		}
		foreign := unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee)
		if hidden(r) || marks > maxMarks || foreign && (latin || all) {
			escape(b, r)
			continue
		}
		b.WriteRune(r)
	}
}

// lookalikes are Cyrillic and Greek letters that most typefaces draw as Latin
// ones (Unicode Technical Standard 39, confusables).
const lookalikes = "асеорхуіјѕԁһӏԛԝкмтвнзАВСЕНІЈКМОРТХЅԌԚԜУ" + "ονρικυαΑΒΕΖΗΙΚΜΝΟΡΤΥΧ"

// scripts says whether word has Latin letters, and whether all of its letters
// pass for Latin ones though none is.
func scripts(word string) (latin, all bool) {
	all = true
	for _, r := range word {
		if unicode.Is(unicode.Latin, r) {
			latin = true
		}
		if unicode.IsLetter(r) && !strings.ContainsRune(lookalikes, r) {
			all = false
		}
	}
	return latin, all
}

// hidden reports whether r is not plainly seen: it has no glyph, changes how
// others are shown, or is drawn as a blank or as another letter.
func hidden(r rune) bool {
	switch {
	case r == ' ' || r == '\t':
		return false
	case !unicode.IsPrint(r): // control, format, private, unassigned, other blanks
		return true
	case unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
		return true
	case r == 0x2800, r == 0x1D159: // braille blank, null note head
		return true
	case 0xFF01 <= r && r <= 0xFF5E, 0x1D400 <= r && r <= 0x1D7FF: // full width, mathematical
		return true
	case 0xFFF9 <= r && r <= 0xFFFD: // annotation marks, replacement character
		return true
	}
	return false
}
