package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"

	"handrail/guard/agent"
	"handrail/internal/config"
)

var modelCommand = subcommand{
	name:  "model",
	usage: "pull [--model NAME] [--config FILE]",
	short: "download the Guard Agent's model",
	doc: `Lets the Ollama server on this machine download the model that the Guard Agent
uses, or NAME. Install Ollama first, and start it with ` + "`ollama serve`" + `. ` + "`handrail\ndoctor`" + ` then gives it the self-test.`,
	run: pullModel,
}

func pullModel(s streams, args []string) (int, error) {
	if len(args) > 0 && args[0] != "pull" && !strings.HasPrefix(args[0], "-") {
		return 0, unknown("action", args[0], []string{"pull"})
	}
	if len(args) == 0 || args[0] != "pull" {
		return 0, usagef("want `handrail model pull`")
	}
	a, err := s.agentOf("model", args[1:])
	if err != nil {
		return 0, err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	bar := bar{out: s.stderr, live: isTerminal(s.stderr)}
	err = a.Pull(ctx, bar.tell)
	bar.end()
	if err != nil {
		return 0, s.hint(a, err)
	}
	fmt.Fprintf(s.stdout, "%s is installed; `handrail doctor` gives it the self-test\n", a.Model())
	return 0, nil
}

// agentOf makes the agent that flags and configuration name.
func (s streams) agentOf(name string, args []string) (*agent.Agent, error) {
	f := newFlags(name)
	file, model := f.String("config", "", ""), f.String("model", "", "")
	if _, err := f.operands(args, 0, 0); err != nil {
		return nil, err
	}
	c, err := config.Load(*file, nil)
	if err != nil {
		return nil, err
	}
	if *model != "" {
		c.LLM.Model = *model
	}
	a, err := c.Agent(func(m string) { fmt.Fprintln(s.stderr, m) })
	if err == nil && a == nil {
		err = errors.New("the Guard Agent is off: HANDRAIL_GUARD_LLM, OLLAMA_HOST or `llm: {use: off}` in the configuration says so")
	}
	return a, err
}

// hint says what a person can do about a fault of the model server.
func (s streams) hint(a *agent.Agent, err error) error {
	switch {
	case errors.Is(err, agent.ErrDown):
		return fmt.Errorf("%w\nInstall Ollama and start it with `ollama serve`", err)
	case errors.Is(err, agent.ErrModel):
		return fmt.Errorf("%w\n`handrail model pull` downloads %s", err, a.Model())
	}
	return err
}

// bar shows how a download goes on: in one line on a terminal, else in a line
// per step.
type bar struct {
	out  io.Writer
	live bool
	last string
}

func (b *bar) tell(status string, done, total int64) {
	const width = 30
	line := status
	if total > 0 {
		done = min(max(done, 0), total)
		full := int(done * width / total)
		line = fmt.Sprintf("%-24.24s [%s%s] %3d %%  %.1f of %.1f MB", status, strings.Repeat("#", full), strings.Repeat(".", width-full),
			done*100/total, float64(done)/1e6, float64(total)/1e6)
	}
	switch {
	case b.live && line != b.last:
		fmt.Fprintf(b.out, "\r\x1b[K%s", line)
	case !b.live && status != b.last:
		fmt.Fprintln(b.out, status)
		line = status
	}
	b.last = line
}

func (b *bar) end() {
	if b.live && b.last != "" {
		fmt.Fprintln(b.out)
	}
}
