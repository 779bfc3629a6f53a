package stories

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"handrail/internal/testkit"
)

const clientsInstall = "npm ci --omit-lockfile-registry-resolved --prefix testdata/clients"

// clients returns the directory of the clients that nobody here wrote, and
// their Node.
func clients(t *testing.T) (dir, node string) {
	t.Helper()
	dir, err := filepath.Abs("../../testdata/clients")
	if err != nil {
		t.Fatal(err)
	}
	node = filepath.Join(dir, "node_modules", ".bin", "node")
	if _, err := os.Stat(node); err != nil {
		testkit.Missing(t, "the TypeScript SDK with the Inspector and Node", clientsInstall)
	}
	return dir, node
}

// home is the home directory of somebody who answers within 2 s or not at all.
func home(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, ".config", "handrail")
	if err := os.MkdirAll(config, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(config, "config.yaml"), []byte("approval: {ask_timeout: 2s}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func environment(home string) []string {
	return append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME=", "XDG_STATE_HOME=")
}

// The official SDK, both generations and both eras, meets every outcome.
func TestTypeScriptSDK(t *testing.T) {
	bin := binary(t)
	dir, node := clients(t)
	cmd := exec.Command(node, "outcomes.mjs", bin, t.TempDir())
	cmd.Dir, cmd.Env = dir, environment(home(t))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), " cases, 0 wrong") {
		t.Errorf("the cases did not come to an end:\n%s", out)
	}
}

// The Inspector's command line lists and calls the tools in both eras.
func TestInspector(t *testing.T) {
	bin := binary(t)
	dir, node := clients(t)
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "go.mod"), []byte("module example\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	me := home(t)
	inspect := func(t *testing.T, args ...string) (string, int) {
		inspector := filepath.Join(dir, "node_modules", "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")
		cmd := exec.Command(node, append([]string{inspector, "--cli", bin, "serve", "--root", root}, args...)...)
		cmd.Dir, cmd.Env = root, environment(me)
		out, err := cmd.CombinedOutput()
		if err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	for _, era := range [][]string{nil, {"--protocol-era", "modern"}} {
		name := strings.Join(append([]string{"era"}, era...), " ")
		t.Run(name, func(t *testing.T) {
			out, code := inspect(t, append(era, "--method", "tools/list", "--strict", "--format", "json")...)
			if code != 0 {
				t.Fatalf("tools/list --strict exits %d:\n%s", code, out)
			}
			for _, tool := range []string{"safe_bash", "safe_read", "safe_write", "safe_edit"} {
				if !strings.Contains(out, `"`+tool+`"`) {
					t.Errorf("%s is not listed:\n%s", tool, out)
				}
			}
			out, code = inspect(t, append(era, "--method", "tools/call", "--tool-name", "safe_read", "--tool-arg", "path=go.mod")...)
			if code != 0 || !strings.Contains(out, "module example") {
				t.Errorf("safe_read exits %d:\n%s", code, out)
			}
			out, _ = inspect(t, append(era, "--method", "tools/call", "--tool-name", "safe_bash", "--tool-args-json", arguments(t, "rm -rf /"))...)
			if !strings.Contains(out, "blocked by safety guard") {
				t.Errorf("rm -rf / is not blocked:\n%s", out)
			}
			out, _ = inspect(t, append(era, "--method", "tools/call", "--tool-name", "safe_bash", "--tool-args-json", arguments(t, "touch "+filepath.Join(me, "made")))...)
			if _, err := os.Stat(filepath.Join(me, "made")); err == nil || !strings.Contains(out, "blocked by safety guard") {
				t.Errorf("a call that nobody could approve:\n%s", out)
			}
		})
	}
}

func arguments(t *testing.T, command string) string {
	b, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
