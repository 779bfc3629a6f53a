package sandbox

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestNamespaces runs the tests of bubblewrap with our own namespaces in its
// place: the tier must hold the same and let the same be done.
func TestNamespaces(t *testing.T) {
	c := exec.Command("/proc/self/exe", "-test.run=^TestBwrap(Runs|Holds|Tree|ServerDeath|Protects|Git|Worktree|Secrets|Write|Caches|Domains|Descriptors|Parallel|Idle|Changed|Cancelled)$", "-test.v", "-test.timeout=3m")
	c.Env = append(os.Environ(), tierInstead+"="+string(Namespaces))
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if n := strings.Count(string(out), "\n--- PASS: "); n < 14 {
		t.Errorf("only %d tests passed:\n%s", n, out)
	}
}

// TestSpaceRefuses: what the plan of a sandbox does not use is not known, and
// nothing runs.
func TestSpaceRefuses(t *testing.T) {
	for _, args := range [][]string{
		{"--ro-bind", "/", "/"},
		{"--seccomp", "3", "--ro-bind", "/", "/", "--", "/bin/true"},
		{"--bind", "/tmp", "/tmp", "--", "/bin/true"},
		{"--cap-add", "CAP_SYS_PTRACE", "--ro-bind", "/", "/", "--", "/bin/true"},
		{"--", "/bin/true"},
		{},
	} {
		if program, err := new(building).read(args); err == nil {
			t.Errorf("%q: %q", args, program)
		}
	}
}
