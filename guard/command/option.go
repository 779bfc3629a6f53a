package command

import (
	"slices"
	"strings"
	"unicode/utf8"

	"handrail/guard"
)

// dashed binds word i, which begins with a dash (or is a listed "+" word), as
// one option or a cluster of them.
func (w *binder) dashed(i int) {
	word := w.args[i]
	text := word.Text
	o, value, attached := w.Spec.option(text)
	whole := w.Spec.Options == Words || w.Spec.Options == GoCmd || strings.HasPrefix(text, "--")
	if o == nil && strings.HasPrefix(text, "--") && w.Spec.Options != Words && w.Spec.Options != GoCmd {
		o, value, attached = w.Spec.prefix(text)
	}
	if !word.Exact && !attached {
		w.partial(i, o)
		return
	}
	if o != nil {
		w.give(i, o, value, attached)
		return
	}
	switch {
	case text == "--help", text == "--version" && len(w.Path) == 1, text == "-help" && whole:
		w.Harmless = true
		w.Options = append(w.Options, Option{text, i})
	case !whole:
		w.cluster(i, text[1:])
	default:
		w.unlisted(i)
	}
}

// partial binds a word that begins with a dash and whose end is unknown: -o$x
// has a known option where -o takes an argument, nothing else has.
func (w *binder) partial(i int, o *option) {
	text := w.args[i].Text
	if w.Spec.Options != Words && w.Spec.Options != GoCmd && len(text) > 1 && text[1] != '-' {
		if o := w.Spec.index.options[text[:2]]; o != nil && o.Arg != "" {
			w.give(i, o, text[2:], true)
			return
		}
	}
	w.mayBeOption(i)
	w.text(i)
}

func (w *binder) unlisted(i int) {
	w.Options = append(w.Options, Option{w.args[i].Text, i})
	name, value, attached := strings.Cut(w.args[i].Text, "=")
	if !w.Spec.Lenient || telling(name) {
		w.unread(i)
		return
	}
	if attached && foreign(value) {
		w.Parts = append(w.Parts, Part{Role: "read", Word: guard.Word{Text: value, Exact: w.args[i].Exact}, Index: i, Flag: name})
	}
}

// deeds are the last words in the names of options that run, load or write what
// their argument says, whatever the program is; objects may come after them.
var deeds = []string{"exec", "execute", "command", "cmd", "eval", "script", "hook", "plugin", "plugins", "program", "shell", "load", "preload", "import", "require", "engine", "output", "outfile", "out",
	"log", "logfile", "dump", "bin", "write", "save", "config", "conf", "rcfile", "pager", "editor", "init", "rsh", "wrapper", "macro", "pipe", "call"}

var objects = []string{"file", "path", "dir", "directory", "folder", "program", "string", "line", "args", "code", "lua", "to"}

// telling reports whether the name of an option that no entry lists says that
// it does more than change what is printed.
func telling(name string) bool {
	if !strings.HasPrefix(name, "--") && len(name) < 4 || name == "--init" ||
		slices.ContainsFunc([]string{"--no-", "--skip-", "--show-", "--list-", "--print-"}, func(s string) bool { return strings.HasPrefix(name, s) }) {
		return false
	}
	parts := strings.Split(strings.TrimLeft(name, "-"), "-")
	for len(parts) > 1 && slices.Contains(objects, parts[len(parts)-1]) {
		parts = parts[:len(parts)-1]
	}
	return slices.Contains(deeds, parts[len(parts)-1])
}

// foreign reports whether a word is a path of the system or of a home
// directory: a program that takes it, for all that is known, reads it.
func foreign(word string) bool {
	rest, ok := strings.CutPrefix(word, "/")
	if !ok {
		return false
	}
	top, below, ok := strings.Cut(rest, "/")
	return ok && below != "" && slices.Contains([]string{"etc", "root", "home", "Users", "proc", "private"}, top)
}

// cluster binds letters of which each is an option (-xzf file, -ofile).
func (w *binder) cluster(i int, letters string) {
	var name [2 + utf8.UTFMax]byte
	name[0] = '-'
	for k := 0; k < len(letters); {
		_, n := utf8.DecodeRuneInString(letters[k:])
		copy(name[1:], letters[k:k+n])
		o := w.Spec.index.options[string(name[:1+n])]
		k += n
		switch {
		case o == nil:
			w.Options = append(w.Options, Option{string(name[:1+n]), i})
			if !w.Spec.Lenient {
				w.unread(i)
				return
			}
		case o.Arg == "":
			w.Options = append(w.Options, Option{o.name, i})
			w.apply(o, i, guard.Word{})
		case o.Separate || w.Spec.Options == Tar && i == 0 && letters == w.args[i].Text:
			w.give(i, o, "", false) // tar xfz file, bash -oc name: letters go on
		default:
			w.give(i, o, letters[k:], k < len(letters))
			return
		}
	}
}

