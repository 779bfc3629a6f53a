package command

import (
	"path"
	"strings"

	"handrail/guard"
)

// Table holds the specs by program name. The zero value lists nothing. It is
// safe for concurrent use.
type Table struct {
	specs    map[string]*Spec
	patterns []pattern // longest first
	names    []string
}

type pattern struct {
	glob string
	spec *Spec
}

// Lookup returns the entry of a program by its base name, or nil.
func (t *Table) Lookup(name string) *Spec {
	if s := t.specs[name]; s != nil {
		return s
	}
	for _, p := range t.patterns {
		if match(p.glob, name) {
			return p.spec
		}
	}
	return nil
}

// Names returns the names and patterns of all programs, sorted.
func (t *Table) Names() []string { return append([]string(nil), t.names...) }

func (t *Table) add(names []string, s *Spec) {
	for _, name := range names {
		if isPattern(name) {
			t.patterns = append(t.patterns, pattern{name, s})
		} else {
			t.specs[name] = s
		}
		t.names = append(t.names, name)
	}
}

// Bind gives every word of args its role. It never fails: what cannot be bound
// is in Unread, and an unlisted program has no Spec. name may be a path.
func (t *Table) Bind(name string, args []guard.Word) *Binding {
	if strings.IndexByte(name, '/') >= 0 {
		name = path.Base(name)
	}
	b := &Binding{Path: append(make([]string, 0, 3), name)}
	s := t.Lookup(name)
	if s == nil {
		return b
	}
	b.Parts = make([]Part, 0, len(args)+len(s.Effects)+2)
	w := binder{Binding: b, args: args, dash: -1}
	w.ops = w.room[:0]
	w.enter(s)
	w.scan()
	w.finish()
	return b
}

// binder is one binding in the making.
type binder struct {
	*Binding
	args    []guard.Word
	next    int      // the next word
	list    operands // in force
	list2   operands // after "--", where it differs
	ops     []int    // indices in Parts of the operands that have no role yet
	room    [12]int
	assigns int // operands bound as Assign
	dash    int // len(ops) at "--", or -1
	closed  bool
	by      *option // that replaced the operands
	turns   []map[string]Role
	applied []*Flag // that turn, drop or add something
	given   []given
	drop    []dropped
	maybe   []int // words that could be options
	deep    bool
}

type dropped struct {
	kind guard.Kind
	by   *option
}

type given struct {
	opt   *option
	value guard.Word
}

// enter makes s the entry in force: the program, or a subcommand.
func (w *binder) enter(s *Spec) {
	w.Spec = s
	if w.by == nil {
		w.list = s.index.operands
	}
	w.list2 = s.index.dashdash
}

func (w *binder) scan() {
	for w.next < len(w.args) {
		i := w.next
		w.next++
		word := w.args[i]
		text := word.Text
		switch {
		case w.closed:
			w.operand(i)
		case w.Spec.Options == None:
			if !w.value(i) {
				w.operand(i)
			}
		case text == "":
			if !word.Exact && !word.Plain {
				w.mayBeOption(i)
			}
			w.operand(i)
		case text == "--" && word.Exact:
			w.Options = append(w.Options, Option{"--", i})
			w.closed, w.dash = true, len(w.ops)
		case text[0] == '-' && (len(text) > 1 || !word.Exact), text[0] == '+' && len(w.Spec.index.options)+len(w.Spec.index.globs) > 0 && w.plus(word):
			w.dashed(i)
		case w.Spec.index.odd && word.Exact && w.Spec.index.options[text] != nil:
			w.give(i, w.Spec.index.options[text], "", false)
		case w.value(i):
		case w.Spec.Options == Tar && i == 0 && word.Exact:
			w.cluster(i, text)
		case w.Spec.Options == Tar && i == 0:
			w.mayBeOption(i)
			w.operand(i)
		default:
			w.operand(i)
		}
	}
}

// plus reports whether a word that begins with "+" is a listed option.
func (w *binder) plus(word guard.Word) bool {
	o, _, _ := w.Spec.option(word.Text)
	return o != nil
}

// value binds a word name=value whose name is listed.
func (w *binder) value(i int) bool {
	word := w.args[i]
	if len(w.Spec.index.values) == 0 {
		return false
	}
	name, value, ok := strings.Cut(word.Text, "=")
	if !ok {
		return false
	}
	for _, v := range w.Spec.index.values {
		if v.glob == name || match(v.glob, name) {
			val := guard.Word{Text: value, Exact: word.Exact}
			w.Parts = append(w.Parts, Part{Role: v.opt.Arg, Word: val, Index: i, Flag: v.opt.name, Key: name})
			w.apply(v.opt, i, val)
			return true
		}
	}
	return false
}

// operand enters word i as an operand: a subcommand, the command or script that
// takes all that follows, or one that gets its role in the end.
func (w *binder) operand(i int) {
	word := w.args[i]
	if w.Spec.Sub != nil && !w.Spec.index.bySwitch && len(w.ops) == 0 && w.assigns == 0 && w.dash < 0 {
		if w.subcommand(i) {
			return
		}
	}
	if w.Spec.Options == POSIX || w.Spec.Options == GoCmd {
		w.closed = true
	}
	list, n := &w.list, len(w.ops)
	if w.dash >= 0 && w.list2.set {
		list, n = &w.list2, n-w.dash
	}
	if n == list.assign && assigns(word) {
		w.assigns++
		w.Parts = append(w.Parts, Part{Role: Assign, Word: word, Index: i})
		return
	}
	if n < len(list.roles) && runs(list.roles[n]) {
		p := Part{Role: list.roles[n], Word: word, Index: i, Rest: w.args[i:]}
		if w.turn(&p, string(p.Role)); !runs(p.Role) { // bash -n
			p.Rest = nil
			w.Parts = append(w.Parts, p)
			for ; w.next < len(w.args); w.next++ {
				w.text(w.next)
			}
			return
		}
		if p.Role == Script {
			p.Rest = w.args[i+1:]
			if word.Exact && word.Text == "-" {
				p.Role = Stdin
			}
		}
		w.Parts = append(w.Parts, p)
		w.next = len(w.args)
		return
	}
	w.ops = append(w.ops, len(w.Parts)) // its role comes in the end
	w.text(i)
}

// subcommand enters word i as a subcommand. It reports false where operands are
// to be tried instead.
func (w *binder) subcommand(i int) bool {
	word := w.args[i]
	if word.Exact {
		if s, name := w.Spec.sub(word.Text); s != nil {
			w.Path = append(w.Path, name)
			w.text(i)
			w.enter(s)
			return true
		}
		if w.list.set {
			return false
		}
	}
	w.Blind = !word.Exact
	w.unread(i)
	w.text(i)
	for ; w.next < len(w.args); w.next++ { // nothing is known of the rest
		w.text(w.next)
	}
	return true
}

// text binds word i as one that does nothing.
func (w *binder) text(i int) {
	w.Parts = append(w.Parts, Part{Role: Text, Word: w.args[i], Index: i})
}

func (w *binder) unread(i int) { w.Unread = append(w.Unread, w.args[i].Text) }

// mayBeOption notes word i, which could be an option for all that is known.
func (w *binder) mayBeOption(i int) { w.maybe = append(w.maybe, i) }

// assigns reports whether a word begins NAME=.
func assigns(word guard.Word) bool {
	for i := range len(word.Text) {
		switch c := word.Text[i]; {
		case c == '=':
			return i > 0
		case c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || i > 0 && c >= '0' && c <= '9':
		default:
			return false
		}
	}
	return false
}
