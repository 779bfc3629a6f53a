package mcpserver

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// BenchmarkCallTrue is a guarded true over stdio, from request to result;
// BenchmarkBashTrue beside it is what bash alone takes.
func BenchmarkCallTrue(b *testing.B) {
	p, _ := process(b, place(b))
	p.hello(false, nil)
	args := map[string]any{"command": "true"}
	for b.Loop() {
		if a := p.call("safe_bash", args, nil); a.IsError {
			b.Fatalf("%+v", a)
		}
	}
}

func BenchmarkBashTrue(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("bash", "--noprofile", "--norc", "-c", "true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStart is from starting the server to its answer to the first call,
// and how much memory it holds then.
func BenchmarkStart(b *testing.B) {
	memory := 0.0
	for b.Loop() {
		p, cmd := process(b, place(b))
		p.hello(false, nil)
		if a := p.call("safe_bash", map[string]any{"command": "true"}, nil); a.IsError {
			b.Fatalf("%+v", a)
		}
		b.StopTimer()
		memory = max(memory, resident(cmd.Process.Pid))
		p.leaving.Store(true)
		p.in.Close()
		<-p.over
		b.StartTimer()
	}
	if memory > 0 {
		b.ReportMetric(memory, "MiB-resident")
	}
}

// resident is the resident memory of a process in MiB, or 0 where /proc does not
// tell.
func resident(pid int) float64 {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var kib float64
		if rest, ok := strings.CutPrefix(s.Text(), "VmRSS:"); ok {
			if _, err := fmt.Sscan(rest, &kib); err == nil {
				return kib / 1024
			}
		}
	}
	return 0
}
