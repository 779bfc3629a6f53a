package cli

import (
	"context"
	"fmt"
	"os/signal"
	"strings"
	"syscall"

	"handrail/guard/agent"
	"handrail/internal/config"
)

var doctorCommand = subcommand{
	name:  "doctor",
	usage: "[--config FILE] [--json]",
	short: "say what is in force, and try the sandbox and the Guard Agent's model",
	doc: `Prints the configuration that counts, finds out by real commands what holds
commands here, and gives the model of the Guard Agent its self-test. Exit code 1
where no sandbox works, or the Guard Agent is meant to and does not.`,
	run: doctor,
}

// diagnosis is what doctor found; the form of --json.
type diagnosis struct {
	Version  string        `json:"version"`
	File     string        `json:"configuration,omitempty"`
	Profile  string        `json:"profile"`
	Policy   string        `json:"policy"`
	Fallback string        `json:"fallback"`
	State    string        `json:"state"`
	Sandbox  inForce       `json:"sandbox"`
	Agent    string        `json:"guard_agent"` // auto, on, off
	Works    bool          `json:"guard_agent_works"`
	Fault    string        `json:"fault,omitempty"`
	Model    *agent.Report `json:"model,omitempty"`
}

func doctor(s streams, args []string) (int, error) {
	f := newFlags("doctor")
	file, asJSON := f.String("config", "", ""), f.Bool("json", false, "")
	if _, err := f.operands(args, 0, 0); err != nil {
		return 0, err
	}
	c, err := config.Load(*file, nil)
	if err != nil {
		return 0, err
	}
	j, err := c.Judge(nil)
	if err != nil {
		return 0, err
	}
	d := diagnosis{Version: config.Version, File: c.File, Profile: c.Profile, Policy: j.Guard.Revision, Fallback: c.Fallback.String(),
		State: c.State, Agent: c.LLM.Use}
	if d.Sandbox, err = examine(c); err != nil {
		return 0, err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	a, err := c.Agent(func(m string) { fmt.Fprintln(s.stderr, m) })
	if err != nil {
		return 0, err
	}
	if a != nil {
		d.Model, err = s.checked(ctx, a)
		d.Works = err == nil
		if err != nil {
			d.Fault = s.hint(a, err).Error()
		}
	}
	if *asJSON {
		err = printJSON(s.stdout, d)
	} else {
		d.print(s)
		err = nil
	}
	if err == nil && (c.LLM.Wanted() && !d.Works || d.Sandbox.Fault != "") {
		return exitError, nil
	}
	return 0, err
}

// print writes the diagnosis for people.
func (d *diagnosis) print(s streams) {
	line := func(name, format string, v ...any) {
		fmt.Fprintf(s.stdout, "%-14s %s\n", name, fmt.Sprintf(format, v...))
	}
	line("handrail", "%s", d.Version)
	config := d.File
	if config == "" {
		config = "none: the defaults hold"
	}
	line("configuration", "%s", config)
	line("profile", "%s, policy %s", d.Profile, d.Policy)
	line("state", "%s", d.State)
	d.Sandbox.print(s.stdout)
	if d.Model == nil {
		line("Guard Agent", "off; what rules cannot tell: %s", d.Fallback)
		return
	}
	if d.Works {
		line("Guard Agent", "works (%s)", d.Agent)
	} else {
		line("Guard Agent", "does not work (%s); what rules cannot tell: %s", d.Agent, d.Fallback)
		line("", "%s", strings.ReplaceAll(d.Fault, "\n", "\n"+strings.Repeat(" ", 15)))
	}
	m := d.Model
	line("model", "%s %.19s", m.Model, m.Digest)
	if m.Server != "" {
		line("server", "Ollama %s", m.Server)
	}
	if m.Context > 0 {
		line("", "context %d tokens, can: %s", m.Context, strings.Join(m.Capabilities, ", "))
	}
	for _, r := range m.Cases {
		mark := "ok"
		if !r.OK {
			mark = "WRONG"
		}
		line("self-test", "%-5s %5d ms  %-5s %s", mark, r.MS, r.Got, r.Command)
	}
	if len(m.Cases) > 0 {
		line("latency", "loading %d ms, slowest case %d ms", m.LoadMS, m.SlowestMS)
	}
}
