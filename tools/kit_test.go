package tools

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"handrail/elicit"
	"handrail/guard"
	"handrail/guard/audit"
	"handrail/guard/command"
	"handrail/guard/shell"
	"handrail/internal/testkit"
	"handrail/tools/sandbox"
)

// person is who answers in a test.
type person func(ctx context.Context, q elicit.Question) (elicit.Answer, error)

func (p person) Ask(ctx context.Context, q elicit.Question) (elicit.Answer, error) { return p(ctx, q) }

// says is a person who always gives the same answer.
func says(o elicit.Outcome, c elicit.Choice) person {
	return func(context.Context, elicit.Question) (elicit.Answer, error) {
		return elicit.Answer{Outcome: o, Choice: c, Channel: "test"}, nil
	}
}

// bench is a toolbox on a workspace of its own, with small rules: deleting and
// what is unknown asks, whatever is called "forbidden" is denied.
type bench struct {
	*Toolbox
	root, log string
}

func newBench(t testing.TB) *bench {
	t.Helper()
	testkit.Require(t, "bash", "apt-get install bash")
	table, err := command.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	root, state := resolved(t.TempDir()), resolved(t.TempDir())
	log, err := audit.Open(filepath.Join(state, "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	speak := func(id string, v guard.Verdict, when func(guard.Effect) bool) guard.Rule {
		return guard.Rule{ID: id, Evaluate: func(p *guard.Pass) {
			for i, e := range p.Facts.Effects {
				if when(e) {
					p.Report(i, v, e.Kind.String()+" "+e.Target, "do "+id+" otherwise")
				}
			}
		}}
	}
	return &bench{root: root, log: filepath.Join(state, "audit.jsonl"), Toolbox: &Toolbox{
		Guard: &guard.Manager{Grants: guard.NewGrants(), Fallback: guard.VerdictAsk,
			Rules: []guard.Rule{
				speak("test/forbidden", guard.VerdictDeny, func(e guard.Effect) bool { return strings.HasSuffix(e.Target, "forbidden") }),
				speak("test/delete", guard.VerdictAsk, func(e guard.Effect) bool { return e.Kind == guard.Delete || e.Kind == guard.Unknown }),
			},
			Default: []guard.Rule{speak("test/default", guard.VerdictAllow, func(guard.Effect) bool { return true })}},
		Reader: &shell.Reader{Table: table, Home: root, Env: Environment([]string{root}, state), Roots: []string{root}},
		Audit:  log,
		Sandbox: func(roots []string, _ string) (sandbox.Sandbox, error) {
			return sandbox.Open(sandbox.Settings{Tier: sandbox.None, Roots: roots})
		},
	}}
}

// call does one call; args are the arguments as a map or as JSON.
func (b *bench) call(t testing.TB, tool string, args any, p elicit.Channel) *Result {
	t.Helper()
	input, ok := args.(string)
	if !ok {
		j, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		input = string(j)
	}
	res := b.Do(t.Context(), Call{Tool: tool, Input: json.RawMessage(input), Roots: []string{b.root}, Session: "s", Channel: p})
	if res == nil || res.CallID == "" || res.Text == "" {
		t.Fatalf("%s %s: result %+v", tool, input, res)
	}
	return res
}

func (b *bench) bash(t testing.TB, text string, p elicit.Channel) *Result {
	t.Helper()
	return b.call(t, Bash, map[string]any{"command": text}, p)
}

func (b *bench) write(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(b.root, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
		t.Fatal(err)
	}
	return path
}

// events are the audit records of a call, as "event verdict approval".
func (b *bench) events(t testing.TB, id string) (out []string) {
	t.Helper()
	f, err := os.Open(b.log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var r audit.Record
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if r.CallID == id {
			out = append(out, strings.TrimSpace(strings.Join(strings.Fields(string(r.Event)+" "+r.Verdict+" "+r.Approval), " ")))
		}
	}
	return out
}

func exists(path string) bool { _, err := os.Lstat(path); return err == nil }

// resolved follows path's links; what does not exist stays as it is.
func resolved(path string) string {
	if r, err := filepath.EvalSymlinks(path); err == nil {
		return r
	}
	return filepath.Clean(path)
}
