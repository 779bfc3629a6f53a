package sandbox

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestEarly: the processes of a sandbox are started before the packages that only
// the server needs are made ready, which takes more than all the rest of them.
func TestEarly(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "handrail")
	if out, err := exec.Command("go", "build", "-o", binary, "handrail").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	trace := func(args ...string) string {
		cmd := exec.Command(binary, args...)
		cmd.Env = append(cmd.Environ(), "GODEBUG=inittrace=1")
		out, _ := cmd.CombinedOutput() // such a process ends at once: nobody talks to it
		return string(out)
	}
	server, part := trace("version"), trace(inside, "head", fromAgent)
	if !strings.Contains(part, "init handrail/guard ") || !strings.Contains(part, "sandbox head: ") {
		t.Fatalf("no trace:\n%s", part)
	}
	for _, name := range []string{"github.com/santhosh-tekuri/jsonschema/v6", "net/http", "crypto/x509", "handrail/mcpserver", "handrail/internal/cli"} {
		if !strings.Contains(server, "init "+name+" ") {
			t.Errorf("the control: %s is not made ready for the server", name)
		}
		if strings.Contains(part, "init "+name+" ") {
			t.Errorf("%s is made ready for a process of the sandbox", name)
		}
	}
}
