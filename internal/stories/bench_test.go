package stories

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// start starts a server in a scratch project, ready for calls.
func start(b *testing.B, bin string) (*client, *exec.Cmd) {
	b.Helper()
	dir := b.TempDir()
	root := filepath.Join(dir, "project")
	if err := os.Mkdir(root, 0o755); err != nil {
		b.Fatal(err)
	}
	server := exec.Command(bin, "serve", "--root", root)
	server.Env = environment(dir)
	in, err := server.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := server.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { in.Close(); server.Wait() })
	c := &client{in: in, messages: make(chan message, 1000)}
	go c.read(out)
	if err := c.follow(""); err != nil {
		b.Fatal(err)
	}
	return c, server
}

// A guarded `true` over stdio, beside what it would cost without a guard.
func BenchmarkTrue(b *testing.B) {
	b.Run("guarded", func(b *testing.B) {
		c, server := start(b, binary(b))
		for b.Loop() {
			m, err := c.request("tools/call", map[string]any{"name": "safe_bash", "arguments": json.RawMessage(`{"command":"true"}`)})
			if err != nil || !strings.Contains(string(m.Result), `"exit_code":0`) {
				b.Fatalf("%v: %s", err, m.Result)
			}
		}
		b.ReportMetric(resident(b, server.Process.Pid), "rss-MiB")
	})
	b.Run("bash", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("bash", "--norc", "--noprofile", "-c", "true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// From the start of the process to its first answer.
func BenchmarkStart(b *testing.B) {
	bin := binary(b)
	for b.Loop() {
		start(b, bin)
	}
}

// resident is the resident memory of a process in MiB; 0 where /proc is not.
func resident(b *testing.B, pid int) float64 {
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if kb, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, _ := strconv.ParseFloat(strings.Fields(kb)[0], 64)
			return n / 1024
		}
	}
	return 0
}
