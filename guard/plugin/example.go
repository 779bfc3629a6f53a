package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"handrail/guard"
)

// ExampleDir is the workspace in which examples are read. It is not there, so
// that an example means the same everywhere.
const ExampleDir = "/handrail/example"

// example is a call that a guard or a pattern must speak about, or must not.
type example struct {
	line  int
	tool  string
	input json.RawMessage
	shown string
}

// filled are arguments that an example of a file tool may leave out.
var filled = map[string]map[string]any{
	bash: {}, read: {},
	write: {"content": "example\n"},
	edit:  {"old_string": "example", "new_string": "another example"},
}

// samples reads a list of examples: commands as text, calls of other tools as
// {tool: Write, path: .env}.
func (r *reading) samples(n *yaml.Node, name string) (list []example, err error) {
	if n == nil {
		return nil, nil
	}
	items := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		items = n.Content
	} else if !isText(n) {
		return nil, r.at(n, "%s: want a list of examples", name)
	}
	if len(items) > maxExamples {
		return nil, r.at(n, "%s: more than %d examples", name, maxExamples)
	}
	for _, item := range items {
		e, err := r.sample(item, name)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}

func (r *reading) sample(n *yaml.Node, name string) (e example, err error) {
	e.line, e.tool = r.line+n.Line, bash
	args := map[string]any{}
	if isText(n) {
		e.shown = "`" + n.Value + "`"
		args["command"] = n.Value
	} else {
		if n.Kind != yaml.MappingNode {
			return e, r.at(n, "%s: want a command, or a call as in {tool: Write, path: .env}", name)
		}
		values, err := r.fields(n, []string{"tool", "command", "cwd", "path", "content", "old_string", "new_string"})
		if err != nil {
			return e, err
		}
		if t := values["tool"]; t != nil {
			tools, err := r.tools(t)
			if err != nil || len(tools) != 1 {
				return e, r.at(t, "%s: an example is of one tool", name)
			}
			e.tool = tools[0]
		}
		for k, v := range filled[e.tool] {
			args[k] = v
		}
		for k, v := range values {
			if k == "tool" {
				continue
			}
			if args[k], err = r.text(v, k); err != nil {
				return e, err
			}
		}
		e.shown = fmt.Sprintf("%s %v", e.tool, args[map[bool]string{true: "command", false: "path"}[e.tool == bash]])
	}
	e.input, err = json.Marshal(args)
	return e, err
}

// examples runs all examples of g. The error names the first that fails.
func (l *Loader) examples(ctx context.Context, g *Guard) error {
	if g.Off {
		return nil
	}
	for _, e := range g.matches {
		if err := l.example(ctx, g, e, 0, true); err != nil {
			return err
		}
	}
	for _, e := range g.silent {
		if err := l.example(ctx, g, e, 0, false); err != nil {
			return err
		}
	}
	for i := range g.patterns {
		p := &g.patterns[i]
		for _, e := range p.matches {
			if err := l.example(ctx, g, e, p.line, true); err != nil {
				return err
			}
		}
		for _, e := range p.silent {
			if err := l.example(ctx, g, e, p.line, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// Examples counts the examples of the guard.
func (g *Guard) Examples() int {
	n := len(g.matches) + len(g.silent)
	for _, p := range g.patterns {
		n += len(p.matches) + len(p.silent)
	}
	return n
}

// example runs one: the guard, or its pattern in a line, speaks or does not.
func (l *Loader) example(ctx context.Context, g *Guard, e example, line int, want bool) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: running the examples took too long", g.at(e.line))
	}
	said, err := l.said(ctx, g, e)
	if err != nil {
		return fmt.Errorf("%s: the example %s cannot be read: %w", g.at(e.line), e.shown, err)
	}
	about := func(f guard.Finding) bool { return line == 0 || f.Source == g.at(line) }
	spoke := slices.ContainsFunc(said, about)
	switch {
	case want && !spoke && len(said) > 0:
		return fmt.Errorf("%s: the example %s is met by another pattern (%s), not by this one", g.at(e.line), e.shown, said[0].Source)
	case want && !spoke:
		return fmt.Errorf("%s: the example %s is not met: the guard says nothing about it", g.at(e.line), e.shown)
	case !want && spoke:
		return fmt.Errorf("%s: the example %s must not be met, and is: %s", g.at(e.line), e.shown, strings.TrimSpace(said[slices.IndexFunc(said, about)].Verdict.String()))
	}
	return nil
}

// said is what the guard says about an example.
func (l *Loader) said(ctx context.Context, g *Guard, e example) ([]guard.Finding, error) {
	if l.Read == nil {
		return nil, fmt.Errorf("no reader was given")
	}
	facts, err := l.Read(ctx, e.tool, e.input, ExampleDir)
	if err != nil {
		return nil, err
	}
	c := &guard.EvalContext{ToolName: e.tool, Input: e.input, WorkingDir: ExampleDir, Roots: []string{ExampleDir}, Facts: facts}
	v := newView(c, l.Home)
	r := guard.Rule{ID: g.ID, Evaluate: func(p *guard.Pass) { g.evaluate(p, v) }}
	return r.Findings(c), nil
}
