//go:build linux

package testkit

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const installPodman = "apt-get install podman runc mmdebstrap"

// Podman serves Podman from a store of the test's own, with an image of this
// name that has Debian's bash and git, and returns its socket. Nothing is
// pulled. The engine ends with the test.
func Podman(t testing.TB, image string) (socket string) {
	t.Helper()
	for _, program := range []string{"podman", "runc", "mmdebstrap"} {
		Require(t, program, installPodman)
	}
	dir := t.TempDir()
	flags := []string{"--root", dir + "/store", "--runroot", dir + "/run", "--tmpdir", dir + "/libpod", "--cgroup-manager", "cgroupfs", "--runtime", "runc"}
	for _, args := range [][]string{
		{"mmdebstrap", "--quiet", "--variant=extract", "--include=bash,coreutils,grep,sed,git,procps", codename(t), dir + "/image.tar"},
		append(append([]string{"podman"}, flags...), "import", "-q", dir+"/image.tar", image),
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", args, err, out)
		}
	}
	socket = dir + "/api.sock"
	cmd := exec.Command("podman", append(flags, "system", "service", "--time", "0", "unix://"+socket)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		endMonitors(dir)
		_ = exec.Command("umount", "-l", dir+"/store/overlay", dir+"/store/vfs").Run()
	})
	for range 500 {
		if c, err := net.Dial("unix", socket); err == nil {
			c.Close()
			return socket
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("podman does not serve")
	return ""
}

// endMonitors ends what Podman leaves for five minutes to tell how a command
// of the store in dir ended, and which then would mount the store again.
func endMonitors(dir string) {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range all {
		b, _ := os.ReadFile(file)
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil && strings.Contains(string(b), "conmon") && strings.Contains(string(b), dir+"/store") {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// codename is the release of this system, whose packages the image is made of.
func codename(t testing.TB) string {
	t.Helper()
	b, err := os.ReadFile("/etc/os-release")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "VERSION_CODENAME="); ok {
			return name
		}
	}
	Missing(t, "a Debian or Ubuntu with its codename", "a newer base-files")
	return ""
}
