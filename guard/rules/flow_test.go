package rules_test

import (
	"slices"
	"testing"

	"handrail/guard"
)

// flow builds calls whose effects take data from one another.
type flow struct{ facts guard.Facts }

// run adds a command fed by the command with index from, and returns its index.
// An empty argument is one that was computed.
func (f *flow) run(from int, name string, args ...string) int {
	c := guard.Command{Name: name, From: from}
	for _, a := range args {
		c.Args = append(c.Args, guard.Word{Text: a, Exact: a != ""})
	}
	f.facts.Commands = append(f.facts.Commands, c)
	i := len(f.facts.Commands) - 1
	f.does(i, guard.Exec, "", name, -1)
	return i
}

// does adds an effect of a command and returns its index.
func (f *flow) does(command int, k guard.Kind, action, target string, from int) int {
	f.facts.Effects = append(f.facts.Effects, guard.Effect{Kind: k, Action: action, Target: target, From: from, Command: command, Exact: true})
	return len(f.facts.Effects) - 1
}

func TestFlows(t *testing.T) {
	const env, key, host = "/home/u/proj/.env", "/home/u/.ssh/id_rsa", "localhost"
	standard, yolo := manager(t, "standard", policy), manager(t, "yolo", policy)
	for name, c := range map[string]struct {
		build func(f *flow)
		rule  string // that must have asked; "" for allow
	}{
		"pipe from .env": {func(f *flow) {
			a := f.run(-1, "cat")
			f.does(a, guard.Read, "", env, -1)
			f.does(f.run(a, "curl"), guard.Network, "send", host, -1)
		}, "net/secret-sink"},
		"long pipe from .env": {func(f *flow) {
			a := f.run(-1, "cat")
			f.does(a, guard.Read, "", env, -1)
			f.does(f.run(f.run(f.run(a, "base64"), "gzip"), "nc"), guard.Network, "send", host, -1)
		}, "net/secret-sink"},
		"effect takes from the read": {func(f *flow) {
			a := f.run(-1, "curl")
			f.does(a, guard.Network, "", host, f.does(a, guard.Read, "", env, -1))
		}, "net/secret-sink"},
		"sends what it reads": {func(f *flow) {
			a := f.run(-1, "curl")
			f.does(a, guard.Read, "", env, -1)
			f.does(a, guard.Network, "send", host, -1)
		}, "net/secret-sink"},
		"a key": {func(f *flow) {
			a := f.run(-1, "cat")
			f.does(a, guard.Read, "", key, -1)
			f.does(f.run(a, "gh"), guard.Remote, "push", "gist", -1)
		}, "net/secret-sink"},
		"the environment": {func(f *flow) { f.does(f.run(f.run(-1, "env"), "curl"), guard.Network, "send", host, -1) }, "net/secret-sink"},
		"printenv":        {func(f *flow) { f.does(f.run(f.run(-1, "printenv"), "curl"), guard.Network, "", host, -1) }, "net/secret-sink"},
		"printed credentials": {func(f *flow) {
			a := f.run(-1, "gh", "auth", "token")
			f.does(a, guard.System, "secret", "gh's token", -1)
			f.does(f.run(a, "curl"), guard.Network, "", host, -1)
		}, "net/secret-sink"},
		"a computed word and a secret in the same call": {func(f *flow) {
			f.does(f.run(-1, "cat"), guard.Read, "", env, -1)
			f.does(f.run(-1, "curl", ""), guard.Network, "", host, -1)
		}, "net/secret-sink"},
		"a secret beside a fixed request": {func(f *flow) {
			f.does(f.run(-1, "cat"), guard.Read, "", env, -1)
			f.does(f.run(-1, "curl", "http://localhost"), guard.Network, "", host, -1)
		}, ""},
		"an example is no secret": {func(f *flow) {
			a := f.run(-1, "cat")
			f.does(a, guard.Read, "", env+".example", -1)
			f.does(f.run(a, "curl"), guard.Network, "", host, -1)
		}, ""},
		"the list of a directory with secrets": {func(f *flow) {
			a := f.run(-1, "ls")
			f.does(a, guard.Read, "list", "/home/u/.ssh", -1)
			f.does(f.run(a, "curl"), guard.Network, "", host, -1)
		}, ""},
		"a file to this machine": {func(f *flow) {
			a := f.run(-1, "cat")
			f.does(a, guard.Read, "", "/home/u/proj/a", -1)
			f.does(f.run(a, "curl"), guard.Network, "send", host, -1)
		}, "net/send"},
		"download into a shell": {func(f *flow) {
			a := f.run(-1, "curl")
			f.does(a, guard.Network, "", "github.com", -1)
			f.does(f.run(a, "sh"), guard.Code, "stdin", "sh", -1)
		}, "net/download-run"},
		"download through tee into a shell": {func(f *flow) {
			a := f.run(-1, "curl")
			f.does(a, guard.Network, "", "github.com", -1)
			f.does(f.run(f.run(a, "tee"), "sh"), guard.Code, "", "/home/u/proj/x", -1)
		}, "net/download-run"},
		"code from an effect": {func(f *flow) {
			a := f.run(-1, "bash")
			f.does(a, guard.Code, "inline", "x", f.does(a, guard.Network, "", "github.com", -1))
		}, "net/download-run"},
		"code beside a download": {func(f *flow) {
			f.does(f.run(-1, "curl"), guard.Network, "", "github.com", -1)
			f.does(f.run(-1, "sh"), guard.Code, "", "/home/u/proj/x.sh", -1)
		}, ""},
		"effects in a circle": {func(f *flow) {
			a := f.run(-1, "x")
			f.does(a, guard.Code, "project", "x", 2)
			f.does(a, guard.Code, "project", "y", 1)
		}, ""},
		"commands in a circle": {func(f *flow) {
			a := f.run(1, "x")
			f.does(f.run(a, "y"), guard.Code, "project", "x", -1)
		}, ""},
		"indexes that are none": {func(f *flow) { f.does(f.run(99, "x"), guard.Code, "project", "x", 99) }, ""},
	} {
		var f flow
		c.build(&f)
		call := &guard.EvalContext{ToolName: "safe_bash", WorkingDir: "/home/u/proj", Facts: &f.facts, Roots: []string{"/home/u/proj"}}
		d := standard.Judge(call)
		if c.rule == "" {
			if d.Verdict != guard.VerdictAllow {
				t.Errorf("%s: %s by %s: %s", name, d.Verdict, d.Rule, d.Reason)
			}
			continue
		}
		asked := slices.ContainsFunc(d.Findings, func(f guard.Finding) bool { return f.Rule == c.rule && f.Verdict == guard.VerdictAsk })
		if d.Verdict != guard.VerdictAsk || !asked {
			t.Errorf("%s: %s by %s, and not asked by %s", name, d.Verdict, d.Rule, c.rule)
		}
		if v := yolo.Judge(call).Verdict; c.rule == "net/secret-sink" && v != guard.VerdictAsk {
			t.Errorf("%s: yolo says %s", name, v)
		}
	}
}
