package command

import (
	"strings"

	"handrail/guard"
)

// finish gives the operands their roles and adds the templates.
func (w *binder) finish() {
	before, after := w.ops, []int(nil)
	if w.dash >= 0 && w.list2.set {
		before, after = w.ops[:w.dash], w.ops[w.dash:]
	}
	w.place(before, &w.list)
	w.place(after, &w.list2)
	w.doubt()
	named := false // whether an operand names what the program works on
	for i := range w.Parts {
		p := &w.Parts[i]
		named = named || p.Flag == "" && p.Role != Text && p.Role != Assign
	}
	for i := range w.Parts {
		if p := &w.Parts[i]; p.Flag != "" {
			w.turn(p, p.Flag)
			p.stream()
		}
	}
	w.deep = w.deep || w.Spec.Deep
	if w.deep {
		for i := range w.Parts {
			p := &w.Parts[i]
			p.Deep = p.Flag == "" || p.Role == Into
		}
	}
	for _, g := range w.given {
		for _, t := range g.opt.Effects {
			w.template(t, g.value, g.opt)
		}
	}
	for _, t := range w.Spec.Effects {
		w.template(t, guard.Word{}, nil)
	}
	if !named {
		for _, t := range w.Spec.Implied {
			w.template(t, guard.Word{}, nil)
		}
	}
	if w.Harmless {
		w.disarm()
	}
}

// doubt makes the call unread where a word could be an option, unless the
// program is lenient and none of its options does more than the word does as an
// operand: rm $x deletes something unknown in any case.
func (w *binder) doubt() {
	k := 0
	for _, i := range w.maybe {
		for k < len(w.Parts) && w.Parts[k].Index < i {
			k++
		}
		as := 0
		if k < len(w.Parts) && w.Parts[k].Index == i {
			as = weight(w.Parts[k].Role)
		}
		if !w.Spec.Lenient || w.Spec.index.weight > as {
			word := "a word that is not known"
			if known := w.args[i].Text; known != "" {
				word = known + "…"
			}
			w.Unread = append(w.Unread, word+" could be an option")
		}
	}
}

// place gives the operands at ops (indices in Parts) the roles of list.
func (w *binder) place(ops []int, list *operands) {
	n, roles := len(ops), list.roles
	for k, at := range ops {
		p := &w.Parts[at]
		switch tail := len(roles) - 1 - list.repeat; { // roles after the repeated one
		case list.repeat < 0 && k >= len(roles):
			w.Unread = append(w.Unread, p.Word.Text)
			continue
		case list.repeat < 0 || k < list.repeat:
			p.Role = roles[k]
		case n-k <= tail:
			p.Role = roles[len(roles)-(n-k)]
		default:
			p.Role = roles[list.repeat]
		}
		w.turn(p, string(p.Role))
		w.single(p)
		if p.Role == Text && w.Spec.Lenient && foreign(p.Word.Text) {
			p.Role = "read"
		}
		p.stream()
	}
}

// stream turns "-" in the place of a file into a standard stream.
func (p *Part) stream() {
	if p.Word.Text != "-" || !p.Word.Exact {
		return
	}
	switch kind, _, ok := p.Role.Kind(); {
	case p.Role == Script, ok && kind == guard.Read:
		p.Role = Stdin
	case ok && kind == guard.Write:
		p.Role = Text
	}
}

// turn changes the role of a part as the options say.
func (w *binder) turn(p *Part, key string) {
	for _, t := range w.turns {
		for from, to := range t {
			if from == key || w.same(from, key) {
				p.Role = to
				return
			}
		}
	}
}

// same reports whether two names are those of one option (-f, --file).
func (w *binder) same(a, b string) bool {
	if !strings.HasPrefix(a, "-") || !strings.HasPrefix(b, "-") {
		return false
	}
	x, y := w.Spec.index.options[a], w.Spec.index.options[b]
	return x != nil && y != nil && x.Flag == y.Flag
}

// single gives an operand the role that its word alone has (git push +main). A
// word that could be such a one is noted, unless it changes an unknown path in
// any case.
func (w *binder) single(p *Part) {
	for _, x := range w.Spec.index.words {
		if match(x.glob, p.Word.Text) && (p.Word.Exact || strings.HasSuffix(x.glob, "*")) {
			p.Role = x.role
			return
		}
		if !p.Word.Exact && strings.HasPrefix(x.glob, p.Word.Text) && weight(p.Role) != 1 && weight(x.role) > weight(p.Role) {
			w.Unread = append(w.Unread, p.Word.Text+"… could be "+x.glob)
			return
		}
	}
}

// template adds an effect that needs no word of its own.
func (w *binder) template(t Template, value guard.Word, by *option) {
	role, target := t.split()
	kind, _, _ := role.Kind()
	for _, d := range w.drop {
		if d.kind == kind && (by == nil || d.by != by) {
			return
		}
	}
	add := func(word guard.Word) {
		if known, some := strings.CutSuffix(word.Text, "*"); some && word.Exact {
			word = guard.Word{Text: known}
		}
		p := Part{Role: role, Word: word, Index: -1, Deep: w.deep}
		if role == Exec {
			for f := range strings.FieldsSeq(word.Text) {
				p.Rest = append(p.Rest, guard.Word{Text: f, Exact: word.Exact})
			}
		}
		w.Parts = append(w.Parts, p)
	}
	i := strings.IndexByte(target, '$')
	if i < 0 {
		add(guard.Word{Text: target, Exact: true})
		return
	}
	fill := func(word guard.Word) {
		if word.Exact {
			word.Text += target[i+2:]
		}
		word.Text = target[:i] + word.Text
		add(word)
	}
	switch c := target[i+1]; {
	case c == '@':
		for _, at := range w.ops {
			fill(w.Parts[at].Word)
		}
		if len(w.ops) == 0 {
			for _, t := range w.Spec.Implied {
				_, target := t.split()
				fill(guard.Word{Text: target, Exact: true})
			}
		}
	case c == '0' && by != nil:
		fill(value)
	case c == '#' && len(w.ops) > 0:
		fill(w.Parts[w.ops[len(w.ops)-1]].Word)
	case c >= '1' && c <= '9' && int(c-'1') < len(w.ops):
		fill(w.Parts[w.ops[c-'1']].Word)
	}
}

// disarm leaves of a call that only prints or pretends what it still does:
// reading, reaching hosts, and running other programs or code.
func (w *binder) disarm() {
	kept := w.Parts[:0]
	for _, p := range w.Parts {
		kind, action, ok := p.Role.Kind()
		stays := !ok || kind == guard.Read || kind == guard.Network && action != "listen" || kind == guard.Exec || kind == guard.Code ||
			kind == guard.Unknown || kind == guard.Remote && action == "read"
		switch p.Role {
		case Move:
			p.Role = "read"
		case Into, RevPath, Process:
			stays = false
		}
		if !stays {
			if p.Index < 0 {
				continue
			}
			p.Role = Text
		}
		kept = append(kept, p)
	}
	w.Parts = kept
}
