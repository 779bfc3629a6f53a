package plugin

import (
	"slices"
	"strings"

	"handrail/guard"
)

// index tells which of many guards may speak about a call, by texts that must
// stand in it. It may name too many, never too few.
type index struct {
	always []int            // guards of which no such text is known
	open   []opening        // guards whose text need not stand in a call that is open
	texts  []string         // folded
	of     [][]int          // the guards that need a text
	grams  map[uint32][]int // texts by three of their bytes (two, where they are short)
	filter [1 << 10]uint64  // a bit for each gram: most of them are in no text
}

// opening is a guard that may speak about effects of these kinds whose target
// is not known exactly, or has more below it.
type opening struct {
	guard int
	kinds kindSet
}

func gram(s string) uint32 {
	if len(s) == 2 {
		return uint32(s[0]) | uint32(s[1])<<8
	}
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | 1<<24
}

func (x *index) bit(g uint32) (word int, mask uint64) {
	h := g * 2654435761 >> 16
	return int(h >> 6 & (1<<10 - 1)), 1 << (h & 63)
}

func newIndex(guards []*Guard) *index {
	x := &index{grams: map[uint32][]int{}}
	known := map[string]int{}
	for i, g := range guards {
		texts, open, ok := g.needs()
		if !ok {
			x.always = append(x.always, i)
			continue
		}
		if open != 0 {
			x.open = append(x.open, opening{i, open})
		}
		for _, t := range texts {
			n, ok := known[t]
			if !ok {
				n = len(x.texts)
				known[t] = n
				x.texts, x.of = append(x.texts, t), append(x.of, nil)
				x.add(t, n)
			}
			x.of[n] = append(x.of[n], i)
		}
	}
	return x
}

// add files a text under the one of its grams that has the fewest texts.
func (x *index) add(text string, n int) {
	best := gram(text[:min(3, len(text))])
	for i := 0; i+3 <= len(text); i++ {
		if g := gram(text[i : i+3]); len(x.grams[g]) < len(x.grams[best]) {
			best = g
		}
	}
	x.grams[best] = append(x.grams[best], n)
	word, mask := x.bit(best)
	x.filter[word] |= mask
}

// candidates returns the guards that may speak about a call, in order.
func (x *index) candidates(v *view) []int {
	found := slices.Clone(x.always)
	for _, o := range x.open {
		if o.kinds&v.open != 0 {
			found = append(found, o.guard)
		}
	}
	if len(x.texts) > 0 {
		hay := v.haystack()
		for i := 0; i+2 <= len(hay); i++ {
			found = x.look(found, hay, gram(hay[i:i+2]))
			if i+3 <= len(hay) {
				found = x.look(found, hay, gram(hay[i:i+3]))
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func (x *index) look(found []int, hay string, g uint32) []int {
	if word, mask := x.bit(g); x.filter[word]&mask == 0 {
		return found
	}
	for _, n := range x.grams[g] {
		if strings.Contains(hay, x.texts[n]) {
			found = append(found, x.of[n]...)
		}
	}
	return found
}

// needs returns texts of which one must stand in a call, folded, so that the
// guard says anything; or the call must be open in one of these kinds.
func (g *Guard) needs() (texts []string, open kindSet, ok bool) {
	for i := range g.patterns {
		t, o, ok := g.patterns[i].needs()
		if !ok {
			return nil, 0, false
		}
		texts, open = append(texts, t...), open|o
	}
	return texts, open, true
}

func (p *pattern) needs() (texts []string, open kindSet, ok bool) {
	if p.match != nil {
		texts = slices.Clone(p.literal)
		if len(texts) == 0 {
			return nil, 0, false
		}
	}
	if p.file != nil {
		texts = append(texts, p.file.literal())
	}
	if p.when != nil {
		texts, open = p.when.needs()
	}
	return texts, open, len(texts) > 0 && shortest(texts) >= 2
}

func (w *when) needs() (texts []string, open kindSet) {
	switch {
	case w.command != nil && len(w.command.yes) > 0:
		for _, g := range w.command.yes {
			texts = append(texts, g.literal())
		}
	case w.host != nil && len(w.host.yes) > 0:
		for _, g := range w.host.yes {
			texts = append(texts, g.literal())
		}
		open = w.kinds() & (1<<guard.Network | 1<<guard.Remote)
	case w.path != nil && len(w.path.yes) > 0:
		for _, pl := range w.path.yes {
			best := ""
			for _, g := range pl.parts {
				if g != nil && len(g.literal()) > len(best) {
					best = g.literal()
				}
			}
			texts = append(texts, best)
		}
		open = w.kinds()
	}
	return texts, open
}

// kinds are those of the effects that w is about.
func (w *when) kinds() (set kindSet) {
	for _, k := range w.effects {
		set |= 1 << k.kind
	}
	if set == 0 {
		return ^set
	}
	return set
}
