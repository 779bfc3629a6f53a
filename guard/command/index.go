package command

import (
	"cmp"
	"slices"
	"strings"

	"handrail/guard"
)

// index is a Spec made ready for binding.
type index struct {
	up    *Spec
	flags map[string]bool // as given in the file
	names map[string]bool // of subcommands, as given in the file

	options  map[string]*option // by name, with its dashes
	long     []string           // names with two dashes, sorted
	globs    []globOption       // longest first
	values   []globOption       // "if=" and "*="
	odd      bool               // some option begins with neither dash nor plus
	subs     map[string]*sub
	subGlobs []subGlob // longest first
	operands operands
	dashdash operands
	words    []word // exact ones first, then the longest
	bySwitch bool   // subcommands are named by an option, not by an operand
	risky    bool   // some option does more than read
}

type option struct {
	name    string
	*Flag   // shared by all names of an entry
	replace operands
	own     bool // its effects name its argument
}

type globOption struct {
	glob, literal string // literal is what comes before the first special character
	opt           *option
}

type word struct {
	glob string
	role Role
}

type sub struct {
	name string // the first of its entry
	spec *Spec
}

type subGlob struct {
	glob string
	spec *Spec
}

// operands are roles in order, made ready.
type operands struct {
	set    bool
	roles  []Role // without assign and the dots
	repeat int    // index of the role that repeats, or -1
	assign int    // place before which NAME=VALUE words may stand, or -1
}

func (x *index) flag(name string) {
	if x.flags == nil {
		x.flags = map[string]bool{}
	}
	x.flags[name] = true
}

func (x *index) name(name string) {
	if x.names == nil {
		x.names = map[string]bool{}
	}
	x.names[name] = true
}

// isPattern reports whether a name is a pattern; "[" is the program.
func isPattern(name string) bool {
	return strings.ContainsAny(name, "*?") || strings.Contains(name, "[") && strings.Contains(name, "]")
}

// rank puts names before patterns.
func rank(name string) int {
	if isPattern(name) {
		return 1
	}
	return 0
}

// longer orders patterns: the longer one first.
func longer(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) }

// compile fills s.index. The parent is compiled already.
func (s *Spec) compile() {
	x := s.index
	x.options = map[string]*option{}
	for key, f := range s.Flags {
		replace := arrange(f.Operands)
		own := slices.ContainsFunc(f.Effects, func(t Template) bool { return strings.Contains(string(t), "$0") })
		for _, name := range list(key) {
			x.enter(name, &option{name, &f, replace, own}, s.Options == GoCmd)
		}
		x.risky = x.risky || f.risky(s)
		x.bySwitch = x.bySwitch || f.Arg == Sub
	}
	if up := x.up; up != nil {
		x.inherit(up.index)
	}
	for name := range x.options {
		if strings.HasPrefix(name, "--") {
			x.long = append(x.long, name)
		}
	}
	slices.Sort(x.long)
	byLength := func(a, b globOption) int { return longer(a.glob, b.glob) }
	slices.SortFunc(x.globs, byLength)
	slices.SortFunc(x.values, func(a, b globOption) int {
		return cmp.Or(cmp.Compare(rank(a.glob), rank(b.glob)), longer(a.glob, b.glob))
	})
	x.operands, x.dashdash = arrange(s.Operands), arrange(s.Dashdash)
	for glob, role := range s.Words {
		x.words = append(x.words, word{glob, role})
	}
	slices.SortFunc(x.words, func(a, b word) int {
		return cmp.Or(cmp.Compare(rank(a.glob), rank(b.glob)), longer(a.glob, b.glob))
	})
	x.subs = map[string]*sub{}
	for key, spec := range s.Sub {
		names := list(key)
		for _, name := range names {
			if isPattern(name) {
				x.subGlobs = append(x.subGlobs, subGlob{name, spec})
			} else {
				x.subs[name] = &sub{names[0], spec}
			}
		}
	}
	slices.SortFunc(x.subGlobs, func(a, b subGlob) int { return longer(a.glob, b.glob) })
}

