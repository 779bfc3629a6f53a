package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"handrail/elicit/terminal"
	"handrail/guard"
	"handrail/guard/text"
	"handrail/internal/config"
	"handrail/tools"
)

// Exit codes of handrail run where the command has none of its own, as those
// of env and timeout.
const (
	exitTimedOut = 124
	exitRefused  = 126
)

var runCommand = subcommand{
	name:  "run",
	usage: "[--root DIR]... [--config FILE] [--timeout DURATION] COMMAND",
	short: "run one guarded command, asking in this terminal",
	doc: `The command goes through the same guard as an agent's. What needs approval is
asked here: [y] once, [a] for this session, [n] deny. Without a terminal it is
refused.

The output is printed when the command has ended; the exit code is that of the
command, 124 if it took longer than --timeout (default 2m, at most 30m), 126 if
the guard refused it.`,
	run: run,
}

func run(s streams, args []string) (int, error) {
	var roots list
	f := newFlags("run")
	file := f.String("config", "", "")
	timeout := f.Duration("timeout", 2*time.Minute, "")
	f.Var(&roots, "root", "")
	rest, err := f.operands(args, 1, 1)
	if err != nil {
		return 0, err
	}
	if *timeout < time.Millisecond || *timeout > 30*time.Minute {
		return 0, usagef("--timeout %v is not between 1ms and 30m", *timeout)
	}
	c, err := config.Load(*file, roots)
	if err != nil {
		return 0, err
	}
	if err := c.UseDir("."); err != nil {
		return 0, err
	}
	sys, err := c.Open()
	if err != nil {
		return 0, err
	}
	defer sys.Close()
	input, err := json.Marshal(map[string]any{"command": rest[0], "timeout_ms": timeout.Milliseconds()})
	if err != nil {
		return 0, err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	res := sys.Toolbox.Do(ctx, tools.Call{
		Tool: tools.Bash, Input: input, Roots: c.Roots,
		Session: "run", Client: "handrail run", Transport: "run",
		Channel: s.asker(),
	})
	return s.outcome(res), nil
}

// asker asks at the terminal. Without one it reaches nobody.
func (s streams) asker() *terminal.Channel {
	tty := s.terminal()
	c := &terminal.Channel{In: s.stdin, Out: s.stderr, Visible: text.Visible}
	if tty != nil {
		c.Out = tty
	}
	c.Interactive = func() bool { return tty != nil }
	return c
}

// terminal is where the person at standard input reads: standard error, or the
// terminal itself where that goes elsewhere. Nil: nobody is there.
func (s streams) terminal() io.Writer {
	switch {
	case !isTerminal(s.stdin):
		return nil
	case isTerminal(s.stderr):
		return s.stderr
	}
	tty, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0) // open until the program ends
	if err != nil {
		return nil
	}
	return tty
}

// outcome prints what became of a call and returns the exit code.
func (s streams) outcome(res *tools.Result) int {
	if res.ExitCode == nil && res.Verdict == guard.VerdictAllow && !res.TimedOut {
		fmt.Fprintln(s.stderr, res.Text)
		return exitError
	}
	if res.Verdict != guard.VerdictAllow {
		fmt.Fprintln(s.stderr, res.Text)
		return exitRefused
	}
	io.WriteString(s.stdout, res.Stdout)
	io.WriteString(s.stderr, res.Stderr)
	if h := res.Sandbox; h != nil && len(h.Refused)+len(h.Restored) > 0 {
		fmt.Fprintf(s.stderr, "handrail run: the sandbox (%s, network: %s) refused or took back: %s\n", h.Tier, h.Network, strings.Join(append(h.Refused, h.Restored...), ", "))
	}
	if res.TimedOut {
		fmt.Fprintln(s.stderr, "handrail run: ended, because it took too long")
		return exitTimedOut
	}
	return *res.ExitCode
}

// isTerminal reports whether v is a file on a terminal.
func isTerminal(v any) bool {
	f, ok := v.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err == nil && !os.SameFile(info, null)
}
