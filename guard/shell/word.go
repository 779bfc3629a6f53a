package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"handrail/guard"
)

// field is one word after expansion.
type field struct {
	text
	typed string  // as it stands in the source
	proc  *stream // what a process substitution in its place gives to read
	many  bool    // it may be more than one word, or none
}

func (f field) word() guard.Word {
	return guard.Word{Text: f.s, Exact: f.class == exact, Plain: f.class != exact && f.trait != 0}
}

func words(fs []field) []guard.Word {
	if len(fs) == 0 {
		return nil
	}
	ws := make([]guard.Word, len(fs))
	for i, f := range fs {
		ws[i] = f.word()
	}
	return ws
}

// builder expands one word into fields.
type builder struct {
	w      *reading
	st     *state
	out    []field
	text   []byte // what is known of the current field
	pat    []byte // the same as a pattern: what was quoted is escaped
	globAt int    // where in text the first glob character stands, or -1
	class  class
	from   taint
	trait  trait
	proc   *stream
	has    bool // the current field exists, though it may be empty
	many   bool
	quoted bool // inside double quotes
	split  bool // unquoted expansions are split and may be globs
	double bool // the text is that of double quotes or a here-document
}

// fields expands words as the arguments of a command are.
func (w *reading) fields(st *state, ws []*syntax.Word) []field {
	out := make([]field, 0, len(ws))
	for _, word := range ws {
		out = w.expand(st, word, out)
	}
	return out
}

// expand appends the fields of one word: braces, then everything else.
func (w *reading) expand(st *state, word *syntax.Word, out []field) []field {
	if !w.step(1) {
		return out
	}
	if len(word.Parts) == 1 {
		if lit, ok := word.Parts[0].(*syntax.Lit); ok && !strings.ContainsAny(lit.Value, "\\*?[{~") {
			return append(out, field{text: known(lit.Value), typed: lit.Value})
		}
	}
	typed := st.typed(word)
	for _, one := range w.braces(word) {
		b := builder{w: w, st: st, out: out, globAt: -1, split: true}
		b.word(one)
		first := len(out)
		out = b.done()
		for i := first; i < len(out); i++ {
			out[i].typed = typed
		}
	}
	return out
}

// single expands a word to one text, without splitting and globs: a
// redirection, an assignment, a here-document.
func (w *reading) single(st *state, word *syntax.Word) text {
	f := w.singleField(st, word, false)
	return f.text
}

func (w *reading) singleField(st *state, word *syntax.Word, document bool) field {
	if word == nil || !w.step(1) {
		return field{}
	}
	b := builder{w: w, st: st, globAt: -1, double: document, quoted: document}
	b.word(word)
	return field{text: text{string(b.text), b.class, b.from, b.trait}, proc: b.proc, typed: st.typed(word)}
}

// pattern expands a word to a shell pattern: what was quoted is escaped.
func (w *reading) pattern(st *state, word *syntax.Word) text {
	if word == nil || !w.step(1) {
		return text{}
	}
	b := builder{w: w, st: st, globAt: -1, pat: make([]byte, 0, 16)}
	b.word(word)
	return text{s: string(b.pat), class: b.class, from: b.from}
}

// typed returns the source text of a node.
func (st *state) typed(n syntax.Node) string {
	i, j := n.Pos().Offset(), n.End().Offset()
	if i >= j || int(j) > len(st.src) {
		return ""
	}
	return st.src[i:j]
}

func (b *builder) word(word *syntax.Word) {
	if b.split { // a pattern is kept beside the text only where it may be needed
		for _, p := range word.Parts {
			switch p := p.(type) {
			case *syntax.Lit:
				if strings.ContainsAny(p.Value, "*?[") {
					b.pattern()
				}
			case *syntax.ParamExp, *syntax.CmdSubst, *syntax.ExtGlob:
				b.pattern()
			}
		}
	}
	for i, p := range word.Parts {
		b.part(p, i == 0)
	}
}

func (b *builder) pattern() {
	if b.pat == nil {
		b.pat = make([]byte, 0, 32)
	}
}

