package guard_test

import (
	"context"
	"strings"
	"testing"

	"handrail/guard"
)

// words makes a command of exact words.
func words(line string) guard.Command {
	parts := strings.Fields(line)
	c := guard.Command{Name: parts[0], From: -1}
	for _, w := range parts[1:] {
		c.Args = append(c.Args, guard.Word{Text: w, Exact: true})
	}
	return c
}

// askedCall is a call of safe_bash on which one rule asks.
func askedCall(script string, effects ...guard.Effect) (*guard.EvalContext, *guard.Decision) {
	f := &guard.Facts{Dir: "/w", Script: script, Effects: effects}
	for i, line := range strings.FieldsFunc(script, func(r rune) bool { return r == ';' || r == '&' || r == '\n' }) {
		f.Commands = append(f.Commands, words(line))
		f.Effects = append(f.Effects, guard.Effect{Kind: guard.Exec, Action: "unlisted", Target: f.Commands[i].Name, From: -1, Exact: true, Command: i})
	}
	return &guard.EvalContext{ToolName: "safe_bash", WorkingDir: "/w", Roots: []string{"/w"}, Facts: f},
		&guard.Decision{Verdict: ask, Findings: []guard.Finding{{Rule: "default/unlisted", Verdict: llm}}}
}

func TestPatternCovers(t *testing.T) {
	write := guard.Effect{Kind: guard.Write, Target: "/opt/x", Exact: true, Command: 0, From: -1}
	c, d := askedCall("mytool build", write)
	p, err := guard.PatternOf(c, d)
	if err != nil {
		t.Fatal(err)
	}
	if s := p.String(); s != "`mytool build` in /w" {
		t.Errorf("the preview is %q", s)
	}
	same := func(change func(*guard.EvalContext, *guard.Decision)) (*guard.EvalContext, *guard.Decision) {
		c, d := askedCall("mytool build", write)
		change(c, d)
		return c, d
	}
	for name, tt := range map[string]struct {
		want   bool
		change func(*guard.EvalContext, *guard.Decision)
	}{
		"the same":        {true, func(*guard.EvalContext, *guard.Decision) {}},
		"another session": {true, func(c *guard.EvalContext, _ *guard.Decision) { c.Session = "later" }},
		"a job": {false, func(c *guard.EvalContext, _ *guard.Decision) {
			c.Input = []byte(`{"command": "mytool build", "background": true}`)
		}},
		"twice": {false, func(c *guard.EvalContext, d *guard.Decision) {
			x, _ := askedCall("mytool build; mytool build")
			*c.Facts = *x.Facts
		}},
		"other word": {false, func(c *guard.EvalContext, d *guard.Decision) { c.Facts.Commands[0].Args[0].Text = "publish" }},
		"one more command": {false, func(c *guard.EvalContext, d *guard.Decision) {
			x, _ := askedCall("mytool build; mytool publish")
			*c.Facts = *x.Facts
		}},
		"more than words":             {false, func(c *guard.EvalContext, d *guard.Decision) { c.Facts.Script = "mytool build <<E\nx\nE" }},
		"another path of the program": {false, func(c *guard.EvalContext, d *guard.Decision) { c.Facts.Script = "/tmp/mytool build" }},
		"another target":              {false, func(c *guard.EvalContext, d *guard.Decision) { c.Facts.Effects[0].Target = "/opt/y" }},
		"another action":              {false, func(c *guard.EvalContext, d *guard.Decision) { c.Facts.Effects[0].Action = "append" }},
		"not exact":                   {false, func(c *guard.EvalContext, d *guard.Decision) { c.Facts.Effects[0].Exact = false }},
		"another dir":                 {false, func(c *guard.EvalContext, d *guard.Decision) { c.WorkingDir = "/w/sub" }},
		"another workspace":           {false, func(c *guard.EvalContext, d *guard.Decision) { c.Roots = []string{"/v"} }},
		"wider workspace":             {false, func(c *guard.EvalContext, d *guard.Decision) { c.Roots = []string{"/w", "/v"} }},
		"another person":              {false, func(c *guard.EvalContext, d *guard.Decision) { c.Principal = "bob" }},
		"another tool":                {false, func(c *guard.EvalContext, d *guard.Decision) { c.ToolName = "safe_read" }},
		"a rule that did not ask then": {false, func(c *guard.EvalContext, d *guard.Decision) {
			d.Findings = append(d.Findings, guard.Finding{Rule: "team/freeze", Verdict: ask})
		}},
		"a script that was read": {false, func(c *guard.EvalContext, d *guard.Decision) {
			c.Facts.Sources = []guard.Source{{Path: "/w/s", SHA256: "1"}}
		}},
		"denied":          {false, func(c *guard.EvalContext, d *guard.Decision) { d.Verdict = deny }},
		"the validator's": {false, func(c *guard.EvalContext, d *guard.Decision) { d.Verdict = llm }},
	} {
		if c, d := same(tt.change); p.Covers(c, d) != tt.want {
			t.Errorf("%s: covered is %v", name, !tt.want)
		}
	}
	var none *guard.Pattern
	if none.Covers(c, d) || new(guard.Pattern).Covers(c, d) {
		t.Error("an empty pattern covers")
	}
}

