package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"handrail/elicit"
	"handrail/guard"
	"handrail/guard/text"
	"handrail/tools"
)

// presenter tells the demo to whoever watches, and answers the server's
// questions as the client's user.
type presenter struct {
	out    io.Writer
	colour bool
	answer func() elicit.Choice
}

// Elicit shows the question of the server and returns the answer.
func (p *presenter) Elicit(_ context.Context, r mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	fmt.Fprintf(p.out, "   %s  asks you\n", p.bold("server"))
	p.block(strings.TrimSpace(r.Params.Message)) // the server made it visible
	res := &mcp.ElicitationResult{}
	choice := p.answer()
	res.Action = mcp.ElicitationResponseActionDecline
	if choice != elicit.Deny {
		res.Action = mcp.ElicitationResponseActionAccept
		res.Content = map[string]any{"decision": string(choice)}
	}
	return res, nil
}

// reply answers every question alike.
func (p *presenter) reply(yes bool) func() elicit.Choice {
	choice := elicit.Deny
	if yes {
		choice = elicit.AllowOnce
	}
	return func() elicit.Choice {
		fmt.Fprintf(p.out, "   %s     %s\n", p.bold("you"), choice)
		return choice
	}
}

// ask lets the person at the terminal answer.
func (p *presenter) ask(in io.Reader) func() elicit.Choice {
	lines := bufio.NewReader(in)
	return func() elicit.Choice {
		fmt.Fprintf(p.out, "   %s     [y] once  [a] session  [n] deny: ", p.bold("you"))
		line, err := lines.ReadString('\n')
		switch {
		case err != nil: // the line ended without a newline
			fmt.Fprintln(p.out)
			return elicit.Deny
		case strings.TrimSpace(line) == "y":
			return elicit.AllowOnce
		case strings.TrimSpace(line) == "a":
			return elicit.AllowSession
		}
		return elicit.Deny
	}
}

func (p *presenter) opening(place *stage) {
	fmt.Fprintf(p.out, `%s

A real server runs on a scratch project, and this program talks to it over stdio
as Cursor or Claude would:

   handrail serve --root %s

`, p.bold("Handrail: a shell and file tools with a guard, for AI agents"), place.project)
}

func (p *presenter) announce(n int, st step) {
	fmt.Fprintf(p.out, "%s\n   %s   %s  %s\n", p.bold(fmt.Sprintf("%d. %s", n, st.title)), p.bold("agent"), st.tool, text.Visible(st.shown))
}

// show prints the verdict, and what came of the call.
func (p *presenter) show(st step, res *tools.Result) {
	switch {
	case res.Verdict != guard.VerdictAllow && res.Verdict == guard.VerdictAsk:
		p.verdict("not run", "31", string(res.Approval))
		p.block("rule: " + res.Rule + "\n" + "reason: " + res.Reason)
	case res.Verdict != guard.VerdictAllow:
		p.verdict("DENIED", "31", "by "+res.Rule)
		p.block(strings.TrimSpace("reason: " + res.Reason + "\n" + instead(res)))
	case st.tool == tools.Bash:
		note := ""
		if res.ExitCode != nil {
			note = fmt.Sprintf("exit %d in %d ms", *res.ExitCode, res.DurationMS)
		}
		p.verdict("ran", "32", note)
		p.block(strings.TrimSpace(res.Stdout + res.Stderr))
	default:
		p.verdict("done", "32", res.Path)
	}
	fmt.Fprintln(p.out)
}

func instead(res *tools.Result) string {
	if res.Instead == "" {
		return ""
	}
	return "instead: " + res.Instead
}

func (p *presenter) surprise(st step) {
	fmt.Fprintf(p.out, "   %s this should have been: %s\n\n", p.paint("31", "!!"), st.want)
}

func (p *presenter) farewell(records uint64, log string) {
	fmt.Fprintf(p.out, `%s
   The log of this demo held %d records, and its chain was sound; it is gone with the
   scratch project. Yours will be at
      %s
   handrail audit tail      shows the last decisions
   handrail audit verify    proves that nobody changed them

Next: `+"`handrail check 'COMMAND'`"+` explains a decision without running anything, and
README.md says how to add the server to your client.
`, p.bold("Every decision was recorded before anything ran."), records, log)
}

func (p *presenter) verdict(word, colour, note string) {
	fmt.Fprintf(p.out, "   %s   %s  %s\n", p.bold("guard"), p.paint(colour, word), text.Visible(note))
}

// block prints text behind a bar.
func (p *presenter) block(body string) {
	if body == "" {
		return
	}
	for _, line := range strings.Split(body, "\n") {
		fmt.Fprintf(p.out, "           │ %s\n", line)
	}
}

func (p *presenter) bold(s string) string { return p.paint("1", s) }

func (p *presenter) paint(code, s string) string {
	if !p.colour {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}
