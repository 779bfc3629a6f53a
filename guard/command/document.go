package command

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Document writes what the table knows of a program, for people. It reports
// false where the program is not listed.
func (t *Table) Document(out io.Writer, program string) bool {
	s := t.Lookup(program)
	if s == nil {
		return false
	}
	s.document(out, program, "")
	return true
}

func (s *Spec) document(out io.Writer, name, indent string) {
	line := func(format string, args ...any) { fmt.Fprintf(out, indent+format+"\n", args...) }
	line("%s  %s", name, s.Doc)
	indent += "    "
	if s.Lenient {
		line("options that are not listed do nothing that matters")
	}
	if s.Operands != nil {
		line("operands: %s", join(s.Operands))
	}
	for _, word := range slices.Sorted(maps.Keys(s.Words)) {
		line("operand %s: %s", word, s.Words[word])
	}
	if s.Dashdash != nil {
		line("after --: %s", join(s.Dashdash))
	}
	for _, t := range s.Implied {
		line("without operands: %s", t)
	}
	for _, t := range s.Effects {
		line("always: %s", t)
	}
	if s.Reads != "" {
		line("reads %s from standard input", s.Reads)
	}
	for _, key := range slices.Sorted(maps.Keys(s.Flags)) {
		line("%s", strings.TrimRight(fmt.Sprintf("%-24s %s", key, s.Flags[key].describe()), " "))
	}
	for _, key := range slices.Sorted(maps.Keys(s.Sub)) {
		s.Sub[key].document(out, key, indent)
	}
}

// describe says in a few words what an option does.
func (f Flag) describe() string {
	var words []string
	if f.Arg != "" {
		words = append(words, "ARG is "+string(f.Arg))
	}
	for _, role := range f.More {
		words = append(words, "then "+string(role))
	}
	if f.Operands != nil {
		words = append(words, "operands: "+join(f.Operands))
	}
	for _, from := range slices.Sorted(maps.Keys(f.Turns)) {
		words = append(words, from+" becomes "+string(f.Turns[from]))
	}
	for _, t := range f.Effects {
		words = append(words, string(t))
	}
	for _, kind := range f.Drop {
		words = append(words, "no "+kind.String())
	}
	if f.Deep {
		words = append(words, "everything below too")
	}
	if f.Harmless {
		words = append(words, "changes nothing")
	}
	return strings.Join(words, "; ")
}

func join(roles []Role) string {
	words := make([]string, len(roles))
	for i, r := range roles {
		words[i] = string(r)
	}
	return strings.Join(words, " ")
}
