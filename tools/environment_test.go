package tools

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"handrail/elicit"
	"handrail/internal/testkit"

	"handrail/tools/sandbox"
)

func TestEnvironmentIsBuilt(t *testing.T) {
	root, bin, open := resolved(t.TempDir()), resolved(t.TempDir()), resolved(t.TempDir())
	for _, dir := range []string{root + "/bin", bin, open} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(bin, "link")
	if err := os.Symlink(root+"/bin", link); err != nil {
		t.Fatal(err)
	}
	server := []string{
		"PATH=" + strings.Join([]string{"", ".", "bin", root + "/bin", link, open, bin, bin, "/missing", "/usr/bin"}, ":"),
		"HOME=/home/x", "LANG=C.UTF-8", "GOPATH=/home/x/go", "CARGO_HOME=" + root + "/cargo", "GOROOT=goroot",
		"GOFLAGS=-mod=vendor", "HTTPS_PROXY=http://user:pw@proxy:1", "npm_config_registry=https://registry.example",
		"GITHUB_TOKEN=t", "AWS_SECRET_ACCESS_KEY=s", "LD_PRELOAD=/x.so", "BASH_ENV=/x", "ENV=/x", "NODE_OPTIONS=--require=x", "PYTHONPATH=/x",
		"SSH_AUTH_SOCK=/x", "DOCKER_HOST=x", "GIT_SSH_COMMAND=x", "BASH_FUNC_ls%%=() { :; }", "CI=1", "IFS=x", "PS4=$(x)", "TMPDIR=/elsewhere",
	}
	env := environment(server, []string{root}, "/scratch")
	for name, want := range map[string]string{
		"HOME": "/home/x", "LANG": "C.UTF-8", "GOPATH": "/home/x/go", "GOFLAGS": "-mod=vendor", "npm_config_registry": "https://registry.example",
		"TMPDIR": "/scratch", "GIT_TERMINAL_PROMPT": "0", "PAGER": "cat", "TERM": "dumb",
	} {
		if env[name] != want {
			t.Errorf("%s is %q, want %q", name, env[name], want)
		}
	}
	for _, name := range []string{"CARGO_HOME", "GOROOT", "HTTPS_PROXY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "LD_PRELOAD", "BASH_ENV", "ENV", "NODE_OPTIONS",
		"PYTHONPATH", "SSH_AUTH_SOCK", "DOCKER_HOST", "GIT_SSH_COMMAND", "BASH_FUNC_ls%%", "CI", "IFS", "PS4"} {
		if v, ok := env[name]; ok {
			t.Errorf("%s=%s was passed on", name, v)
		}
	}
	if got := env["PATH"]; !strings.HasPrefix(got, bin+":/usr/bin") || strings.Contains(got, root) || strings.Contains(got, link) || strings.Contains(got, open) || strings.Contains(got, "::") {
		t.Errorf("PATH %q", got)
	}
	if got := environment([]string{"GOFLAGS=-toolexec=./evil"}, nil, ""); got["GOFLAGS"] != "" {
		t.Errorf("GOFLAGS %q", got["GOFLAGS"])
	}
	narrowed := new(narrowings).narrow(env, []string{bin}, "id")
	if strings.Contains(narrowed["PATH"], bin) || narrowed[sandbox.Mark] != "id" || env[sandbox.Mark] != "" {
		t.Errorf("narrowed: %q", narrowed)
	}
}

