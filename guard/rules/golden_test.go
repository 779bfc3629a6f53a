package rules_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"handrail/guard"
	"handrail/guard/command"
	"handrail/guard/rules"
	"handrail/guard/shell"
)

// scene is a home directory with a workspace "proj" on the real disk, and the
// reader and policy for it.
type scene struct {
	home, root string
	reader     *shell.Reader
	policy     rules.Policy
}

// sceneFiles are made in every scene's home: "path" with its content, or
// "path -> target" for links ("~" stands for the home directory).
var sceneFiles = map[string]string{
	"proj/main.go": "package main\n", "proj/go.mod": "module proj\n", "proj/README.md": "# proj\n", "proj/src/a.go": "package src\n", "proj/src/b.go": "package src\n",
	"proj/build/out.o": "o", "proj/build/old.o": "o", "proj/package.json": `{"scripts":{"test":"echo ok"}}`, "proj/Makefile": "all:\n\techo ok\n",
	"proj/.gitignore": "build/\n", "proj/.env": "KEY=x\n", "proj/.env.example": "KEY=\n", "proj/.git/config": "[core]\n", "proj/.git/HEAD": "ref: refs/heads/main\n", "proj/.git/hooks/pre-commit.sample": "#!/bin/sh\n",
	"proj/.vscode/settings.json": "{}", "proj/scripts/run.sh": "echo hello\nmkdir -p build\n", "proj/scripts/bad.sh": "rm -rf /\n", "proj/scripts/ask.sh": "rm -f /tmp/handrail-other\n",
	"proj/deploy/id_rsa": "key", "proj/data.txt": "a\nb\n",
	"proj/etc -> /etc": "", "proj/rootlink -> /": "", "proj/out -> ~/outside": "", "proj/envlink -> .env": "", "proj/homelink -> ~": "", "proj/disk -> /dev/sda": "", "proj/null -> /dev/null": "",
	"proj/inside -> src": "", "proj/up -> ..": "", "proj/hooklink -> .git/hooks": "", "proj/keylink -> ~/.ssh/id_ed25519": "",
	"outside/file": "x", ".ssh/id_ed25519": "key", ".ssh/id_ed25519.pub": "pub", ".ssh/config": "", ".bashrc": "", ".aws/credentials": "", "notes.txt": "", "go/pkg/mod/x.go": "",
	".cargo/registry/x.rs": "", ".config/handrail/config.yaml": "", ".config/handrail/state.key": "", "Documents/letter": "",
}

