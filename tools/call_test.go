package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"handrail/elicit"
	"handrail/guard"
	"handrail/tools/sandbox"
)

// TestNoRecordNoRun: a log that cannot be written stops everything.
func TestNoRecordNoRun(t *testing.T) {
	b := newBench(t)
	b.Audit.Close()
	for _, text := range []string{"touch made", "rm -f victim"} {
		res := b.bash(t, text, says(elicit.Approved, elicit.AllowSession))
		if res.Verdict != guard.VerdictDeny || res.Rule != "audit/unwritable" || exists(b.root+"/made") {
			t.Errorf("%q: %+v", text, res)
		}
	}
}

func TestZeroAndBrokenToolboxRefuse(t *testing.T) {
	call := Call{Tool: Bash, Input: json.RawMessage(`{"command":"true"}`), Roots: []string{"/"}}
	if res := new(Toolbox).Do(t.Context(), call); res.Verdict != guard.VerdictDeny || !res.IsError {
		t.Errorf("zero toolbox: %+v", res)
	}
	b := newBench(t)
	b.Reader.Table = nil // the reader's fault is not the caller's luck
	if res := b.bash(t, "rm -rf x", nil); res.Verdict == guard.VerdictAllow {
		t.Errorf("without a table: %+v", res)
	}
	b.Guard.Validator = nil
	b.Guard.Rules = append(b.Guard.Rules, guard.Rule{ID: "test/panic", Evaluate: func(*guard.Pass) { panic("x") }})
	if res := b.bash(t, "true", nil); res.Verdict != guard.VerdictDeny {
		t.Errorf("a rule that panics: %+v", res)
	}
	if res := b.Do(t.Context(), Call{Tool: Bash, Input: json.RawMessage(`{"command":"true"}`)}); res.Verdict != guard.VerdictDeny {
		t.Errorf("without roots: %+v", res)
	}
}

func TestDoRecovers(t *testing.T) {
	b := newBench(t)
	res := b.Do(t.Context(), Call{Tool: Bash, Input: json.RawMessage(`{"command":"rm -f x"}`), Roots: []string{b.root},
		Channel: says(elicit.Approved, elicit.AllowOnce), Progress: func(string) { panic("broken client") }})
	if res.Verdict != guard.VerdictDeny || !res.IsError || res.Rule != "guard/error" || res.CallID == "" {
		t.Errorf("%+v", res)
	}
	if b.open.Load() != 0 {
		t.Error("the question is still counted")
	}
}