// TestCommandsGetTheEnvironment: bash has these variables and no others.
func TestCommandsGetTheEnvironment(t *testing.T) {
	t.Setenv("MY_TOKEN", "secret")
	b := newBench(t)
	res := b.bash(t, "env", nil)
	for line := range strings.SplitSeq(strings.TrimSpace(res.Stdout), "\n") {
		name, value, _ := strings.Cut(line, "=")
		switch {
		case b.Reader.Env[name] == value, name == "TMPDIR" && value == FirstScratch(b.Reader.Env[name]), name == "PWD" && value == b.root, name == sandbox.Mark && value == res.CallID, name == "SHLVL", name == "_":
		default:
			t.Errorf("unexpected %s", line)
		}
	}
	for range 8 { // a shell lists names that it hashes alike in the order it was given them
		if again := b.bash(t, "env", nil); strings.ReplaceAll(again.Stdout, again.CallID, "") != strings.ReplaceAll(res.Stdout, res.CallID, "") {
			t.Fatalf("in another order:\n%s\n%s", again.Stdout, res.Stdout)
		}
	}
}

// TestNoWaitingForNothing: what package managers do again and again without a
// network they do once, and only there.
func TestNoWaitingForNothing(t *testing.T) {
	b, _ := heldBench(t)
	for command, want := range map[string]bool{"env": true, "env; curl -s https://example.org/ -m 1": false} {
		res := b.bash(t, command, says(elicit.Approved, elicit.AllowOnce))
		for name, value := range Offline {
			if got := strings.Contains("\n"+res.Stdout, "\n"+name+"="+value+"\n"); got != want {
				t.Errorf("%s: %s is set: %v", command, name, got)
			}
		}
	}
}

// TestGitIsHardened: what a repository's own configuration names is not run by
// looking at it, and git works.
func TestGitIsHardened(t *testing.T) {
	testkit.Require(t, "git", "apt-get install git")
	e, dir := start(t, t.Context(), `
set -e
git init -q . ; git config user.email a@b; git config user.name n
echo x > f; git add f; git commit -qm one; echo y > f
printf '#!/bin/sh\ntouch '"$PWD"'/ran\n' > evil; chmod +x evil
git config core.fsmonitor "$PWD/evil"; git config core.pager "$PWD/evil"
git status --short; git log --oneline | wc -l; git diff --stat; git clone -q . copy; git -C copy checkout -qb b
git ls-remote "ext::$PWD/evil" || true`, time.Minute)
	out, _ := e.out.Text()
	errs, _ := e.err.Text()
	if e.Code != 0 || !strings.Contains(out, " M f") || !strings.Contains(out, "1 file changed") || !strings.Contains(errs, "transport 'ext' not allowed") {
		t.Errorf("exit %d: %s%s", e.Code, out, errs)
	}
	if exists(dir + "/ran") {
		t.Error("git ran what the repository names")
	}
}

func TestScratch(t *testing.T) {
	dir, remove, err := Scratch()
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != 0o700 || resolved(dir) != dir {
		t.Errorf("%s: %v %v", dir, st, err)
	}
	if err := os.WriteFile(dir+"/f", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := remove(); err != nil || exists(dir) {
		t.Errorf("not removed: %v", err)
	}
}

// TestScriptOfTheWorkspace: a script that was read for the decision runs.
func TestScriptOfTheWorkspace(t *testing.T) {
	b := newBench(t)
	b.write(t, "s.sh", "echo from the script\n")
	if res := b.bash(t, "bash s.sh", nil); res.Stdout != "from the script\n" {
		t.Errorf("%+v", res)
	}
	b.write(t, "s.sh", "echo x > forbidden\n")
	if res := b.bash(t, "bash s.sh", nil); res.Rule != "test/forbidden" {
		t.Errorf("%+v", res)
	}
}

// BenchmarkTrue is a guarded `true` from arguments to audit; beside it, bash alone.
func BenchmarkTrue(b *testing.B) {
	bench := newBench(b)
	b.Run("guarded", func(b *testing.B) {
		for b.Loop() {
			bench.bash(b, "true", nil)
		}
	})
	b.Run("runner", func(b *testing.B) {
		for b.Loop() {
			s := &script{text: "true", dir: bench.root, id: newID(), timeout: time.Minute, env: bench.Reader.Env}
			if _, err := s.run(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			cmd := plainBash("true", bench.root)
			if err := cmd.Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
