package sandbox

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

	"handrail/internal/testkit"
)

const installPodman = "apt-get install podman runc mmdebstrap"

const testImage = "localhost/handrail-test:1"

// podman serves Podman from a store of the test's own, with an image of Debian's
// bash and git, and returns its socket. Nothing is pulled.
func podman(t testing.TB) (socket string) {
	t.Helper()
	for _, program := range []string{"podman", "runc", "mmdebstrap"} {
		testkit.Require(t, program, installPodman)
	}
	dir := t.TempDir()
	flags := []string{"--root", dir + "/store", "--runroot", dir + "/run", "--cgroup-manager", "cgroupfs", "--runtime", "runc"}
	for _, args := range [][]string{
		{"mmdebstrap", "--quiet", "--variant=extract", "--include=bash,coreutils,grep,sed,git,procps", codename(t), dir + "/image.tar"},
		append(append([]string{"podman"}, flags...), "import", "-q", dir+"/image.tar", testImage),
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
	testkit.Missing(t, "a Debian or Ubuntu with its codename", "a newer base-files")
	return ""
}

// harbour makes a user's machine with the Podman of socket.
func harbour(t testing.TB, socket string) *place {
	t.Helper()
	dir := t.TempDir()
	for up := dir; up != os.TempDir() && up != "/"; up = filepath.Dir(up) {
		if err := os.Chmod(up, 0o755); err != nil { // the command's user passes through
			t.Fatal(err)
		}
	}
	p := &place{root: filepath.Join(dir, "home/work"), outside: filepath.Join(dir, "home/other")}
	p.Settings = Settings{Tier: Podman, Roots: []string{p.root}, Home: filepath.Join(dir, "home"), Scratch: filepath.Join(dir, "scratch"), State: filepath.Join(dir, "home/.local/state"), Image: testImage, Engine: socket}
	for _, d := range []string{p.root, p.outside, p.Scratch, p.State} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if os.Getuid() == 0 {
		for _, d := range []string{p.root, p.Scratch} {
			if err := os.Chown(d, 4242, 4242); err != nil {
				t.Fatal(err)
			}
		}
	}
	var err error
	if p.sb, err = Open(p.Settings); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.sb.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return p
}