func TestBashTimeoutAndCancel(t *testing.T) {
	b := newBench(t)
	res := b.call(t, Bash, map[string]any{"command": "echo begun; sleep 60", "timeout_ms": 300}, nil)
	if !res.TimedOut || !res.IsError || res.Stdout != "begun\n" || *res.ExitCode != 143 || !strings.Contains(res.Text, "timed out") {
		t.Errorf("%+v", res)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	res = b.Do(ctx, Call{Tool: Bash, Input: json.RawMessage(`{"command":"sleep 60"}`), Roots: []string{b.root}})
	if res.TimedOut || !res.IsError || !strings.Contains(res.Text, "cancelled") {
		t.Errorf("%+v", res)
	}
	if got := b.events(t, res.CallID); !slices.Equal(got, []string{"decision allow", "outcome"}) {
		t.Errorf("audit %q", got)
	}
}

func TestBashCwd(t *testing.T) {
	b := newBench(t)
	b.write(t, "sub/f", "")
	if res := b.call(t, Bash, map[string]any{"command": "pwd", "cwd": "sub"}, nil); res.Stdout != b.root+"/sub\n" {
		t.Errorf("%+v", res)
	}
	for _, cwd := range []string{"missing", "sub/f", "~nobody"} {
		if res := b.call(t, Bash, map[string]any{"command": "pwd", "cwd": cwd}, nil); !res.IsError || res.Rule != "call/arguments" || !strings.Contains(res.Text, "cwd") {
			t.Errorf("%s: %+v", cwd, res)
		}
	}
	ec, err := b.Context(Call{Tool: Bash, Input: json.RawMessage(`{"command":"true","cwd":"/etc"}`), Roots: []string{b.root}})
	if err != nil || ec.WorkingDir != "/etc" || !slices.ContainsFunc(ec.Facts.Effects, func(e guard.Effect) bool { return e.Kind == guard.Read && e.Target == "/etc" }) {
		t.Errorf("a directory outside the roots is no effect: %v %+v", err, ec)
	}
}

func TestArguments(t *testing.T) {
	b := newBench(t)
	b.write(t, "f", "x\n")
	for _, c := range []struct{ tool, input, want string }{
		{"safe_rm", `{}`, "safe_edit"},
		{Bash, ``, "one JSON object"},
		{Bash, `[]`, "one JSON object"},
		{Bash, `"true"`, "one JSON object"},
		{Bash, `{`, "not valid JSON"},
		{Bash, `{"command":"true"} {}`, "after the arguments"},
		{Bash, `{"command":"true"}}`, "after the arguments"},
		{Bash, `{}`, `"command" is missing`},
		{Bash, `{"command":null}`, `"command" is missing`},
		{Bash, `{"command":["ls"]}`, `"command" must be a string, not ["ls"]`},
		{Bash, `{"command":"  "}`, "empty"},
		{Bash, `{"command":"true","cmd":"x"}`, `no field "cmd"; the fields are command, cwd, timeout_ms, description`},
		{Bash, `{"command":"true","command":"rm x"}`, "more than once"},
		{Bash, `{"command":"true","Command":"rm x"}`, "more than once"},
		{Bash, `{"COMMAND":"true"}`, `no field "COMMAND"`},
		{Bash, `{"command":"true","timeout_ms":"5"}`, `"timeout_ms" must be a whole number`},
		{Bash, `{"command":"true","timeout_ms":1.5}`, "whole number"},
		{Bash, `{"command":"true","timeout_ms":-1}`, "between 1 and 1800000"},
		{Bash, `{"command":"true","timeout_ms":1800001}`, "between 1 and 1800000"},
		{Bash, `{"command":"a\u0000b"}`, "NUL"},
		{Bash, "{\"command\":\"a\xff\"}", "UTF-8"},
		{Bash, `{"command":"` + strings.Repeat("a", maxCommand+1) + `"}`, "at most"},
		{Read, `{"path":""}`, "empty"},
		{Read, `{"path":"f","limit":5000}`, "between 1 and 2000"},
		{Read, `{"path":"~root/x"}`, "another user's home"},
		{Write, `{"path":"f"}`, `"content" is missing`},
		{Write, `{"path":"f","content":"x","expected_sha256":"abc"}`, "64 hexadecimal"},
		{Edit, `{"path":"f","old_string":"","new_string":"x"}`, "old_string"},
		{Edit, `{"path":"f","old_string":"x","new_string":"y","replace_all":"yes"}`, "true or false"},
	} {
		res := b.call(t, c.tool, c.input, says(elicit.Approved, elicit.AllowOnce))
		if !res.IsError || res.Verdict != guard.VerdictDeny || !strings.Contains(res.Text, c.want) {
			t.Errorf("%s %.80s: %q lacks %q", c.tool, c.input, clip(res.Text, 300), c.want)
		}
		if got := b.events(t, res.CallID); !slices.Equal(got, []string{"decision deny"}) {
			t.Errorf("%s %.80s: audit %q", c.tool, c.input, got)
		}
	}
	if res := b.call(t, Bash, `{"command":"true","cwd":null,"timeout_ms":null,"description":null}`, nil); res.IsError {
		t.Errorf("null for optional fields: %+v", res)
	}
	if content, _ := os.ReadFile(b.root + "/f"); !bytes.Equal(content, []byte("x\n")) {
		t.Errorf("the file is %q", content)
	}
}

// TestSandboxIsOpenedOnceAndEnds: the commands of a session share a sandbox,
// others have their own; it ends with the session, and where there is none,
// nothing runs.
func TestSandboxIsOpenedOnceAndEnds(t *testing.T) {
	b := newBench(t)
	opened := 0
	b.Sandbox = func(roots []string, _ string) (sandbox.Sandbox, error) {
		if opened++; !slices.Equal(roots, []string{b.root}) {
			t.Errorf("roots %q", roots)
		}
		return sandbox.Open(sandbox.Settings{Tier: sandbox.None, Roots: roots})
	}
	for range 3 {
		b.bash(t, "true", nil)
	}
	if opened != 1 {
		t.Errorf("opened %d times in one session", opened)
	}
	b.Do(t.Context(), Call{Tool: Bash, Input: json.RawMessage(`{"command":"true"}`), Roots: []string{b.root}, Session: "other"})
	if opened != 2 {
		t.Errorf("two sessions share a sandbox")
	}
	b.EndSession("s")
	if b.bash(t, "true", nil); opened != 3 {
		t.Errorf("a sandbox outlived its session")
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	b.Sandbox = func([]string, string) (sandbox.Sandbox, error) { return nil, errors.New("no sandbox here") }
	for range 2 {
		if res := b.bash(t, "touch made", nil); !res.IsError || exists(b.root+"/made") || !strings.Contains(res.Text, "no sandbox here") {
			t.Errorf("%+v", res)
		}
	}
	if b.Sandbox = nil; !b.bash(t, "touch made", nil).IsError || exists(b.root+"/made") {
		t.Error("it ran without a sandbox")
	}
}
