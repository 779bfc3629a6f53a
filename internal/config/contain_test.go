package config

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"handrail/elicit"
	"handrail/guard"
	"handrail/internal/testkit"
	"handrail/tools"
)

// approves is a person who says yes once.
type approves struct{}

func (approves) Ask(context.Context, elicit.Question) (elicit.Answer, error) {
	return elicit.Answer{Outcome: elicit.Approved, Choice: elicit.AllowOnce, Channel: "test"}, nil
}

// TestTwoServers: what a person approved on one server of theirs is not taken
// back by the end of a job of another one in the same workspace.
func TestTwoServers(t *testing.T) {
	home := userOf(t)
	noLLM(t)
	project := filepath.Join(home, "project")
	files := map[string]string{".vscode/settings.json": "{\"a\": 1}\n", ".env": "K=1\n", "deep/.envrc": "use a\n"}
	for name, content := range files {
		write(t, filepath.Join(project, name), content)
	}
	write(t, filepath.Join(project, "job.sh"), "until [ -e go ]; do sleep 0.02; done\n")
	do := func(sys *System, tool string, args map[string]any) *tools.Result {
		t.Helper()
		input, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		return sys.Toolbox.Do(t.Context(), tools.Call{Tool: tool, Input: input, Roots: []string{project}, Session: "s", Channel: approves{}})
	}
	var both [2]*System
	for i := range both {
		c, err := Load("", []string{project})
		if err != nil {
			t.Fatal(err)
		}
		both[i], _ = opened(t, c)
		if !both[i].Held.Enforcement.Contains() {
			testkit.Missing(t, "a sandbox", "apt-get install bubblewrap")
		}
	}
	job := do(both[0], tools.Bash, map[string]any{"command": "bash job.sh", "background": true})
	if !job.Running {
		t.Fatalf("%+v", job)
	}
	if res := do(both[1], tools.Edit, map[string]any{"path": ".vscode/settings.json", "old_string": "1", "new_string": "2"}); res.Verdict != guard.VerdictAllow || res.IsError {
		t.Fatalf("%+v", res)
	}
	for name, content := range map[string]string{".env": "K=2\n", "deep/.envrc": "use b\n"} {
		if res := do(both[1], tools.Write, map[string]any{"path": name, "content": content}); res.Verdict != guard.VerdictAllow || res.IsError {
			t.Fatalf("%+v", res)
		}
		files[name] = content
	}
	files[".vscode/settings.json"] = "{\"a\": 2}\n"
	if res := do(both[1], tools.Bash, map[string]any{"command": "echo 'K=3' > .env"}); res.Verdict != guard.VerdictAllow || res.IsError {
		t.Fatalf("%+v", res)
	}
	files[".env"] = "K=3\n"
	write(t, filepath.Join(project, "go"), "")
	for end := time.Now().Add(time.Minute); job.Running; {
		if time.Now().After(end) {
			t.Fatal("the job does not end")
		}
		job = do(both[0], tools.Bash, map[string]any{"output_id": job.OutputID, "wait_ms": 1000})
	}
	for name, content := range files {
		if now, err := os.ReadFile(filepath.Join(project, name)); string(now) != content {
			t.Errorf("%s is %q, %v; want %q", name, now, err, content)
		}
	}
	if job.Sandbox == nil || len(job.Sandbox.Restored) > 0 {
		t.Errorf("the job is told %+v", job.Sandbox)
	}
}
