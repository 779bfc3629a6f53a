// Handrail is an MCP server that gives an AI agent a shell and file tools that
// can be trusted.
package main

import (
	"os"

	"handrail/internal/cli"
	"handrail/tools/sandbox"
)

func main() {
	if code, handled := sandbox.Main(os.Args); handled { // a process inside of a sandbox
		os.Exit(code)
	}
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
