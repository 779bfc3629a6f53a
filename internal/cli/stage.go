package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"handrail/guard"
	"handrail/tools"
)

// stage is where the demo plays: a directory of its own with a project, a
// directory beside it that is not part of the project, and a state directory.
type stage struct {
	dir, project, outside, state string
	test                         string // the command that tests the project
}

const (
	helloGo = `package hello

// Greet greets somebody.
func Greet(name string) string { return "Hello, " + name }
`
	helloTest = `package hello

import "testing"

func TestGreet(t *testing.T) {
	if got := Greet("you"); got != "Hello, you" {
		t.Fatal(got)
	}
}
`
)

func newStage() (*stage, error) {
	dir, err := os.MkdirTemp("", "handrail-demo-")
	if err != nil {
		return nil, err
	}
	p := &stage{dir: dir}
	if p.dir, err = filepath.EvalSymlinks(dir); err != nil {
		p.remove()
		return nil, err
	}
	p.project, p.outside, p.state = filepath.Join(p.dir, "project"), filepath.Join(p.dir, "old-build"), filepath.Join(p.dir, "state")
	for name, content := range map[string]string{
		"project/go.mod":        "module hello\n\ngo 1.21\n",
		"project/hello.go":      helloGo,
		"project/hello_test.go": helloTest,
		"project/.env":          "API_KEY=not-a-real-key\n",
		"project/.gitignore":    ".env\n",
		"old-build/hello.o":     "object\n",
	} {
		path := filepath.Join(p.dir, name)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o755)
		}
		if err == nil {
			err = os.WriteFile(path, []byte(content), 0o644)
		}
	}
	if err == nil {
		err = p.commit()
	}
	if err != nil {
		p.remove()
		return nil, fmt.Errorf("scratch project: %w", err)
	}
	p.test = "go test ./..."
	if _, err := exec.LookPath("go"); err != nil {
		p.test = "grep -rn Greet . && echo found"
	}
	return p, nil
}

// commit puts the project under git, where there is git.
func (p *stage) commit() error {
	if _, err := exec.LookPath("git"); err != nil {
		return nil
	}
	for _, args := range [][]string{
		{"init", "--quiet"}, {"add", "."},
		{"-c", "user.name=demo", "-c", "user.email=demo@example.org", "-c", "commit.gpgsign=false", "commit", "--quiet", "--no-verify", "--message", "first"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = p.project
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
	}
	return nil
}

func (p *stage) remove() { os.RemoveAll(p.dir) }

// env keeps the demo out of the user's own log and configuration.
func (p *stage) env() []string {
	return []string{"XDG_STATE_HOME=" + p.state, "XDG_CONFIG_HOME=" + filepath.Join(p.dir, "config")}
}

func (p *stage) steps() []step {
	bash := func(title, command, why string, want guard.Verdict) step {
		return step{title: title, tool: tools.Bash, shown: command, want: want,
			args: map[string]any{"command": command, "description": why}}
	}
	denied := bash("What cannot be undone is refused. Nobody is asked, and nobody can allow it.",
		"rm -rf /", "free some space", guard.VerdictDeny)
	denied.never = true
	hidden := bash("Another spelling changes nothing: the call is read, not matched.",
		`x=/; eval "rm -r""f $x"`, "free some space", guard.VerdictDeny)
	hidden.never = true
	return []step{
		bash("Looking around runs unasked.", "ls -A && git log --oneline", "see what there is", guard.VerdictAllow),
		bash("So does everyday work: the project's tests.", p.test, "run the tests", guard.VerdictAllow),
		{title: "Files inside the workspace may be written ...", tool: tools.Write, shown: "NOTES.md", want: guard.VerdictAllow,
			args: map[string]any{"path": "NOTES.md", "content": "# Notes\n\nGreet is tested.\n"}},
		{title: "... and edited.", tool: tools.Edit, shown: "hello.go", want: guard.VerdictAllow,
			args: map[string]any{"path": "hello.go", "old_string": "greets somebody", "new_string": "greets somebody by name"}},
		denied, hidden,
		bash("Deleting outside the workspace needs you.", "rm -r "+p.outside, "the old build is not needed any more", guard.VerdictAsk),
		{title: "So does changing a file of secrets, whichever tool is used.", tool: tools.Edit, shown: ".env", want: guard.VerdictAsk,
			args: map[string]any{"path": ".env", "old_string": "not-a-real-key", "new_string": "another-key"}},
	}
}
