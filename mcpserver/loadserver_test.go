package mcpserver_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"handrail/mcpserver"
)

// nobody is the user as whom the server runs where the test runs as root, which
// the server refuses.
const nobody = 23457

// start starts the server with ten principals, whose tokens the real command made.
func start(t *testing.T) *load {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "handrail-load-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	self := filepath.Join(dir, "handrail")
	config := "http: {auth: {tokens: true}}\nllm: {use: off}\nprincipals:\n"
	err = errors.Join(copied("/proc/self/exe", self), os.MkdirAll(filepath.Join(dir, "home", ".config", "handrail"), 0o700))
	for i := range 10 {
		root := filepath.Join(dir, "work", fmt.Sprintf("p%d", i))
		config += fmt.Sprintf("  p%d: {workspace: %s}\n", i, root)
		err = errors.Join(err, os.MkdirAll(root, 0o700), os.WriteFile(filepath.Join(root, "hello.c"), []byte("int main(void) { return 0; }\n"), 0o600))
	}
	err = errors.Join(err, os.WriteFile(filepath.Join(dir, "home", ".config", "handrail", "config.yaml"), []byte(config), 0o600))
	if os.Geteuid() == 0 && err == nil {
		err = filepath.WalkDir(dir, func(path string, _ os.DirEntry, _ error) error { return os.Lchown(path, nobody, nobody) })
	}
	if err != nil {
		t.Fatal(err)
	}
	command := func(as string, args ...string) *exec.Cmd {
		cmd := exec.Command(self, args...)
		cmd.Dir, cmd.Stderr = dir, t.Output()
		cmd.Env = []string{as + "=1", "HOME=" + filepath.Join(dir, "home"), "PATH=" + os.Getenv("PATH")}
		if os.Geteuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		}
		return cmd
	}
	l := &load{T: t, origin: time.Now()}
	for i := range 10 {
		out, err := command(mcpserver.AsProgram, "token", "create", fmt.Sprintf("p%d", i)).Output()
		if err != nil {
			t.Fatal(err)
		}
		l.tokens = append(l.tokens, strings.TrimSpace(string(out)))
	}
	cmd := command(mcpserver.AsLoaded)
	if l.ask, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("the server ended with %v", err)
			}
		case <-time.After(2 * mcpserver.Patience):
			t.Error("the server does not end")
			_ = cmd.Process.Kill()
		}
	})
	l.told = bufio.NewReader(out)
	line, err := l.told.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	l.url = strings.TrimPrefix(strings.TrimSpace(line), "listening on ")
	t.Logf("%7s %-12s %10s %11s %9s %7s %8s %9s %7s %6s %8s", "", "", "goroutines", "descriptors", "processes", "heap/MB", "res/MB", "decisions", "med/ms", "p99/ms", "worst/ms")
	return l
}

// copied copies a program to where any user reaches it.
func copied(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}
