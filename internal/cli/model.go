package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
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
uses, or NAME. Install Ollama first, and start it with ` + "`ollama serve`" + `. ` + "`handrail\ndoctor`" + ` then gives it the self-test; on a terminal it offers the download itself.`,
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
	if err := s.pull(ctx, a); err != nil {
		return 0, s.hint(a, err)
	}
	fmt.Fprintf(s.stdout, "%s is installed; `handrail doctor` gives it the self-test\n", a.Model())
	return 0, nil
}

// pull downloads the agent's model and shows how it goes on.
func (s streams) pull(ctx context.Context, a *agent.Agent) error {
	bar := s.bar(megabytes)
	defer bar.end()
	return a.Pull(ctx, bar.tell)
}

// checked checks the agent. Where nothing but its model is missing and a person
// is there, it offers to download it: that is all that a first use needs.
func (s streams) checked(ctx context.Context, a *agent.Agent) (*agent.Report, error) {
	report, err := a.Check(ctx)
	if !errors.Is(err, agent.ErrModel) {
		return report, err
	}
	tty := s.terminal()
	if tty == nil {
		return report, err
	}
	s.stderr = tty
	fmt.Fprintf(tty, "The Guard Agent's model %s is not installed. Download it now? [y/N] ", a.Model())
	line, _ := bufio.NewReader(s.stdin).ReadString('\n') // no line is no
	if answer := strings.ToLower(strings.TrimSpace(line)); answer != "y" && answer != "yes" {
		return report, err
	}
	if err := s.pull(ctx, a); err != nil {
		return report, err
	}
	return a.Check(ctx)
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
