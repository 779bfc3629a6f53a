// Package cli is the command line: one file per subcommand.
package cli

import "io"

// Main runs handrail with the arguments after the program's name and returns
// the exit code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int { return 1 }
