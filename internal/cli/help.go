package cli

import (
	"fmt"
	"io"
)

const intro = `handrail gives an AI agent a shell and file tools that can be trusted: every call
is read into facts, judged by rules, and a person is asked where that is needed.

usage: handrail COMMAND [flags] [arguments]

`

// help prints the help of one subcommand, or the list of all.
func (s streams) help(args []string) int {
	if len(args) == 0 {
		help(s.stdout)
		return 0
	}
	c, ok := find(args[0])
	if !ok {
		return s.fail("handrail", unknown("command", args[0], names()))
	}
	fmt.Fprintf(s.stdout, "usage: handrail %s %s\n\n%s\n", c.name, c.usage, c.short)
	if c.doc != "" {
		fmt.Fprintf(s.stdout, "\n%s\n", c.doc)
	}
	return 0
}

func help(w io.Writer) {
	io.WriteString(w, intro)
	for _, c := range subcommands() {
		fmt.Fprintf(w, "  %-9s %s\n", c.name, c.short)
	}
	fmt.Fprintf(w, "\n`handrail help COMMAND` tells more. New here? Try `handrail demo`.\n")
}
