package command

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"handrail/guard"
)

//go:embed specs
var files embed.FS

var builtin = sync.OnceValues(func() (*Table, error) { return Load(files, "specs/*.yaml") })

// Builtin returns the table made from the embedded specs. It is read once.
func Builtin() (*Table, error) { return builtin() }

// Load reads the spec files that match names: each maps "name, alias,
// glob*" to a Spec. It is strict: an unknown key, role, kind or action, a name,
// flag or subcommand given twice, a template that cannot be, are errors, each
// with file:line, all of them joined.
func Load(fsys fs.FS, names string) (*Table, error) {
	paths, err := fs.Glob(fsys, names)
	if err != nil {
		return nil, err
	}
	t := &Table{specs: map[string]*Spec{}}
	r := &reader{where: map[string]string{}}
	for _, name := range paths {
		b, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		r.file = path.Base(name)
		r.read(t, b)
	}
	r.link(t)
	if err := errors.Join(r.errs...); err != nil {
		return nil, err
	}
	slices.Sort(t.names)
	slices.SortFunc(t.patterns, func(a, b pattern) int { return longer(a.glob, b.glob) })
	for _, s := range r.specs { // parents come before their subcommands
		s.compile()
	}
	return t, nil
}

// reader reads spec files and gathers what is wrong with them.
type reader struct {
	file   string
	where  map[string]string // program -> file:line
	merged bool              // reading what "<<" brings in
	specs  []*Spec
	uses   []use
	errs   []error
}

// use is an entry that stands for that of another program.
type use struct {
	at   string
	name string
	set  func(*Spec)
}

func (r *reader) at(n *yaml.Node) string { return fmt.Sprintf("%s:%d", r.file, n.Line) }

func (r *reader) errorf(n *yaml.Node, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("%s: %s", r.at(n), fmt.Sprintf(format, args...)))
}

func (r *reader) read(t *Table, b []byte) {
	var doc yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil {
		r.errs = append(r.errs, fmt.Errorf("%s: %w", r.file, err))
		return
	}
	if len(doc.Content) == 0 {
		return // nothing but comments
	}
	r.pairs(doc.Content[0], func(k, v *yaml.Node) {
		names := list(k.Value)
		if len(names) == 0 {
			r.errorf(k, "a program has no name")
			return
		}
		set := func(s *Spec) { t.add(names, s) }
		for _, name := range names {
			if old, ok := r.where[name]; ok {
				r.errorf(k, "%s is already at %s", name, old)
			}
			r.plain(k, name)
			r.where[name] = r.at(k)
		}
		s := r.spec(v, nil)
		if s.Use != "" {
			r.uses = append(r.uses, use{r.at(v), s.Use, set})
			return
		}
		set(s)
	})
}

// link lets entries with Use stand for the entry that they name, which may
// have been one of these too.
func (r *reader) link(t *Table) {
	for left := r.uses; len(left) > 0; {
		var again []use
		for _, u := range left {
			if s := t.specs[u.name]; s != nil {
				u.set(s)
			} else {
				again = append(again, u)
			}
		}
		if len(again) == len(left) {
			for _, u := range left {
				r.errs = append(r.errs, fmt.Errorf("%s: use: %s is no program in the table", u.at, u.name))
			}
			return
		}
		left = again
	}
}

// spec reads one entry, and compiles nothing yet. up is the parent or nil.
func (r *reader) spec(n *yaml.Node, up *Spec) *Spec {
	s := &Spec{Flags: map[string]Flag{}, index: &index{up: up}}
	r.specs = append(r.specs, s)
	if up != nil {
		s.Options, s.Lang = up.Options, up.Lang
	}
	fields := 0
	r.pairs(n, func(k, v *yaml.Node) { // what subcommands inherit comes first
		switch k.Value {
		case "options":
			s.Options = oneOf(r, v, GNU, POSIX, Words, GoCmd, Tar, None)
		case "lang":
			s.Lang = oneOf(r, v, langs...)
		}
	})
	r.pairs(n, func(k, v *yaml.Node) {
		if k.Value != "doc" {
			fields++
		}
		switch k.Value {
		case "options", "lang":
		case "doc":
			r.decode(v, &s.Doc)
		case "lenient":
			r.decode(v, &s.Lenient)
		case "flags":
			r.pairs(v, func(k, v *yaml.Node) { r.flag(s, k, k.Value, r.flagValue(v)) })
		case "plain":
			r.words(v, func(name string) { r.flag(s, v, name, Flag{}) })
		case "takes":
			r.words(v, func(name string) { r.flag(s, v, name, Flag{Arg: Text}) })
		case "operands":
			s.Operands = r.roles(v, true)
		case "words":
			s.Words = map[string]Role{}
			r.pairs(v, func(k, v *yaml.Node) { s.Words[k.Value] = r.role(v, v.Value) })
		case "dashdash":
			s.Dashdash = r.roles(v, true)
		case "implied":
			s.Implied = r.templates(v)
		case "effects":
			s.Effects = r.templates(v)
		case "sub":
			r.subs(s, v)
		case "use":
			r.decode(v, &s.Use)
		case "reads":
			s.Reads = oneOf(r, v, "code", "args", "sql")
		case "wrapper":
			r.decode(v, &s.Wrapper)
		case "deep":
			r.decode(v, &s.Deep)
		case "builds":
			r.decode(v, &s.Builds)
		default:
			r.errorf(k, "unknown field %q of a program", k.Value)
		}
	})
	if s.Use != "" && fields > 1 {
		r.errorf(n, "use: %s stands beside other fields", s.Use)
	}
	return s
}

