package mcpserver

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// served is `handrail serve` for its own user, as a process of its own: where it
// listens, and its token where it makes one.
func served(t *testing.T, args ...string) (url, token string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	root := place(t)
	cmd := exec.Command(self, append([]string{"serve", "--transport", "http", "--listen", "127.0.0.1:0", "--root", root}, args...)...)
	cmd.Env = append(os.Environ(), AsProgram+"=1", "HOME="+filepath.Join(filepath.Dir(root), "home"), "XDG_CONFIG_HOME=", "XDG_STATE_HOME=")
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if at, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			url = at
		}
		if file, ok := strings.CutPrefix(lines.Text(), "bearer token in "); ok {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			token = strings.TrimSpace(string(text))
		}
		if url != "" && (token != "" || len(args) > 0) {
			return url, token
		}
	}
	t.Fatal("the server does not listen")
	return "", ""
}

// The official SDK, both generations, over every transport of HTTP.
func TestTypeScriptSDK(t *testing.T) {
	dir, node := clients(t)
	h := host(t, nil)
	h.add = func(s *Server) {
		fixtures(s)
		s.box.AskTimeout = 2 * time.Second
	}
	cmd := exec.Command(node, "hosted.mjs", h.url, "alice-token", h.roots["alice"])
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), " cases, 0 wrong") {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out[strings.LastIndex(strings.TrimSpace(string(out)), "\n")+1:])
}

// The Inspector's command line, both eras, with its strict look at the schemas.
func TestInspectorOverHTTP(t *testing.T) {
	dir, node := clients(t)
	url, token := served(t)
	inspect := func(args ...string) (string, error) {
		out, err := exec.Command(node, append([]string{
			filepath.Join(dir, "node_modules", "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js"),
			"--cli", url + "/mcp", "--transport", "http", "--header", "Authorization: Bearer " + token}, args...)...).CombinedOutput()
		return string(out), err
	}
	for _, era := range [][]string{nil, {"--protocol-era", "modern"}} {
		out, err := inspect(append(era, "--method", "tools/list", "--strict", "--format", "json")...)
		if err != nil || strings.Count(out, `"safe_`) < 4 {
			t.Errorf("%v: %v\n%s", era, err, out)
		}
		out, err = inspect(append(era, "--method", "tools/call", "--tool-name", "safe_bash", "--tool-args-json", `{"command":"echo by $((40+2))"}`)...)
		if err != nil || !strings.Contains(out, "by 42") {
			t.Errorf("%v: %v\n%s", era, err, out)
		}
	}
}
