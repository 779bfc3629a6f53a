// Package cli is the command line: one file per subcommand.
package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"handrail/internal/config"
)

// Exit codes that every subcommand shares.
const (
	exitError = 1 // something went wrong
	exitUsage = 2 // the command line was wrong
)

// streams are where a subcommand reads and writes.
type streams struct {
	stdin          io.Reader
	stdout, stderr io.Writer
}

// subcommand is one word after handrail. run returns the exit code; an error
// is printed and exits 1, a usageError 2.
type subcommand struct {
	name  string
	usage string // the arguments, as in the first line of its help
	short string // one line for the list
	doc   string // what else its help says
	run   func(s streams, args []string) (int, error)
}

// subcommands are all of them, in the order of the help.
func subcommands() []subcommand {
	return []subcommand{
		serveCommand, demoCommand, checkCommand, testCommand, evalCommand, runCommand,
		historyCommand, undoCommand, approvalsCommand, grantsCommand, replayCommand, suggestCommand, configCommand, trustCommand, untrustCommand, auditCommand, commandsCommand, rulesCommand, skillsCommand, modelCommand, doctorCommand, tokenCommand, versionCommand,
	}
}

// Main runs handrail with the arguments after the program's name and returns
// the exit code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	s := streams{stdin, stdout, stderr}
	if len(args) == 0 {
		help(stderr)
		return exitUsage
	}
	name, args := args[0], args[1:]
	switch name {
	case "help", "-h", "-help", "--help":
		return s.help(args)
	case "-version", "--version":
		name = versionCommand.name
	}
	c, ok := find(name)
	if !ok {
		return s.fail("handrail", unknown("command", name, names()))
	}
	if len(args) > 0 && slices.Contains([]string{"-h", "-help", "--help"}, args[0]) { // also where a word is due: audit, token
		return s.help([]string{name})
	}
	code, err := c.run(s, args)
	if errors.Is(err, flag.ErrHelp) {
		return s.help([]string{name})
	}
	if err != nil {
		return s.fail("handrail "+name, err)
	}
	return code
}

// fail prints err and returns its exit code.
func (s streams) fail(who string, err error) int {
	own := who[strings.LastIndexByte(who, ' ')+1:] + ": " // a package of the same name says it too
	fmt.Fprintf(s.stderr, "%s: %s\n", who, strings.TrimPrefix(err.Error(), own))
	var usage usageError
	if errors.As(err, &usage) {
		fmt.Fprintf(s.stderr, "`handrail help%s` tells how it is used.\n", strings.TrimPrefix(who, "handrail"))
		return exitUsage
	}
	return exitError
}

// usageError is a command line that cannot be understood.
type usageError struct{ error }

func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// unknown names what was probably meant.
func unknown(kind, word string, names []string) error {
	if near := config.Nearest(word, names); near != "" {
		return usagef("unknown %s %q; did you mean %q?", kind, word, near)
	}
	return usagef("unknown %s %q", kind, word)
}

func find(name string) (subcommand, bool) {
	for _, c := range subcommands() {
		if c.name == name {
			return c, true
		}
	}
	return subcommand{}, false
}

func names() []string {
	var list []string
	for _, c := range subcommands() {
		list = append(list, c.name)
	}
	return append(list, "help")
}

// flags is the flag set of one subcommand.
type flags struct{ *flag.FlagSet }

func newFlags(name string) flags {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	return flags{f}
}

// operands parses args and returns what is left: at least low and at most high
// words (high -1: any number).
func (f flags) operands(args []string, low, high int) ([]string, error) {
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, err
		}
		return nil, usageError{err}
	}
	rest := f.Args()
	switch {
	case len(rest) < low:
		return nil, usagef("an argument is missing")
	case high >= 0 && len(rest) > high:
		return nil, usagef("too many arguments: %q (flags go first; quote what belongs together)", rest[high:])
	}
	return rest, nil
}

// list is a flag that may be given several times.
type list []string

func (l *list) String() string { return strings.Join(*l, ", ") }

func (l *list) Set(s string) error {
	if s == "" {
		return errors.New("empty")
	}
	*l = append(*l, s)
	return nil
}
