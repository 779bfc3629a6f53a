package plugin

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"handrail/guard"
	"handrail/guard/lang"
	"handrail/guard/text"
)

// view is a call as guards look at it: made once for all of them.
type view struct {
	*guard.EvalContext
	home      string
	raw       string   // the command as sent; safe_bash only
	texts     []words  // of each command
	languages []string // that the call gives code of
	hidden    bool     // something about it cannot be known
	typed     map[*guard.Effect]string
	open      kindSet // of effects whose target is not known exactly, or has more below it
}

// kindSet is a set of kinds: a bit for each.
type kindSet uint32

// words are the forms of a command's text.
type words struct {
	whole string   // every word as a shell would read it, wrappers first; empty where one is not known
	forms []string // for what tightens: with and without wrappers and quotes
}

func newView(c *guard.EvalContext, home string) *view {
	v := &view{EvalContext: c, home: home}
	if c.ToolName == bash {
		var args struct {
			Command string `json:"command"`
		}
		_ = json.Unmarshal(c.Input, &args) // the tool has bound it; what is no object has no command
		v.raw = args.Command
	}
	var argv [][]string
	for i := range c.Facts.Commands {
		cmd := &c.Facts.Commands[i]
		v.texts = append(v.texts, textOf(cmd))
		list := []string{cmd.Name}
		for _, w := range cmd.Args {
			list = append(list, w.Text)
		}
		argv = append(argv, list)
	}
	var files []string
	for i := range c.Facts.Effects {
		e := &c.Facts.Effects[i]
		v.hidden = v.hidden || e.Kind == guard.Unknown
		if !e.Exact || takesAll(e) || onDisk(e.Kind) && !path.IsAbs(e.Target) {
			v.open |= 1 << e.Kind
		}
		if e.Kind == guard.Code || c.ToolName != bash {
			files = append(files, e.Target)
		}
	}
	v.languages = lang.Detect(c.ToolName == bash, argv, files)
	return v
}

func textOf(c *guard.Command) words {
	plain, quoted := []string{c.Name}, []string{c.Name}
	exact := c.Name != ""
	for _, w := range c.Args {
		plain, quoted = append(plain, w.Text), append(quoted, text.Quote(w.Text))
		exact = exact && w.Exact
	}
	via := strings.Join(c.Via, " ")
	w := words{forms: []string{strings.Join(plain, " ")}}
	add := func(form string) {
		if !slices.Contains(w.forms, form) {
			w.forms = append(w.forms, form)
		}
	}
	q := strings.Join(quoted, " ")
	add(q)
	if via != "" {
		add(via + " " + w.forms[0])
		add(via + " " + q)
		q = via + " " + q
	}
	if exact {
		w.whole = q
	}
	return w
}

// size is how much text expressions are compared with, in bytes.
func (v *view) size() int {
	n := len(v.raw)
	for _, w := range v.texts {
		n += len(w.whole)
		for _, form := range w.forms {
			n += len(form)
		}
	}
	return n
}

// onDisk reports whether effects of the kind have a path as target.
func onDisk(k guard.Kind) bool { return k == guard.Read || k == guard.Write || k == guard.Delete }

// command returns the command that does e, or nil.
func (v *view) command(e *guard.Effect) *guard.Command {
	if e.Command < 0 || e.Command >= len(v.Facts.Commands) {
		return nil
	}
	return &v.Facts.Commands[e.Command]
}

// writtenOnce is written, which many guards ask for.
func (v *view) writtenOnce(e *guard.Effect) string {
	w, ok := v.typed[e]
	if !ok {
		if v.typed == nil {
			v.typed = map[*guard.Effect]string{}
		}
		w = v.written(e)
		v.typed[e] = w
	}
	return w
}

// written is where the path of e is as it was typed, without following links;
// empty where that says nothing.
func (v *view) written(e *guard.Effect) string {
	w := e.Written
	switch {
	case w == "" || strings.ContainsAny(w, "$`*?[{\"'\\"):
		return ""
	case strings.HasPrefix(w, "~/"):
		return path.Join(v.home, w[1:])
	case !path.IsAbs(w):
		return path.Join(v.Facts.Dir, w)
	}
	return path.Clean(w)
}

// haystack is all text in which a literal that a pattern needs must stand.
func (v *view) haystack() string {
	var b strings.Builder
	line := func(s string) {
		b.WriteString(s)
		b.WriteByte('\n')
	}
	line(v.raw)
	line(v.Facts.Dir)
	line(v.home)
	for _, w := range v.texts {
		for _, form := range w.forms {
			line(form)
		}
	}
	for i := range v.Facts.Effects {
		e := &v.Facts.Effects[i]
		line(e.Target)
		line(e.Written)
		if e.Kind == guard.Network || e.Kind == guard.Remote {
			for _, form := range hosts(e.Target) {
				line(form)
			}
		}
	}
	return fold(b.String())
}
