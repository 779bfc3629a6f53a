//go:build linux

package testkit

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const installPodman = "apt-get install podman runc mmdebstrap"

// Engine is Podman with a store of the test's own, which ends with the test.
// Nothing is pulled.
type Engine struct {
	t     testing.TB
	dir   string
	flags []string
}

// NewEngine makes an engine without images.
func NewEngine(t testing.TB) *Engine {
	t.Helper()
	for _, program := range []string{"podman", "runc", "mmdebstrap"} {
		Require(t, program, installPodman)
	}
	dir := t.TempDir()
	t.Cleanup(func() {
		endMonitors(dir)
		_ = exec.Command("umount", "-l", dir+"/store/overlay", dir+"/store/vfs").Run()
	})
	return &Engine{t, dir, []string{"--root", dir + "/store", "--runroot", dir + "/run", "--tmpdir", dir + "/libpod", "--cgroup-manager", "cgroupfs", "--runtime", "runc"}}
}

// Command is podman with these arguments.
func (e *Engine) Command(args ...string) *exec.Cmd {
	return exec.Command("podman", append(slices.Clone(e.flags), args...)...)
}

// Must runs podman and returns what it prints on standard output, trimmed.
func (e *Engine) Must(args ...string) string {
	e.t.Helper()
	cmd := e.Command(args...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		e.t.Fatalf("podman %s: %v: %s%s", args, err, out, said.String())
	}
	return strings.TrimSpace(string(out))
}

// Import makes an image of Debian packages, as mmdebstrap's variant of a system
// has them; changes are lines of a Dockerfile.
func (e *Engine) Import(image, variant, packages string, changes ...string) {
	e.t.Helper()
	file := filepath.Join(e.dir, "image.tar")
	defer os.Remove(file)
	if out, err := exec.Command("mmdebstrap", "--quiet", "--variant="+variant, "--dpkgopt=force-unsafe-io", "--include="+packages, codename(e.t), file).CombinedOutput(); err != nil {
		e.t.Fatalf("mmdebstrap: %v: %s", err, out)
	}
	args := []string{"import", "-q"}
	for _, c := range changes {
		args = append(args, "--change", c)
	}
	e.Must(append(args, file, image)...)
}

// Podman serves Podman, with an image of this name that has Debian's bash and
// git, and returns its socket.
func Podman(t testing.TB, image string) (socket string) {
	t.Helper()
	e := NewEngine(t)
	e.Import(image, "extract", "bash,coreutils,grep,sed,git,procps")
	socket = e.dir + "/api.sock"
	cmd := e.Command("system", "service", "--time", "0", "unix://"+socket)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
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

// endMonitors ends what Podman leaves: for five minutes what tells how a command
// of the store in dir ended, which then would mount the store again, and what tidies
// up after it, which would write there while the directory is removed.
func endMonitors(dir string) {
	for range 1000 {
		left := false
		all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, file := range all {
			b, _ := os.ReadFile(file)
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err == nil && strings.Contains(string(b), dir+"/store") && syscall.Kill(pid, syscall.SIGKILL) == nil {
				left = true
			}
		}
		if !left {
			return
		}
		time.Sleep(10 * time.Millisecond)
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
