package text

import (
	"strings"
	"unicode/utf8"
)

// cues finds which shapes have a cue in a text, looking at it once: nearly every
// text has none, and all that is recorded is looked at.
type cues struct {
	starting [256][]cue // by the first byte
	all      uint64
}

type cue struct {
	text   string // in lower case
	shapes uint64 // a bit for each
}

func cuesOf(shapes []shape) *cues {
	c := &cues{}
	for i, sh := range shapes {
		c.all |= 1 << i
		for _, text := range sh.cues {
			c.add(text, 1<<i)
		}
	}
	return c
}

func (c *cues) add(text string, shapes uint64) {
	list := &c.starting[text[0]]
	for i := range *list {
		if (*list)[i].text == text {
			(*list)[i].shapes |= shapes
			return
		}
	}
	*list = append(*list, cue{text, shapes})
}

// in returns the shapes that have a cue in s, in letters of any case.
func (c *cues) in(s string) (set uint64) {
	if strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) { // letters have other forms, which may be as long as not
		s = strings.ToLower(s)
	}
	for i := 0; i < len(s) && set != c.all; i++ {
		for _, q := range c.starting[lower(s[i])] {
			if q.shapes&^set != 0 && folds(s[i:], q.text) {
				set |= q.shapes
			}
		}
	}
	return set
}

// folds reports whether s begins with text, which is in lower case, in letters of
// any case.
func folds(s, text string) bool {
	if len(s) < len(text) {
		return false
	}
	for i := range len(text) {
		if lower(s[i]) != text[i] {
			return false
		}
	}
	return true
}

func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}
