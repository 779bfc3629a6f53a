package cli

import (
	"fmt"
	"io"
	"maps"
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
			fmt.Fprintf(tw, "%s\t%s\n", name, sentence(table.Lookup(name).Doc))
		}
		return 0, tw.Flush()
	}
	spec := table.Lookup(rest[0])
	if spec == nil {
		return 0, unknown("program", rest[0], table.Names())
	}
	for _, name := range rest[1:] {
		sub := subOf(spec, name)
		if sub == nil {
			return 0, unknown("subcommand", name, slices.Collect(maps.Keys(spec.Sub)))
		}
		spec = sub
		if spec.Use != "" {
			spec = table.Lookup(spec.Use)
		}
	}
	printSpec(s.stdout, strings.Join(rest, " "), spec)
	return 0, nil
}

// subOf finds a subcommand by one of the names of its entry.
func subOf(spec *command.Spec, name string) *command.Spec {
	for names, sub := range spec.Sub {
		if slices.Contains(strings.FieldsFunc(names, commaOrBlank), name) {
			return sub
		}
	}
	return nil
}

func commaOrBlank(r rune) bool { return r == ',' || r == ' ' }

func printSpec(w io.Writer, name string, spec *command.Spec) {
	fmt.Fprintln(w, name)
	if spec.Doc != "" {
		fmt.Fprintln(w, wrap(spec.Doc, 80))
	}
	fmt.Fprintln(w)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	field(tw, "operands", words(spec.Operands))
	field(tw, "after --", words(spec.Dashdash))
	field(tw, "implied", words(spec.Implied))
	field(tw, "effects", words(spec.Effects))
	field(tw, "language", spec.Lang)
	field(tw, "stdin", spec.Reads)
	for _, quality := range []struct {
		name string
		has  bool
	}{{"starts another program", spec.Wrapper}, {"concerns all below its paths", spec.Deep}, {"other options are harmless", spec.Lenient}} {
		if quality.has {
			fmt.Fprintln(tw, "  "+quality.name)
		}
	}
	for _, word := range slices.Sorted(maps.Keys(spec.Words)) {
		field(tw, "word "+word, string(spec.Words[word]))
	}
	for _, names := range slices.Sorted(maps.Keys(spec.Flags)) {
		fmt.Fprintf(tw, "  %s\t%s\n", names, flagText(spec.Flags[names]))
	}
	for _, names := range slices.Sorted(maps.Keys(spec.Sub)) {
		fmt.Fprintf(tw, "  %s\t%s\n", names, sentence(spec.Sub[names].Doc))
	}
	tw.Flush()
}

func field(w io.Writer, name, value string) {
	if value != "" {
		fmt.Fprintf(w, "  %s:\t%s\n", name, value)
	}
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
	for _, quality := range []struct {
		name string
		has  bool
	}{{"everything below", f.Deep}, {"only prints or pretends", f.Harmless}, {"ends the options", f.Ends}} {
		if quality.has {
			parts = append(parts, quality.name)
		}
	}
	for _, kind := range f.Drop {
		parts = append(parts, "no "+kind.String())
	}
	if len(parts) == 0 {
		return "-"
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
