package cli

import (
	"encoding/json"
	"fmt"

	"handrail/guard"
	"handrail/internal/config"
	"handrail/tools"
)

var checkCommand = subcommand{
	name:  "check",
	usage: "[--json] [--root DIR]... [--config FILE] [--tool NAME] COMMAND",
	short: "say what would happen to a call, and why, without running it",
	doc: `Prints the verdict of the rules, before validator, grants and fallback, and the
facts as a tree: source position, resolved command, its effects, the rule that
spoke about each; for guards of your own and of the project their file and line,
and what would have spoken if it counted. For safe_read, safe_write and safe_edit COMMAND is the
arguments as JSON.

Exit code: 0 allow, 10 llm, 11 ask, 12 deny, 1 error, 2 usage.`,
	run: check,
}

// exitOf is the exit code that stands for a verdict.
var exitOf = map[guard.Verdict]int{guard.VerdictAllow: 0, guard.VerdictLLM: 10, guard.VerdictAsk: 11, guard.VerdictDeny: 12}

func check(s streams, args []string) (int, error) {
	var roots list
	f := newFlags("check")
	asJSON := f.Bool("json", false, "")
	file := f.String("config", "", "")
	tool := f.String("tool", tools.Bash, "")
	f.Var(&roots, "root", "")
	rest, err := f.operands(args, 1, 1)
	if err != nil {
		return 0, err
	}
	call, err := callOf(*tool, rest[0])
	if err != nil {
		return 0, err
	}
	c, err := config.Load(*file, roots)
	if err != nil {
		return 0, err
	}
	if err := c.UseDir("."); err != nil {
		return 0, err
	}
	call.Roots = c.Roots
	j, err := c.Judge(tools.Environment(c.Roots, ""))
	if err != nil {
		return 0, err
	}
	ec, err := tools.Look(j.Reader, call)
	if err != nil {
		return 0, err
	}
	d := j.Guard.Judge(ec)
	if *asJSON {
		err = printJSON(s.stdout, explained{d.Verdict, d.Rule, d.Reason, d.Instead, d.Findings, d.Overruled, ec.Facts, d.Digest})
	} else {
		explain(s.stdout, ec.Facts, d)
		var here string
		if here, err = unheld(c, ec.Facts); here != "" {
			fmt.Fprintln(s.stdout, "\n"+here)
		}
	}
	return exitOf[d.Verdict], err
}

// explained is the form of check --json.
type explained struct {
	Verdict  guard.Verdict   `json:"verdict"`
	Rule     string          `json:"rule"`
	Reason   string          `json:"reason"`
	Instead  string          `json:"instead"`
	Findings []guard.Finding `json:"findings"`
	// Overruled are those that do not count, with the reason: what would have
	// spoken.
	Overruled []guard.Finding `json:"overruled,omitempty"`
	Facts     *guard.Facts    `json:"facts"`
	Digest    string          `json:"digest"`
}

// callOf makes a call of what was written on the command line.
func callOf(tool, text string) (tools.Call, error) {
	call := tools.Call{Tool: tool, Input: json.RawMessage(text)}
	switch tool {
	case tools.Bash:
		input, err := json.Marshal(map[string]string{"command": text})
		call.Input = input
		return call, err
	case tools.Read, tools.Write, tools.Edit:
		if !json.Valid([]byte(text)) {
			return call, usagef("for %s the arguments must be JSON, as in '{\"path\": \"README.md\"}'", tool)
		}
		return call, nil
	}
	return call, unknown("tool", tool, []string{tools.Bash, tools.Read, tools.Write, tools.Edit})
}

func printJSON(w interface{ Write([]byte) (int, error) }, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}
