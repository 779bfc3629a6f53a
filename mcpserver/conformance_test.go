package mcpserver

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"handrail/internal/testkit"
	"handrail/mcpserver/auth"
)

// clients returns the directory of the clients that nobody here wrote, and their
// Node.
func clients(t testing.TB) (dir, node string) {
	t.Helper()
	dir, err := filepath.Abs("../testdata/clients")
	if err != nil {
		t.Fatal(err)
	}
	if node, err = exec.LookPath(filepath.Join(dir, "node_modules", ".bin", "node")); err != nil {
		testkit.Missing(t, "the conformance suite with Node", "npm ci --omit-lockfile-registry-resolved --prefix testdata/clients")
	}
	return dir, node
}

// suite runs the official suite against url and returns its checks, by name: what
// failed, with what it says, and how many passed.
func suite(t *testing.T, url string, args ...string) (failed map[string]string, passed int) {
	t.Helper()
	dir, node := clients(t)
	results := t.TempDir()
	out, err := exec.Command(node, append([]string{filepath.Join(dir, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js"),
		"server", "--url", url, "-o", results}, args...)...).CombinedOutput()
	files, _ := filepath.Glob(filepath.Join(results, "server-*", "checks.json"))
	if len(files) == 0 {
		t.Fatalf("the suite did not run: %v\n%s", err, out)
	}
	failed = map[string]string{}
	for _, f := range files {
		scenario := filepath.Base(filepath.Dir(f))
		if strings.HasPrefix(scenario, "server-tasks-") {
			continue
		}
		var checks []struct{ ID, Status, ErrorMessage string }
		text, err := os.ReadFile(f)
		if err == nil {
			err = json.Unmarshal(text, &checks)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range checks {
			switch c.Status {
			case "SUCCESS":
				passed++
			case "FAILURE":
				failed[c.ID] = scenario + ": " + c.ErrorMessage
			}
		}
	}
	return failed, passed
}

// The official suite, what each era requires, against the real gate, transport
// and server with the suite's fixtures added to the tools.
func TestConformance(t *testing.T) {
	text, err := os.ReadFile("testdata/conformance.txt")
	if err != nil {
		t.Fatal(err)
	}
	for era, least := range map[string]int{"2025-11-25": 80, "2026-07-28": 140} {
		t.Run(era, func(t *testing.T) {
			h := host(t, anybody)
			h.add = fixtures
			failed, passed := suite(t, h.url+"/mcp", "--requirements", era)
			t.Logf("%d checks passed", passed)
			if passed < least {
				t.Errorf("%d checks passed, want %d at least", passed, least)
			}
			for _, line := range strings.Split(string(text), "\n") {
				entry, reason, _ := strings.Cut(line, ": ")
				of, check, _ := strings.Cut(entry, " ")
				if strings.HasPrefix(line, "#") || of != era {
					continue
				}
				if failed[check] == "" || reason == "" {
					t.Errorf("testdata/conformance.txt: %q passes, or has no reason", line)
				}
				delete(failed, check)
			}
			for check, said := range failed {
				t.Errorf("%s: %s", check, said)
			}
		})
	}
}

// What needs no fixtures holds for the server as the command serves it.
func TestConformanceAsServed(t *testing.T) {
	url, _ := served(t, "--auth", "none")
	for _, scenario := range []string{"server-initialize", "server-session-lifecycle", "ping", "tools-list",
		"server-sse-multiple-streams", "dns-rebinding-protection", "http-header-validation"} {
		failed, passed := suite(t, url+"/mcp", "--scenario", scenario)
		if passed == 0 {
			t.Errorf("%s: nothing was checked", scenario)
		}
		for check, said := range failed {
			t.Errorf("%s: %s", check, said)
		}
	}
}

// anybody takes who sends no credential for alice: the suite sends none.
func anybody(h *Host, _ *Options) {
	h.Authenticate = func(*http.Request) (auth.Caller, error) { return auth.Caller{Principal: "alice"}, nil }
}