func (r *reader) subs(s *Spec, n *yaml.Node) {
	s.Sub = map[string]*Spec{}
	r.pairs(n, func(k, v *yaml.Node) {
		names := list(k.Value)
		if len(names) == 0 {
			r.errorf(k, "a subcommand has no name")
		}
		for _, name := range names {
			if s.index.names[name] {
				r.errorf(k, "subcommand %s is given twice", name)
			}
			r.plain(k, name)
			s.index.name(name)
		}
		sub := r.spec(v, s)
		s.Sub[k.Value] = sub
		if sub.Use != "" {
			r.uses = append(r.uses, use{r.at(v), sub.Use, func(other *Spec) { s.Sub[k.Value] = other }})
		}
	})
}

// plain refuses names with quotes in them, which YAML did not take as quotes.
func (r *reader) plain(n *yaml.Node, name string) {
	if strings.ContainsAny(name, "\"' \t") {
		r.errorf(n, "name %s has a quote or a space in it: quote the whole key", name)
	}
}

// flag enters a flag under a key like "-f, --force".
func (r *reader) flag(s *Spec, n *yaml.Node, key string, f Flag) {
	names := list(key)
	if r.merged { // what the entry says itself wins
		names = slices.DeleteFunc(names, func(name string) bool { return s.index.flags[name] })
		key = strings.Join(names, ", ")
	}
	if len(names) == 0 && !r.merged {
		r.errorf(n, "a flag has no name")
	}
	for _, name := range names {
		r.plain(n, name)
		if err := flagName(name); err != nil {
			r.errorf(n, "flag %s: %v", name, err)
		}
		if s.index.flags[name] {
			r.errorf(n, "flag %s is given twice", name)
		}
		s.index.flag(name)
		if strings.HasSuffix(name, "=") && f.Arg == "" {
			r.errorf(n, "flag %s needs the role of its value", name)
		}
	}
	if len(names) > 0 {
		s.Flags[key] = f
	}
}

// flagValue reads what one flag does; a scalar is the role of its argument.
func (r *reader) flagValue(n *yaml.Node) (f Flag) {
	if n.Kind == yaml.ScalarNode {
		if n.Tag != "!!null" {
			f.Arg = r.role(n, n.Value)
		}
		return f
	}
	r.pairs(n, func(k, v *yaml.Node) {
		switch k.Value {
		case "arg":
			f.Arg = r.role(v, v.Value)
		case "optional":
			r.decode(v, &f.Optional)
		case "until":
			r.decode(v, &f.Until)
		case "effects":
			f.Effects = r.templates(v)
		case "operands":
			f.Operands = r.roles(v, true)
		case "turns":
			f.Turns = map[string]Role{}
			r.pairs(v, func(k, v *yaml.Node) {
				if k.Value[0] != '-' { // else an option
					r.role(k, k.Value)
				}
				f.Turns[k.Value] = r.role(v, v.Value)
			})
		case "separate":
			r.decode(v, &f.Separate)
		case "more":
			f.More = r.roles(v, false)
		case "ends":
			r.decode(v, &f.Ends)
		case "deep":
			r.decode(v, &f.Deep)
		case "harmless":
			r.decode(v, &f.Harmless)
		case "drop":
			r.decode(v, &f.Drop)
		default:
			r.errorf(k, "unknown field %q of a flag", k.Value)
		}
	})
	if f.Optional && f.Arg == "" || (f.Separate || f.More != nil) && f.Arg == "" || f.Until != nil && f.Arg != Exec {
		r.errorf(n, "optional, separate and more need an argument, until one that is exec")
	}
	return f
}

// langs are the languages of code on a command line or in a file.
var langs = []string{
	"shell", "python", "js", "ruby", "perl", "php", "lua", "r", "go", "tcl", "lisp", "sql",
	"powershell", "java", "groovy", "elixir", "julia", "make", "gdb", "vim", "sed", "awk", "applescript", "other",
}

// kindByName finds a kind of effect by its name.
var kindByName = func() map[string]guard.Kind {
	m := map[string]guard.Kind{}
	for k := range guard.Actions {
		m[k.String()] = k
	}
	return m
}()
