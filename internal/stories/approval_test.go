package stories

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"handrail/internal/testkit"
)

var approveCommand = regexp.MustCompile("`handrail approvals approve ([a-z0-9]+)`")

// A client that nobody here wrote and that cannot ask (the Inspector's command
// line), with a server for each call: what a person approves in another process
// runs when the same call comes again, and nothing else does.
func TestInspectorApproval(t *testing.T) {
	testkit.Require(t, "bwrap", "apt-get install bubblewrap")
	bin := binary(t)
	dir, node := clients(t)
	for name, era := range map[string][]string{"old": nil, "modern": {"--protocol-era", "modern"}} {
		t.Run(name, func(t *testing.T) {
			me, root, outside := home(t), t.TempDir(), t.TempDir()
			run := func(program string, args ...string) string {
				cmd := exec.Command(program, args...)
				cmd.Dir, cmd.Env = root, append(environment(me), "HANDRAIL_LLM=off")
				out, _ := cmd.CombinedOutput() // a refused call is an error of its own
				return string(out)
			}
			call := func(command string) string {
				inspector := filepath.Join(dir, "node_modules", "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")
				args := append([]string{inspector, "--cli", bin, "serve", "--root", root}, era...)
				return run(node, append(args, "--method", "tools/call", "--tool-name", "safe_bash", "--tool-args-json", arguments(t, command))...)
			}
			made := func(name string) bool { _, err := os.Stat(filepath.Join(outside, name)); return err == nil }

			mkdir := "mkdir " + filepath.Join(outside, "a")
			said := call(mkdir)
			m := approveCommand.FindStringSubmatch(said)
			if m == nil || made("a") {
				t.Fatalf("the refusal does not say how to be approved:\n%s", said)
			}
			if said := run(bin, "approvals", "approve", m[1]); !approved.MatchString(said) {
				t.Fatalf("approving: %s", said)
			}
			if said := call("mkdir " + filepath.Join(outside, "b")); made("b") {
				t.Errorf("another call ran:\n%s", said)
			}
			if said := call(mkdir); !made("a") {
				t.Errorf("the approved call did not run:\n%s", said)
			}
			if err := os.Remove(filepath.Join(outside, "a")); err != nil {
				t.Fatal(err)
			}
			if said := call(mkdir); made("a") {
				t.Errorf("an approval for once ran twice:\n%s", said)
			}
		})
	}
}

var approved = regexp.MustCompile(`: approved: it runs when`)
