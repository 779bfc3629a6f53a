package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// operate applies ${n<op>word}.
func (w *reading) operate(st *state, e *syntax.ParamExp, elems []text, list, open bool) ([]text, bool, bool) {
	op, word := e.Exp.Op, e.Exp.Word
	switch op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		return w.fallback(st, e, elems, list, open)
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		full, ok := w.filled(st, e, elems, list, open)
		if ok && !full {
			return []text{{}}, false, false
		}
		alt := w.single(st, word)
		if !ok {
			alt = alt.join(text{})
		}
		return []text{alt}, false, false
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		w.single(st, word)
		return elems, list, open
	case syntax.RemSmallSuffix, syntax.RemLargeSuffix, syntax.RemSmallPrefix, syntax.RemLargePrefix:
		pat := w.pattern(st, word)
		return each(elems, func(t text) text { return trim(t, pat, op) }), list, open
	case syntax.UpperAll, syntax.LowerAll, syntax.UpperFirst, syntax.LowerFirst:
		pat := w.pattern(st, word)
		return each(elems, func(t text) text { return recase(t, pat, op) }), list, open
	case syntax.OtherParamOps:
		return each(elems, func(t text) text { return w.transform(st, t, word.Lit()) }), list, open
	}
	return each(elems, func(t text) text { return unknown(t.from) }), list, open
}

// transform is ${n@op}.
func (w *reading) transform(st *state, t text, op string) text {
	switch op {
	case "Q", "A", "a", "K", "k":
		return text{class: wild, from: t.from}
	case "U", "u", "L":
		kind := map[string]syntax.ParExpOperator{"U": syntax.UpperAll, "u": syntax.UpperFirst, "L": syntax.LowerAll}[op]
		return recase(t, text{}, kind)
	case "E":
		if t.class == exact {
			t.s = ansiC(t.s)
			return t
		}
	case "P": // a prompt: substitutions in the value run
		if t.class != exact {
			w.hide(w.next(), "the prompt expansion of a value that is not known", "")
		} else {
			w.embedded(st, t.s)
		}
	}
	return unknown(t.from)
}

// slice is ${n:offset:length}.
func (w *reading) slice(st *state, n string, elems []text, list, open bool, s *syntax.Slice) ([]text, bool, bool) {
	off, ok := w.arith(st, s.Offset)
	num, bounded := 0, s.Length != nil
	if bounded {
		var known bool
		num, known = w.arith(st, s.Length)
		ok = ok && known
	}
	if list {
		if n == "@" || n == "*" { // $0 counts as the first
			elems = append([]text{st.zero}, elems...)
		}
		if !ok || open && off < 0 {
			return elems, true, true
		}
		if off < 0 {
			off += len(elems)
		}
		if off < 0 || off > len(elems) {
			return nil, true, open
		}
		elems = elems[off:]
		if bounded && num >= 0 && num < len(elems) {
			elems, open = elems[:num], false
		}
		return elems, true, open
	}
	return each(elems, func(t text) text {
		if t.class != exact || !ok {
			return text{class: class(max(uint8(t.class), uint8(w.sliceClass(t)))), from: t.from}
		}
		r := []rune(t.s)
		o, end := off, len(r)
		if o < 0 {
			o += len(r)
		}
		if o < 0 || o > len(r) {
			return text{from: t.from}
		}
		if bounded {
			if num < 0 {
				end += num
			} else {
				end = min(end, o+num)
			}
		}
		if end < o {
			return text{from: t.from}
		}
		return text{s: string(r[o:end]), from: t.from}
	}), false, open
}

// sliceClass says what an unknown part of t may be.
func (w *reading) sliceClass(t text) class {
	if t.class == exact && !strings.ContainsAny(t.s, "/.") || t.class == name && t.s == "" {
		return name
	}
	return wild
}

// trim takes a prefix or suffix that matches pat from t.
func trim(t, pat text, op syntax.ParExpOperator) text {
	prefix := op == syntax.RemSmallPrefix || op == syntax.RemLargePrefix
	if pat.class != exact {
		return unknown(t.from.with(pat.from))
	}
	if t.class != exact {
		if prefix { // ${f##*/} of anything holds no slash; else what is left is a part of it
			if strings.HasSuffix(pat.s, "*/") && op == syntax.RemLargePrefix {
				return text{class: max(name, min(t.class, name)), from: t.from}
			}
			if t.class == wild {
				return unknown(t.from)
			}
			return text{class: wild, from: t.from}
		}
		if t.class == wild && t.s == "" {
			return t
		}
		return text{s: "", class: wild, from: t.from}
	}
	s := t.s
	if costly(pat.s, s) {
		return unknown(t.from)
	}
	large := op == syntax.RemLargePrefix || op == syntax.RemLargeSuffix
	best := -1
	for i := 0; i <= len(s); i++ {
		part := s[:i]
		if !prefix {
			part = s[i:]
		}
		if match(pat.s, part) {
			if best < 0 || prefix == large {
				best = i
			}
			if prefix != large {
				break
			}
		}
	}
	switch {
	case best < 0:
	case prefix:
		s = s[best:]
	default:
		s = s[:best]
	}
	return text{s: s, from: t.from}
}

// costly reports whether matching a pattern all over s would take too long.
func costly(pat, s string) bool {
	if !strings.ContainsAny(pat, `*?[\\`) {
		return len(s) > 1<<16
	}
	return len(s)*len(s)*len(pat) > 1<<22
}

// replace is ${n/orig/with} and ${n//orig/with}.
func replace(t, orig, with text, all bool) text {
	from := t.from.with(orig.from).with(with.from)
	if t.class != exact || orig.class != exact || with.class != exact {
		return unknown(from)
	}
	pat, s := orig.s, t.s
	anchor := byte(0)
	if pat != "" && (pat[0] == '#' || pat[0] == '%') && !all {
		anchor, pat = pat[0], pat[1:]
	}
	if pat == "" {
		switch anchor {
		case '#':
			return text{s: with.s + s, from: from}
		case '%':
			return text{s: s + with.s, from: from}
		}
		return text{s: s, from: from}
	}
	if costly(pat, s) {
		return unknown(from)
	}
	if strings.Contains(with.s, "&") { // bash 5.2 may put the match there
		return unknown(from)
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		n := longest(pat, s[i:])
		if n < 0 || n == 0 || anchor == '%' && i+n != len(s) {
			if anchor == '#' {
				b.WriteString(s[i:])
				break
			}
			b.WriteByte(s[i])
			i++
			continue
		}
		b.WriteString(with.s)
		i += n
		if !all {
			b.WriteString(s[i:])
			break
		}
		if b.Len() > 1<<16 {
			return unknown(from)
		}
	}
	return text{s: b.String(), from: from}
}

// recase is ${n^}, ${n^^}, ${n,} and ${n,,}.
func recase(t, pat text, op syntax.ParExpOperator) text {
	if t.class != exact || pat.class != exact || pat.s != "" && pat.s != "?" {
		c := t.class
		if c == exact {
			c = wild
		}
		return text{class: c, from: t.from}
	}
	s := t.s
	first := op == syntax.UpperFirst || op == syntax.LowerFirst
	upper := op == syntax.UpperFirst || op == syntax.UpperAll
	convert := strings.ToLower
	if upper {
		convert = strings.ToUpper
	}
	if !first {
		s = convert(s)
	} else if s != "" {
		r := []rune(s)
		s = convert(string(r[:1])) + string(r[1:])
	}
	return text{s: s, from: t.from}
}