func (x *index) enter(name string, o *option, goStyle bool) {
	switch {
	case strings.HasSuffix(name, "=") && name[0] != '-' && name[0] != '+':
		x.values = append(x.values, globOption{glob: strings.TrimSuffix(name, "="), opt: o})
	case isPattern(name):
		x.globs = append(x.globs, globOption{name, name[:strings.IndexAny(name, "*?[")], o})
	default:
		x.options[name] = o
		x.odd = x.odd || name[0] != '-' && name[0] != '+' || name == "-"
		if bare := strings.TrimLeft(name, "-"); goStyle && bare != name {
			x.options["-"+bare], x.options["--"+bare] = o, o
		}
	}
}

func (x *index) inherit(up *index) {
	for name, o := range up.options {
		if _, own := x.options[name]; !own {
			x.options[name] = o
		}
	}
	x.globs = append(x.globs, up.globs...)
	x.values = append(x.values, up.values...)
	x.odd = x.odd || up.odd
	x.risky = x.risky || up.risky
}

func arrange(roles []Role) operands {
	o := operands{set: roles != nil, repeat: -1, assign: -1}
	for _, r := range roles {
		name, more := strings.CutSuffix(string(r), "...")
		if r == Assign {
			o.assign = len(o.roles)
			continue
		}
		if more {
			o.repeat = len(o.roles)
		}
		o.roles = append(o.roles, Role(name))
	}
	return o
}

// risky reports whether the option does more than read.
func (f *Flag) risky(s *Spec) bool {
	mild := func(r Role) bool {
		kind, _, ok := r.Kind()
		return r == "" || r == Text || r == Text+"..." || r == Filelist || r == Chdir || r == Awk || r == Sed || ok && kind == guard.Read
	}
	risky := !mild(f.Arg)
	for _, r := range f.Operands {
		risky = risky || !mild(Role(strings.TrimSuffix(string(r), "...")))
	}
	for from, to := range f.Turns {
		risky = risky || from != string(to) && !mild(to)
	}
	for _, t := range f.Effects {
		role, _ := t.split()
		risky = risky || !mild(role)
	}
	for _, r := range s.Operands {
		risky = risky || f.Deep && !mild(Role(strings.TrimSuffix(string(r), "...")))
	}
	return risky
}

// sub finds a subcommand by its name.
func (s *Spec) sub(name string) (*Spec, string) {
	if sub := s.index.subs[name]; sub != nil {
		return sub.spec, sub.name
	}
	for _, g := range s.index.subGlobs {
		if match(g.glob, name) {
			return g.spec, name
		}
	}
	return nil, ""
}

// option finds the option that word begins with, for styles with whole names;
// value is what stands after "=", if attached.
func (s *Spec) option(word string) (o *option, value string, attached bool) {
	x := s.index
	if o := x.options[word]; o != nil {
		return o, "", false
	}
	if i := strings.IndexByte(word, '='); i > 0 {
		if o := x.options[word[:i]]; o != nil {
			return o, word[i+1:], true
		}
	}
	for i := range x.globs {
		if match(x.globs[i].glob, word) {
			o := x.globs[i].opt
			return o, word[len(x.globs[i].literal):], o.Arg != ""
		}
	}
	return nil, "", false
}

// prefix finds a long option by an unambiguous beginning of its name.
func (s *Spec) prefix(word string) (o *option, value string, attached bool) {
	name, value, attached := strings.Cut(word, "=")
	i, _ := slices.BinarySearch(s.index.long, name)
	for ; i < len(s.index.long) && strings.HasPrefix(s.index.long[i], name); i++ {
		found := s.index.options[s.index.long[i]]
		if o != nil && o.Flag != found.Flag {
			return nil, "", false
		}
		o = found
	}
	return o, value, attached
}
