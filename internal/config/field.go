package config

import (
	"cmp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// reach says what a file of a project may do to a setting. The zero value is
// the strictest that makes sense: nothing but the user's own file loosens it.
type reach uint8

const (
	tightens reach = iota // a project may tighten it, trusted or not
	trusted               // and loosen it once the user trusts the file
	private               // a project cannot set it at all
)

// field is one setting of the tree, or a section where fields is not nil. All
// that is known of a setting stands in one row: how it is written, where it
// lies in Config, and which of two values is stricter. Reading, merging, trust,
// the commented default and the JSON Schema come from the rows.
type field struct {
	key    string
	doc    string // one or two sentences; the comment and the schema's description
	sample string // a value for the commented default, as YAML
	reach  reach
	fields []field

	read   func(c *Config, n *yaml.Node) error
	show   func(c *Config) string
	take   func(c, from *Config) // from's value replaces that of c
	strict func(c, from *Config) // c gets what neither value would refuse
	under  func(c, from *Config) // what the user's file does to a value that the managed file sets
	join   func(c, from *Config) // what a trusted project's file does
	schema schema
	env    bool // the environment may tighten it
	adds   bool // the stricter of two lists is both together
	rests  bool // default_deny speaks about it
}

// section groups settings under a key.
func section(key, doc string, fields ...field) field {
	return field{key: key, doc: doc, fields: fields}
}

// setting makes a row: at is where the value lies, f how it is written, and
// strict returns the stricter of two values, or what is as strict as both.
func setting[T any](key, doc, sample string, at func(*Config) *T, f form[T], strict func(a, b T) T) field {
	row := field{
		key: key, doc: doc, sample: sample, schema: f.schema, env: true,
		read: func(c *Config, n *yaml.Node) error {
			v, err := f.read(c, n)
			if err == nil {
				*at(c) = v
			}
			return err
		},
		show:   func(c *Config) string { return f.show(*at(c)) },
		take:   func(c, from *Config) { *at(c) = *at(from) },
		strict: func(c, from *Config) { *at(c) = strict(*at(c), *at(from)) },
	}
	row.under, row.join = row.strict, row.strict
	return row
}

// in says what a project may do to the setting. What it may not set, the
// environment may not either.
func (f field) in(r reach) field {
	f.reach, f.env = r, f.env && r != private
	if r == trusted {
		f.join = f.take
	}
	return f
}

// joined is a list to which a trusted project adds.
func joined(f field, at func(*Config) *[]string) field {
	f = f.in(trusted)
	f.join = func(c, from *Config) { *at(c) = union(*at(c), *at(from)) }
	return f
}

// adding marks a list of what is refused.
func (f field) adding() field {
	f.adds = true
	return f
}

// lively reports whether a change counts while the server runs: what makes rules.
func (f *field) lively() bool { return f.reach != private }

// starting marks settings that count when the server starts, and for all projects
// that it comes to serve: a project cannot set them, since nothing would come of it.
func starting(fields ...field) []field {
	for i := range fields {
		fields[i].reach, fields[i].fields = private, starting(fields[i].fields...)
	}
	return fields
}

// leaves calls f for every setting with its path, as in tools.safe_bash.allow.
func leaves(fields []field, f func(path string, leaf *field)) {
	var walk func(prefix string, fields []field)
	walk = func(prefix string, fields []field) {
		for i := range fields {
			path := prefix + fields[i].key
			if fields[i].fields != nil {
				walk(path+".", fields[i].fields)
				continue
			}
			f(path, &fields[i])
		}
	}
	walk("", fields)
}

// variable is the environment variable of a setting.
func variable(path string) string {
	return "HANDRAIL_" + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

// The orders: which of two values is stricter.

// first keeps the word that counts more: neither value is the stricter one.
func first[T any](a, _ T) T { return a }

// least and most are for numbers; zero, which is "not set", is the loosest.
func least[T cmp.Ordered](a, b T) T {
	var zero T
	if a == zero || b != zero && b < a {
		return b
	}
	return a
}

// both and either are for switches: strict when off, and strict when on.
func both(a, b bool) bool   { return a && b }
func either(a, b bool) bool { return a || b }

// ranked is for words, the strictest first. A word that is not listed is
// refused when it is read.
func ranked(words ...string) func(a, b string) string {
	return func(a, b string) string {
		if slices.Index(words, b) < slices.Index(words, a) {
			return b
		}
		return a
	}
}

// union is for lists of what is refused.
func union(a, b []string) []string {
	if len(a)+len(b) == 0 {
		return nil
	}
	all := slices.Clone(a)
	for _, w := range b {
		if !slices.Contains(all, w) {
			all = append(all, w)
		}
	}
	return all
}

// common is for lists of what is free: what both have, by covers(wide, narrow).
func common(covers func(wide, narrow string) bool) func(a, b []string) []string {
	return func(a, b []string) []string {
		var kept []string
		for _, pair := range [][2][]string{{a, b}, {b, a}} {
			for _, w := range pair[0] {
				if !slices.Contains(kept, w) && slices.ContainsFunc(pair[1], func(o string) bool { return o == w || covers(o, w) }) {
					kept = append(kept, w)
				}
			}
		}
		return kept
	}
}

// only is for lists that, where they are given, name all that is left: nil is
// no limit, an empty list leaves nothing.
func only(covers func(wide, narrow string) bool) func(a, b []string) []string {
	shared := common(covers)
	return func(a, b []string) []string {
		switch {
		case a == nil:
			return b
		case b == nil:
			return a
		}
		if kept := shared(a, b); kept != nil {
			return kept
		}
		return []string{}
	}
}

// changes reports whether two configurations differ in a setting.
func (f *field) changes(a, b *Config) bool { return f.show(a) != f.show(b) }
