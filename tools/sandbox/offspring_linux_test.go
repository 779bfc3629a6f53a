package sandbox

import (
	"bufio"
	"os"
	"os/exec"
	"slices"
	"testing"
)

// The kernel's lists of children name what a walk over all processes finds, also
// what a thread other than the first has started.
func TestOffspring(t *testing.T) {
	cmd := exec.Command("bash", "-c", "(sleep 1000 & echo; wait) & sleep 1000 & wait")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		for _, pid := range offspring(cmd.Process.Pid) {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill()
			}
		}
		_ = cmd.Wait()
	}()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	for range 1000 { // until the last of them runs
		all, some := descendants(cmd.Process.Pid), offspring(cmd.Process.Pid)
		slices.Sort(all)
		slices.Sort(some)
		if len(all) >= 4 && slices.Equal(all, some) {
			return
		}
	}
	t.Errorf("%v, want %v", offspring(cmd.Process.Pid), descendants(cmd.Process.Pid))
}
