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
	weight   int    // of the own option that can do most
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
		x.weight = max(x.weight, f.weight(s))
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
		if o.Harmless && len(name) == 2 {
			continue // docker -v prints a version, docker rm -v removes volumes
		}
		if _, own := x.options[name]; !own {
			x.options[name] = o
		}
	}
	x.globs = append(x.globs, up.globs...)
	x.values = append(x.values, up.values...)
	x.odd = x.odd || up.odd
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

// weight says how much a role can do: 0 reads at most, 1 changes paths, 2
// reaches beyond this machine's files, 3 is code or rights, or is lost for good.
func weight(r Role) int {
	r = Role(strings.TrimSuffix(string(r), "..."))
	switch r {
	case "", Text, Mention, Filelist, Chdir, Awk, Sed, Method, Stdin, Assign:
		return 0
	case Move, Into, RevPath:
		return 1
	case Exec, Shell, Script, Inline, Config, Sub:
		return 3
	}
	switch kind, action, ok := r.Kind(); {
	case ok && kind == guard.Read, ok && kind == guard.Remote && action == "read":
		return 0
	case ok && (kind == guard.Write || kind == guard.Delete):
		return 1
	case !ok, kind == guard.Network, kind == guard.Install, kind == guard.Remote && (action == "" || action == "push"):
		return 2
	}
	return 3
}

// weight says how much the option can do in a call of s.
func (f *Flag) weight(s *Spec) int {
	most := weight(f.Arg)
	for _, r := range f.Operands {
		most = max(most, weight(r))
	}
	for _, to := range f.Turns {
		most = max(most, weight(to))
	}
	for _, t := range f.Effects {
		role, _ := t.split()
		most = max(most, weight(role))
	}
	for _, r := range s.Operands {
		if f.Deep {
			most = max(most, weight(r))
		}
	}
	return most
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