func (b *builder) part(p syntax.WordPart, first bool) {
	switch p := p.(type) {
	case *syntax.Lit:
		b.lit(p.Value, first)
	case *syntax.SglQuoted:
		v := p.Value
		if p.Dollar {
			v = ansiC(v)
		}
		b.has = true
		b.add(v, true)
	case *syntax.DblQuoted:
		was := b.quoted
		b.quoted = true
		before := len(b.out)
		array := false
		for _, q := range p.Parts {
			if e, ok := q.(*syntax.ParamExp); ok && manyWords(e) {
				array = true
			}
			b.part(q, false)
		}
		b.quoted = was
		if !array || len(p.Parts) > 1 || len(b.out) > before {
			b.has = true
		}
	case *syntax.ParamExp:
		b.param(p)
	case *syntax.CmdSubst:
		b.unquoted(b.w.substitute(b.st, p))
	case *syntax.ArithmExp:
		b.value(b.w.arithText(b.st, p.X))
	case *syntax.ProcSubst:
		b.has = true
		b.proc = b.w.process(b.st, p)
		n := 63 - len(b.st.fds)
		b.st.openFd(n, fd{in: b.proc})
		b.add("/dev/fd/"+strconv.Itoa(n), true)
		b.from = b.from.with(b.proc.from)
	case *syntax.ExtGlob:
		b.glob()
		b.add(p.Op.String()+p.Pattern.Value+")", false)
		b.w.embedded(b.st, p.Pattern.Value)
	default:
		b.unknown(unknown(nil))
	}
}

// lit appends literal source text, taking away its backslashes.
func (b *builder) lit(s string, first bool) {
	if first && !b.quoted {
		if strings.HasPrefix(s, "~") {
			s = b.tilde(s)
		} else if n, v, ok := strings.Cut(s, "="); ok && b.split && strings.IndexByte(v, '~') >= 0 && syntax.ValidName(n) {
			b.plain(n + "=") // bash expands tildes in words that look like assignments
			for i, piece := range strings.Split(v, ":") {
				if i > 0 {
					b.plain(":")
				}
				b.lit(piece, true)
			}
			return
		}
	}
	for len(s) > 0 {
		i := strings.IndexByte(s, '\\')
		if i < 0 || i+1 >= len(s) {
			b.has = true
			b.plain(s)
			return
		}
		b.has = true
		b.plain(s[:i])
		switch c := s[i+1]; {
		case c == '\n':
		case !b.quoted, c == '$', c == '`', c == '\\', c == '"' && !b.double:
			b.add(s[i+1:i+2], true)
		default:
			b.add(s[i:i+2], true)
		}
		s = s[i+2:]
	}
}

// plain appends text that is quoted or not as the place is.
func (b *builder) plain(s string) {
	if s == "" {
		return
	}
	if !b.quoted && b.globAt < 0 && b.pat != nil {
		if i := strings.IndexAny(s, "*?["); i >= 0 {
			b.add(s[:i], false)
			b.glob()
			s = s[i:]
		}
	}
	b.add(s, b.quoted)
}

// add appends known text to the field, or to what follows its unknown part.
func (b *builder) add(s string, quoted bool) {
	if s == "" {
		return
	}
	b.has = true
	if b.class != exact {
		b.trait = min(b.trait, plain)
		if s[0] == '-' {
			b.trait = 0
		}
		if strings.Contains(s, "..") {
			b.class = wild
		} else if strings.IndexByte(s, '/') >= 0 && b.class == name {
			b.class = below
		}
		return
	}
	if !b.w.step(len(s) / 16) {
		return
	}
	b.text = append(b.text, s...)
	if b.pat == nil {
		return
	}
	for i := 0; i < len(s); i++ {
		if quoted && strings.IndexByte(`*?[]\!()|+@-^`, s[i]) >= 0 || s[i] == '\\' {
			b.pat = append(b.pat, '\\')
		}
		b.pat = append(b.pat, s[i])
	}
}

// unknown appends text of which not all is known.
func (b *builder) unknown(t text) {
	b.add(t.s, b.quoted)
	b.from = b.from.with(t.from)
	b.has = true
	if b.class == exact {
		b.class = t.class
		if len(b.text) == 0 {
			b.trait = t.trait
		}
		if t.class == name && strings.HasSuffix(string(b.text), "..") {
			b.class = wild
		}
		return
	}
	b.class = max(b.class, t.class)
	b.trait = min(b.trait, t.trait, plain)
}

// value appends a text that is not split: a number, a name.
func (b *builder) value(t text) {
	if t.class == exact {
		b.from = b.from.with(t.from)
		b.has = true
		b.add(t.s, true)
		return
	}
	b.unknown(t)
}
