package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"handrail/guard"
	"handrail/guard/audit"
	"handrail/internal/config"
	"handrail/tools"
)

var demoCommand = subcommand{
	name:  "demo",
	usage: "[--yes | --no]",
	short: "see the whole thing work on a scratch project, in half a minute",
	doc: `Starts the real server on a scratch project, over stdio, calls it as an agent's
client would, and lets you answer its questions. --yes and --no answer them for
you; without a terminal the answer is no. Nothing outside a new directory under
the temporary directory is touched, and that is removed at the end.`,
	run: demo,
}

func demo(s streams, args []string) (int, error) {
	f := newFlags("demo")
	yes, no := f.Bool("yes", false, ""), f.Bool("no", false, "")
	if _, err := f.operands(args, 0, 0); err != nil {
		return 0, err
	}
	if *yes && *no {
		return 0, usagef("--yes and --no exclude each other")
	}
	self, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("this program is not found: %w", err)
	}
	place, err := newStage()
	if err != nil {
		return 0, err
	}
	defer place.remove()
	p := &presenter{out: s.stdout, colour: isTerminal(s.stdout) && os.Getenv("NO_COLOR") == ""}
	p.answer = p.reply(*yes)
	if !*yes && !*no && isTerminal(s.stdin) && isTerminal(s.stdout) {
		p.answer = p.ask(s.stdin)
	}
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Minute)
	defer stop()
	p.opening(place)
	c, err := connect(ctx, self, place, p, s.stderr)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	wrong := 0
	for i, st := range place.steps() {
		if st.never {
			if err := place.refuses(st); err != nil {
				return 0, err
			}
		}
		p.announce(i+1, st)
		res, err := callTool(ctx, c, st)
		if err != nil {
			return 0, fmt.Errorf("step %d: %w", i+1, err)
		}
		p.show(st, res)
		if !st.fits(res) {
			p.surprise(st)
			wrong++
		}
	}
	c.Close()
	if err := p.closing(place); err != nil {
		return 0, err
	}
	if wrong > 0 {
		return 0, fmt.Errorf("%d of the steps did not go as they should", wrong)
	}
	return 0, nil
}

// connect starts the server and greets it as a client that can ask its user.
func connect(ctx context.Context, self string, place *stage, asker client.ElicitationHandler, stderr io.Writer) (*client.Client, error) {
	pipe := transport.NewStdioWithOptions(self, place.env(), []string{"serve", "--root", place.project}, transport.WithCommandStderrWriter(stderr))
	c := client.NewClient(pipe, client.WithElicitationHandler(asker))
	if err := c.Start(ctx); err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	hello := mcp.InitializeRequest{}
	hello.Params.ClientInfo = mcp.Implementation{Name: "handrail demo", Version: config.Version}
	hello.Params.Capabilities.Elicitation = &mcp.ElicitationCapability{Form: &struct{}{}}
	if _, err := c.Initialize(ctx, hello); err != nil {
		c.Close()
		return nil, fmt.Errorf("greet the server: %w", err)
	}
	return c, nil
}

// callTool does one step and reads its structured result.
func callTool(ctx context.Context, c *client.Client, st step) (*tools.Result, error) {
	req := mcp.CallToolRequest{}
	req.Params.Name, req.Params.Arguments = st.tool, st.args
	r, err := c.CallTool(ctx, req)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(r.StructuredContent)
	if err != nil {
		return nil, err
	}
	res := &tools.Result{}
	if err := json.Unmarshal(raw, res); err != nil {
		return nil, fmt.Errorf("the result is not of the declared form: %w", err)
	}
	return res, nil
}

// step is one call of the demo.
type step struct {
	title string
	tool  string
	args  map[string]any
	shown string // what it is about, in a line
	want  guard.Verdict
	never bool // must not be sent unless this very program refuses it
}

// fits reports whether a step went as it should: an ask ends in allow or ask.
func (st step) fits(res *tools.Result) bool {
	if st.want == guard.VerdictAsk {
		return res.Verdict == guard.VerdictAsk || res.Verdict == guard.VerdictAllow && res.Approval != ""
	}
	return res.Verdict == st.want && res.Approval == ""
}

// refuses makes sure that the guard denies a step before it is sent: the demo
// must be harmless even with a guard that is broken.
func (p *stage) refuses(st step) error {
	c, err := config.Default()
	if err != nil {
		return err
	}
	c.Roots = []string{p.project}
	j, err := c.Judge(tools.Environment(c.Roots, ""))
	if err != nil {
		return err
	}
	input, err := json.Marshal(st.args)
	if err != nil {
		return err
	}
	ec, err := tools.Look(j.Reader, tools.Call{Tool: st.tool, Input: input, Roots: c.Roots})
	if err != nil {
		return err
	}
	if d := j.Guard.Judge(ec); d.Verdict != guard.VerdictDeny {
		return fmt.Errorf("this guard does not deny %q (%s): it is broken, and the demo ends here", st.shown, d.Verdict)
	}
	return nil
}

// closing checks the demo's audit log and says where the user's is.
func (p *presenter) closing(place *stage) error {
	log := filepath.Join(place.state, "handrail", "audit.jsonl")
	report, err := audit.Verify(log, "")
	if err != nil {
		return fmt.Errorf("the audit log of the demo: %w", err)
	}
	c, err := config.Default()
	if err != nil {
		return err
	}
	p.farewell(report.Records, c.AuditLog())
	return nil
}