// give binds option o, met at word i, with its argument: attached, or the next
// word, or all words up to one of Until.
func (w *binder) give(i int, o *option, value string, attached bool) {
	w.Options = append(w.Options, Option{o.name, i})
	exact := w.args[i].Exact
	switch {
	case o.Arg == "":
		if attached && value == "false" && exact {
			w.Options = w.Options[:len(w.Options)-1]
			w.text(i)
			return
		}
		if attached && (value != "true" || !exact) && !w.Spec.Lenient {
			w.unread(i)
		}
		w.apply(o, i, guard.Word{})
	case attached:
		word := guard.Word{Text: value, Exact: exact}
		switch o.Arg {
		case Exec:
			w.Parts = append(w.Parts, Part{Role: Exec, Word: word, Index: i, Rest: []guard.Word{word}, Flag: o.name})
		default:
			w.argument(i, o, word)
		}
		w.more(i, o)
		w.apply(o, i, word)
	case o.Optional:
		w.apply(o, i, guard.Word{})
	case o.Arg == Exec:
		w.run(i, o)
	case w.next >= len(w.args):
		w.unread(i) // its argument is missing
	default:
		k := w.next
		w.next++
		w.argument(k, o, w.args[k])
		w.more(i, o)
		w.apply(o, i, w.args[k])
	}
}

// more binds the further arguments of an option.
func (w *binder) more(i int, o *option) {
	for _, role := range o.More {
		if w.next >= len(w.args) {
			w.unread(i)
			return
		}
		w.Parts = append(w.Parts, Part{Role: role, Word: w.args[w.next], Index: w.next, Flag: o.name})
		w.next++
	}
}

// argument binds an option's argument, word or part of word k.
func (w *binder) argument(k int, o *option, word guard.Word) {
	if o.Arg != Sub {
		w.Parts = append(w.Parts, Part{Role: o.Arg, Word: word, Index: k, Flag: o.name})
		return
	}
	s, name := w.Spec.sub(word.Text)
	w.Parts = append(w.Parts, Part{Role: Text, Word: word, Index: k, Flag: o.name})
	if s == nil || !word.Exact {
		w.Unread = append(w.Unread, word.Text)
		w.closed = true
		return
	}
	w.Path = append(w.Path, name)
	w.enter(s)
}

// run binds the words of a command that is an option's argument.
func (w *binder) run(i int, o *option) {
	from, to, end := w.next, len(w.args), len(w.args)
	for k := from; k < len(w.args) && to == len(w.args); k++ {
		for _, u := range o.Until {
			first, second, two := strings.Cut(u, " ")
			if u == "" {
				continue
			}
			if two && k > from && w.is(k-1, first) && w.is(k, second) || !two && w.is(k, u) {
				to, end = k, k+1
			}
		}
	}
	if from == to || end == to && o.Until != nil && !slices.Contains(o.Until, "") {
		w.unread(i)
	}
	w.next = end
	if from < to {
		w.Parts = append(w.Parts, Part{Role: Exec, Word: w.args[from], Index: from, Rest: w.args[from:to:to], Flag: o.name})
		w.apply(o, i, w.args[from])
	}
	if to < end {
		w.text(to)
	}
}

func (w *binder) is(k int, text string) bool { return w.args[k].Exact && w.args[k].Text == text }

// apply takes account of what else the option does.
func (w *binder) apply(o *option, i int, value guard.Word) {
	if o.Operands != nil {
		if w.by != nil && !slices.Equal(w.by.Operands, o.Operands) {
			w.unread(i) // two options of which each wants other operands
		}
		w.by, w.list = o, o.replace
	}
	if first := !slices.Contains(w.applied, o.Flag); first || o.own {
		if o.Effects != nil {
			w.given = append(w.given, given{o, value})
		}
		if first && (o.Effects != nil || o.Turns != nil || o.Drop != nil) {
			w.applied = append(w.applied, o.Flag)
			if o.Turns != nil {
				w.turns = append(w.turns, o.Turns)
			}
			for _, kind := range o.Drop {
				w.drop = append(w.drop, dropped{kind, o})
			}
		}
	}
	w.closed = w.closed || o.Ends
	w.deep = w.deep || o.Deep
	w.Harmless = w.Harmless || o.Harmless
}