// Of several commands the whole text is the rule: what one does hangs on those
// before it.
func TestPatternOfSeveral(t *testing.T) {
	p, err := guard.PatternOf(askedCall("cd sub; mytool build"))
	if err != nil || p.String() != "exactly `cd sub; mytool build` in /w" {
		t.Fatalf("%v, %v", p, err)
	}
	if !p.Covers(askedCall("cd sub; mytool build")) {
		t.Error("the same text is not covered")
	}
	for _, other := range []string{"mytool build", "cd sub", "mytool build; cd sub", "cd sub && mytool build", "cd sub; cd sub; mytool build"} {
		if p.Covers(askedCall(other)) {
			t.Errorf("%s is covered", other)
		}
	}
}

// Where the words do not fix what happens there is no pattern.
func TestNoPattern(t *testing.T) {
	effect := func(k guard.Kind, action string) guard.Effect {
		return guard.Effect{Kind: k, Action: action, Target: "/w/x", Exact: true, From: -1}
	}
	for name, make := range map[string]func() (*guard.EvalContext, *guard.Decision){
		"interpreter":           func() (*guard.EvalContext, *guard.Decision) { return askedCall("python3 x") },
		"interpreter's version": func() (*guard.EvalContext, *guard.Decision) { return askedCall("python3.12 x") },
		"bare interpreter":      func() (*guard.EvalContext, *guard.Decision) { return askedCall("bash", effect(guard.Code, "project")) },
		"wrapper":               func() (*guard.EvalContext, *guard.Decision) { return askedCall("env mytool") },
		"handrail itself":       func() (*guard.EvalContext, *guard.Decision) { return askedCall("handrail approvals") },
		"via": func() (*guard.EvalContext, *guard.Decision) {
			c, d := askedCall("mytool x")
			c.Facts.Commands[0].Via = []string{"xargs"}
			return c, d
		},
		"inexact word": func() (*guard.EvalContext, *guard.Decision) {
			c, d := askedCall("mytool x")
			c.Facts.Commands[0].Args[0].Exact = false
			return c, d
		},
		"no name": func() (*guard.EvalContext, *guard.Decision) {
			c, d := askedCall("mytool x")
			c.Facts.Commands[0].Name = ""
			return c, d
		},
		"no commands that write": func() (*guard.EvalContext, *guard.Decision) { return askedCall("", effect(guard.Write, "")) },
		"secret": func() (*guard.EvalContext, *guard.Decision) {
			c, d := askedCall("mytool x", effect(guard.Read, ""))
			d.Findings = []guard.Finding{{Rule: "secret/read", Verdict: ask}}
			return c, d
		},
		"secret to the network": func() (*guard.EvalContext, *guard.Decision) {
			c, d := askedCall("mytool x", effect(guard.Network, ""))
			d.Findings = []guard.Finding{{Rule: "net/secret-sink", Verdict: ask}}
			return c, d
		},
	} {
		if c, d := make(); c != nil {
			if p, err := guard.PatternOf(c, d); err == nil {
				t.Errorf("%s: there is a pattern: %s", name, p)
			}
		}
	}
	// The closed vocabulary of effects: what is not listed as fixed by its words
	// is asked about every time, also an action that comes later.
	fixed := map[string]bool{"read": true, "read list": true, "write": true, "write append": true, "write create": true, "exec": true, "exec unlisted": true, "exec unread": true,
		"code project": true, "install project": true, "install add": true, "network": true, "remote": true, "remote read": true, "remote push": true}
	for kind, actions := range guard.Actions {
		for _, a := range append(actions, "something new") {
			_, err := guard.PatternOf(askedCall("mytool x", effect(kind, a)))
			if name := strings.TrimSpace(kind.String() + " " + a); fixed[name] != (err == nil) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// script is a pattern's covered text; a file that was read is part of it.
func TestPatternOfAScript(t *testing.T) {
	make := func(sum string) (*guard.EvalContext, *guard.Decision) {
		c, d := askedCall("./deploy x", guard.Effect{Kind: guard.Code, Target: "/w/deploy", Exact: true, From: -1})
		c.Facts.Commands[0].Name = "deploy"
		c.Facts.Sources = []guard.Source{{Path: "/w/deploy", SHA256: sum}}
		return c, d
	}
	p, err := guard.PatternOf(make("1"))
	if err != nil {
		t.Fatal(err)
	}
	if p.Script == "" || !p.Covers(make("1")) || p.Covers(make("2")) {
		t.Errorf("%+v: covers %v, changed %v", p, p.Covers(make("1")), p.Covers(make("2")))
	}
}

// A pattern answers ask and never what is the validator's to say.
func TestAlwaysAnswersAskOnly(t *testing.T) {
	m := &guard.Manager{Rules: []guard.Rule{rule("a/x", llm, 0)}, Default: []guard.Rule{rule("d/x", deny, -2)}, Fallback: ask,
		Grants: every{}, Validator: says{d: &guard.Decision{Verdict: deny, Reason: "no"}}}
	if d := m.Evaluate(context.Background(), call(1)); d.Verdict != deny {
		t.Errorf("an always grant overruled the validator: %+v", d)
	}
	m.Validator = nil
	if d := m.Evaluate(context.Background(), call(1)); d.Verdict != allow || d.Grant != "g1" {
		t.Errorf("%+v", d)
	}
}

// every is a ledger whose one always grant covers all.
type every struct{ *guard.Grants }

func (every) Cover(context.Context, *guard.EvalContext, *guard.Decision) (guard.Grant, bool, error) {
	return guard.Grant{ID: "g1", Scope: guard.Always}, true, nil
}