func newScene(t testing.TB) *scene {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range sceneFiles {
		name, target, link := strings.Cut(name, " -> ")
		file := filepath.Join(home, name)
		if err = os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if link {
			if strings.HasPrefix(target, "~") {
				target = home + target[1:]
			}
			err = os.Symlink(target, file)
		} else {
			err = os.WriteFile(file, []byte(content), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	table, err := command.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{home: home, root: home + "/proj"}
	s.reader = &shell.Reader{Table: table, Home: home, Roots: []string{s.root}, Env: map[string]string{
		"HOME": home, "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "PWD": s.root, "USER": "u", "LANG": "C.UTF-8", "TMPDIR": home + "/scratch"}}
	s.policy = rules.Policy{Home: home, Own: []string{home + "/.config/handrail"}, Hosts: rules.KnownHosts()}
	return s
}

func (s *scene) judge(m *guard.Manager, source string) *guard.Decision {
	return m.Judge(&guard.EvalContext{ToolName: "safe_bash", WorkingDir: s.root, Roots: []string{s.root}, Scratch: s.home + "/scratch", Facts: s.reader.Read(source, s.root)})
}

// line makes the text of a golden line into shell source: "⏎" is a new line.
func line(what string) string { return strings.ReplaceAll(what, "⏎", "\n") }

func TestGolden(t *testing.T) {
	s := newScene(t)
	for _, profile := range rules.Profiles() {
		t.Run(profile, func(t *testing.T) {
			m := manager(t, profile, s.policy)
			golden(t, profile+".sh", func(t *testing.T, n int, what, verdict, rule string) {
				d := s.judge(m, line(what))
				if d.Verdict.String() != verdict || rule != "" && d.Rule != rule {
					t.Errorf("%s.sh:%d: %s\n got %s %s: %s\nwant %s %s", profile, n, what, d.Verdict, d.Rule, d.Reason, verdict, rule)
				}
			})
		})
	}
}

var quoted = regexp.MustCompile("`([^`]+)`")

// Every advice that names a command is followed by the guard itself.
func TestAdviceIsAllowed(t *testing.T) {
	s := newScene(t)
	m := manager(t, "standard", s.policy)
	seen := map[string]bool{}
	check := func(d *guard.Decision) {
		for _, f := range d.Findings {
			for _, advice := range quoted.FindAllStringSubmatch(f.Instead, -1) {
				command := advice[1]
				if seen[command] || !strings.Contains(command, " ") && command != "ls" {
					continue
				}
				seen[command] = true
				if d := s.judge(m, command); d.Verdict != guard.VerdictAllow {
					t.Errorf("%s advises %q, and it is %s by %s: %s", f.Rule, command, d.Verdict, d.Rule, d.Reason)
				}
			}
		}
	}
	for _, profile := range rules.Profiles() {
		m := manager(t, profile, s.policy)
		golden(t, "standard.sh", func(t *testing.T, _ int, what, _, _ string) { check(s.judge(m, line(what))) })
		golden(t, "effects.txt", func(t *testing.T, _ int, what, _, _ string) { check(m.Judge(parseEffect(t, what))) })
	}
	if len(seen) < 4 {
		t.Errorf("hardly any advice was seen: %v", seen)
	}
}

// wrappers start what follows without changing what it does.
var wrappers = []string{"command ", "env ", "nice -n 5 ", "nohup ", "timeout 5 ", "time ", "exec ", "eval ", "stdbuf -o0 ", "builtin command ", "X=1 ", "! ", "true && ", "false || ", "ls; "}

// hides reports whether the facts say that something cannot be known.
func hides(d *guard.Decision) bool {
	return slices.ContainsFunc(d.Findings, func(f guard.Finding) bool { return f.Rule == "code/hidden" })
}

// shellWords mean something else, or nothing, where a program is due.
var shellWords = []string{"cd", "pushd", "popd", "if", "for", "while", "case", "time", "exec", "eval", "source", ".", "alias", "trap", "coproc", "unset", "set", "builtin", "command", ":", "exit", "return"}

// A wrapper, a subshell or a second command never loosens a verdict, unless the
// facts say that something hides.
func TestWrappingNeverLoosens(t *testing.T) {
	s := newScene(t)
	m := manager(t, "standard", s.policy)
	golden(t, "standard.sh", func(t *testing.T, n int, what, _, _ string) {
		if strings.ContainsAny(what, "⏎#") { // a wrapper takes one command
			return
		}
		source := line(what)
		want := s.judge(m, source).Verdict
		for _, form := range []string{"( " + source + " )", "{ " + source + "; }", "ls; " + source, "if true; then " + source + "; fi", "wrapped() { " + source + "; }; wrapped"} {
			if strings.HasSuffix(strings.TrimSpace(source), "&") && strings.Contains(form, "&;") {
				continue
			}
			if d := s.judge(m, form); d.Verdict > want && !hides(d) {
				t.Errorf("line %d: %s is %s, and %s is %s", n, source, want, form, d.Verdict)
			}
		}
		simple := !strings.ContainsAny(source, "|&;()<>{}\"'`$=!") && !slices.Contains(shellWords, strings.Fields(source)[0])
		for _, w := range wrappers {
			if !simple {
				break
			}
			if d := s.judge(m, w+source); d.Verdict > want && !hides(d) {
				t.Errorf("line %d: %s is %s, and %s is %s", n, source, want, w+source, d.Verdict)
			}
		}
	})
}
