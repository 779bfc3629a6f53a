package mcpserver

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

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
	h := host(t, nil)
	inspect := func(args ...string) (string, error) {
		out, err := exec.Command(node, append([]string{
			filepath.Join(dir, "node_modules", "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js"),
			"--cli", h.url + "/mcp", "--transport", "http", "--header", "Authorization: Bearer alice-token"}, args...)...).CombinedOutput()
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
