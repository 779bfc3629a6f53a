package cli

import (
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"text/tabwriter"

	"handrail/guard/command"
)

var commandsCommand = subcommand{
	name:  "commands",
	usage: "[NAME [SUBCOMMAND]...]",
	short: "list the programs the guard knows, or print what it knows of one",
	doc: `What is printed is what decides: the role of each flag and operand. A program, flag
or subcommand that is not in the table is asked about.`,
	run: showCommands,
}

func showCommands(s streams, args []string) (int, error) {
	rest, err := newFlags("commands").operands(args, 0, -1)
	if err != nil {
		return 0, err
	}
	table, err := command.Builtin()
	if err != nil {
		return 0, err
	}
	if len(rest) == 0 {
		tw := tabwriter.NewWriter(s.stdout, 0, 0, 2, ' ', 0)
		for _, name := range table.Names() {
			doc := ""
			if spec := table.Lookup(name); spec != nil {
				doc = sentence(spec.Doc)
			}
			fmt.Fprintf(tw, "%s\t%s\n", name, doc)
		}
		return 0, tw.Flush()
	}
	spec := table.Lookup(rest[0])
	if spec == nil {
		return 0, fmt.Errorf("%w (what is not in the table is not wrong: it is asked about)", unknown("program", rest[0], table.Names()))
	}
	for _, name := range rest[1:] {
		sub := subOf(spec, name)
		if sub == nil {
			return 0, unknown("subcommand", name, split(strings.Join(slices.Collect(maps.Keys(spec.Sub)), ",")))
		}
		spec = sub
		if spec.Use != "" {
			spec = table.Lookup(spec.Use)
		}
	}
	printSpec(s.stdout, strings.Join(rest, " "), spec)
	return 0, nil
}

// subOf finds a subcommand by one of the names or patterns of its entry.
func subOf(spec *command.Spec, name string) *command.Spec {
	for names, sub := range spec.Sub {
		if slices.Contains(split(names), name) {
			return sub
		}
	}
	for names, sub := range spec.Sub {
		for _, pattern := range split(names) {
			if ok, err := path.Match(pattern, name); ok && err == nil {
				return sub
			}
		}
	}
	return nil
}

// split takes the names of an entry apart.
func split(names string) []string {
	return strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' })
}

// printSpec prints an entry: what each word and option means, and then which
// they are.
func printSpec(w io.Writer, name string, spec *command.Spec) {
	fmt.Fprintln(w, name)
	if spec.Doc != "" {
		fmt.Fprintln(w, wrap(spec.Doc, 80))
	}
	fmt.Fprintln(w)
	pair(w, "operands", words(spec.Operands))
	pair(w, "after --", words(spec.Dashdash))
	pair(w, "without operands", words(spec.Implied))
	pair(w, "always", words(spec.Effects))
	pair(w, "language", spec.Lang)
	pair(w, "standard input is", spec.Reads)
	qualities := choose(
		quality{"starts another program", spec.Wrapper},
		quality{"concerns all below its paths", spec.Deep},
		quality{"options not listed do nothing that matters", spec.Lenient})
	pair(w, "also", strings.Join(qualities, "; "))
	means := map[string][]string{}
	for word, role := range spec.Words {
		means[string(role)] = append(means[string(role)], word)
	}
	table(w, "words", means)
	means = map[string][]string{}
	for names, flag := range spec.Flags {
		m := flagText(flag)
		means[m] = append(means[m], split(names)...)
	}
	table(w, "options", means)
	means = map[string][]string{}
	for names, sub := range spec.Sub {
		m := subText(sub)
		means[m] = append(means[m], split(names)...)
	}
	table(w, "subcommands", means)
}

// table prints under a title what there is, by what it means.
func table(w io.Writer, title string, means map[string][]string) {
	if len(means) > 0 {
		fmt.Fprintf(w, "\n%s\n", title)
	}
	for _, m := range slices.Sorted(maps.Keys(means)) {
		slices.Sort(means[m])
		pair(w, m, strings.Join(means[m], ", "))
	}
}

// subText says in a line what a subcommand is.
func subText(sub *command.Spec) string {
	switch {
	case sub.Doc != "":
		return sentence(sub.Doc)
	case sub.Use != "":
		return "as " + sub.Use
	case len(sub.Effects)+len(sub.Operands) > 0:
		return strings.Trim(words(sub.Effects)+"; "+words(sub.Operands), "; ")
	}
	return nothing
}

// nothing is what a flag or subcommand without a role does.
const nothing = "nothing that matters"

// pair prints what a thing means and which it is, in two columns.
func pair(w io.Writer, meaning, which string) {
	const column = 30
	if which == "" {
		return
	}
	for i, line := range strings.Split(wrap(which, 80-column), "\n") {
		if i == 0 && len(meaning) >= column-2 {
			fmt.Fprintf(w, "  %s\n", meaning)
			meaning = ""
		}
		fmt.Fprintf(w, "  %-*s%s\n", column-2, meaning, line)
		meaning = ""
	}
}

// quality is something that an entry may have.
type quality struct {
	name string
	has  bool
}

func choose(all ...quality) (names []string) {
	for _, q := range all {
		if q.has {
			names = append(names, q.name)
		}
	}
	return names
}

// flagText says what an option does, in the words of the table.
func flagText(f command.Flag) string {
	var parts []string
	if f.Arg != "" {
		arg := string(f.Arg)
		if f.Optional {
			arg += " (attached)"
		}
		parts = append(parts, arg)
	}
	if len(f.Effects) > 0 {
		parts = append(parts, words(f.Effects))
	}
	if len(f.Operands) > 0 {
		parts = append(parts, "operands: "+words(f.Operands))
	}
	for _, from := range slices.Sorted(maps.Keys(f.Turns)) {
		parts = append(parts, fmt.Sprintf("%s becomes %s", from, f.Turns[from]))
	}
	parts = append(parts, choose(
		quality{"everything below", f.Deep},
		quality{"only prints or pretends", f.Harmless},
		quality{"ends the options", f.Ends})...)
	for _, kind := range f.Drop {
		parts = append(parts, "no "+kind.String())
	}
	if len(parts) == 0 {
		return nothing
	}
	return strings.Join(parts, "; ")
}

func words[T ~string](list []T) string {
	var out []string
	for _, w := range list {
		out = append(out, string(w))
	}
	return strings.Join(out, ", ")
}

// sentence is the first sentence of a text.
func sentence(doc string) string {
	doc = strings.Join(strings.Fields(doc), " ")
	if i := strings.Index(doc, ". "); i >= 0 {
		doc = doc[:i]
	}
	return strings.TrimSuffix(doc, ".")
}

// wrap breaks each paragraph into lines of at most width bytes.
func wrap(doc string, width int) string {
	var out []string
	for _, paragraph := range strings.Split(doc, "\n\n") {
		line := ""
		for _, w := range strings.Fields(paragraph) {
			if line != "" && len(line)+1+len(w) > width {
				out = append(out, line)
				line = ""
			}
			line = strings.TrimLeft(line+" "+w, " ")
		}
		out = append(out, line, "")
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n")
}
