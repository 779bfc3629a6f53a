package shell

import (
	"strings"
)

// unquoted appends the value of an expansion: split and open to globs, unless
// the place is quoted.
func (b *builder) unquoted(t text) {
	if b.quoted || !b.split {
		b.from = b.from.with(t.from)
		if t.class != exact {
			b.unknown(t)
		} else {
			b.plainValue(t.s)
		}
		return
	}
	ifs, ok := b.w.ifs(b.st)
	if !ok {
		b.many = true
		b.unknown(text{s: t.s, class: wild, from: t.from})
		return
	}
	pieces, lead, trail := splitIFS(t.s, ifs)
	if lead && (b.has || b.class != exact) {
		b.next()
	}
	for i, p := range pieces {
		if i > 0 {
			b.next()
		}
		b.from = b.from.with(t.from)
		b.has = true
		b.plainValue(p)
	}
	if t.class != exact {
		if trail {
			b.next()
		}
		b.many = true
		rest := text{class: t.class, from: t.from}
		if ifs == " \t\n" {
			rest.trait = t.trait
		}
		b.unknown(rest)
	} else if trail && len(pieces) > 0 {
		b.next()
	}
}

// plainValue appends the value of an expansion, in which a backslash is text.
func (b *builder) plainValue(s string) {
	if !b.quoted && b.split && b.globAt < 0 {
		if i := strings.IndexAny(s, "*?["); i >= 0 {
			b.add(s[:i], false)
			b.glob()
			s = s[i:]
		}
	}
	b.add(s, b.quoted)
}

// next ends the current field.
func (b *builder) next() {
	if b.has {
		b.emit()
	}
	b.text, b.class, b.from, b.trait, b.proc, b.has, b.many, b.globAt = nil, exact, nil, 0, nil, false, false, -1
	if b.pat != nil {
		b.pat = b.pat[:0]
	}
}

func (b *builder) done() []field {
	if b.has {
		b.emit()
	}
	return b.out
}

func (b *builder) emit() {
	if !b.w.step(1) {
		return
	}
	f := field{text: text{string(b.text), b.class, b.from, b.trait}, proc: b.proc, many: b.many}
	if b.globAt >= 0 && globs(f.s[b.globAt:]) {
		b.out = b.w.glob(b.st, f, string(b.pat), b.globAt, b.out)
		return
	}
	b.out = append(b.out, f)
}
