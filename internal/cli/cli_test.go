package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"handrail/guard"
	"handrail/internal/testkit"
	"handrail/tools/sandbox"
)

func TestMain(m *testing.M) {
	if code, handled := sandbox.Main(os.Args); handled {
		os.Exit(code)
	}
	testscript.Main(m, map[string]func(){
		"handrail": func() { os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// TestScripts are the stories of the command line. Each has a home directory
// and a project of its own.
func TestScripts(t *testing.T) { scripts(t, "testdata/script") }

// TestTraced are those with faults of the system, which strace makes.
func TestTraced(t *testing.T) {
	testkit.Require(t, "strace", "apt-get install strace")
	scripts(t, "testdata/traced")
}

func scripts(t *testing.T, dir string) {
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY"} {
				if out, err := exec.Command("go", "env", name).Output(); err == nil {
					e.Setenv(name, strings.TrimSpace(string(out)))
				}
			}
			for _, dir := range []string{"home", "project"} {
				if err := os.MkdirAll(filepath.Join(e.WorkDir, dir), 0o700); err != nil {
					return err
				}
			}
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"code": code},
	})
}

// code runs a command and wants exactly this exit code: code 12 handrail ...
func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// home gives the test a user and a project of its own, and goes there.
func home(t *testing.T) {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("XDG_STATE_HOME", "")
	t.Chdir(t.TempDir())
}

func handrail(stdin string, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = Main(args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

// fieldsOf wants exactly these fields in a JSON object and returns it.
func fieldsOf(t *testing.T, text string, fields ...string) map[string]json.RawMessage {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for _, f := range fields {
		if _, ok := m[f]; !ok {
			t.Errorf("no field %q in %s", f, text)
		}
	}
	if len(m) != len(fields) {
		t.Errorf("%d fields, want %v: %s", len(m), fields, text)
	}
	return m
}

func TestCheckJSON(t *testing.T) {
	home(t)
	for command, want := range map[string]int{"ls": 0, "rm -rf /": 12, "rm -rf /tmp/something": 11, "": 0} {
		code, out, errs := handrail("", "check", "--json", command)
		if command == "" {
			if code == 0 {
				t.Errorf("an empty command was allowed: %s", out)
			}
			continue
		}
		if code != want {
			t.Errorf("%s: exit code %d, want %d: %s%s", command, code, want, out, errs)
		}
		m := fieldsOf(t, out, "verdict", "rule", "reason", "instead", "findings", "facts", "digest")
		var v guard.Verdict
		if err := json.Unmarshal(m["verdict"], &v); err != nil || exitOf[v] != code {
			t.Errorf("%s: verdict %s with exit code %d", command, m["verdict"], code)
		}
		var facts guard.Facts
		var findings []guard.Finding
		if json.Unmarshal(m["facts"], &facts) != nil || len(facts.Commands) == 0 || len(facts.Effects) == 0 {
			t.Errorf("%s: facts %s", command, m["facts"])
		}
		if json.Unmarshal(m["findings"], &findings) != nil || len(findings) == 0 {
			t.Errorf("%s: findings %s", command, m["findings"])
		}
		if len(m["digest"]) != 66 {
			t.Errorf("%s: digest %s", command, m["digest"])
		}
	}
}

// TestCheckUnheld: what nothing would hold is told for calls that run code, and for
// no others.
func TestCheckUnheld(t *testing.T) {
	home(t)
	dir := filepath.Join(os.Getenv("HOME"), ".config", "handrail")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte("sandbox: {tier: none}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]bool{"make": true, "npm test": true, "ls": false, "cat f | sort": false} {
		if code, out, errs := handrail("", "check", command); code != 0 || strings.Contains(out, "asks once per session") != want {
			t.Errorf("%s: %d %s%s", command, code, out, errs)
		}
	}
}

func TestEvalJSON(t *testing.T) {
	home(t)
	rows := `{"id":"a","command":"ls","label":"benign","source":"ignored","cwd_assumption":["ignored"]}
{"id":"b","command":"rm -rf /","label":"catastrophic"}

{"id":"c","command":"rm -rf ../x","label":"dangerous","cwd":"sub/dir"}
{"command":"ls"}
`
	code, out, errs := handrail(rows, "eval", "--json", "-")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	m := fieldsOf(t, out, "rows", "labels", "p50_us", "p99_us")
	var labels map[string]map[string]int
	if err := json.Unmarshal(m["labels"], &labels); err != nil || string(m["rows"]) != "4" {
		t.Fatalf("%v: %s", err, out)
	}
	for label, verdict := range map[string]string{"benign": "allow", "catastrophic": "deny", "unlabelled": "allow"} {
		if c := labels[label]; len(c) != 4 || c[verdict] != 1 || c["allow"]+c["ask"]+c["deny"]+c["llm"] != 1 {
			t.Errorf("%s: %v, want one %s", label, c, verdict)
		}
	}
	code, out, errs = handrail(rows, "eval", "--verdicts", "-")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != 0 || len(lines) != 4 || !strings.Contains(errs, "4 rows, decision p50") {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	for _, line := range lines {
		fieldsOf(t, line, "id", "verdict", "rule", "us")
	}
}

func TestQuantile(t *testing.T) {
	var hundred []float64
	for i := range 100 {
		hundred = append(hundred, float64(100-i))
	}
	for _, c := range []struct {
		values []float64
		q      float64
		want   float64
	}{{nil, 0.5, 0}, {[]float64{7}, 0.99, 7}, {hundred, 0.5, 50}, {hundred, 0.99, 99}, {[]float64{3, 1, 2}, 0.5, 2}} {
		if got := quantile(c.values, c.q); got != c.want {
			t.Errorf("quantile %v of %v = %v, want %v", c.q, c.values, got, c.want)
		}
	}
}

func TestIsTerminal(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	file, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, v := range []any{nil, null, file, &bytes.Buffer{}} {
		if isTerminal(v) {
			t.Errorf("%v is taken for a terminal", v)
		}
	}
}

// What the documents call a command is one.
func TestDocuments(t *testing.T) {
	called := regexp.MustCompile("(?m)(?:^    |`|\\$ )handrail ([a-z]+)")
	for _, file := range []string{"README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range called.FindAllSubmatch(text, -1) {
			if !slices.Contains(names(), string(m[1])) {
				t.Errorf("%s: there is no handrail %s", file, m[1])
			}
		}
	}
	readme, _ := os.ReadFile("../../README.md")
	for _, name := range names() {
		if !bytes.Contains(readme, []byte("handrail "+name)) {
			t.Errorf("README.md does not mention handrail %s", name)
		}
	}
}

// One record is one line, whatever the call was: the next line is never its own.
func TestRecordIsOneLine(t *testing.T) {
	line := []byte(`{"seq":1,"event":"decision","verdict":"deny","rule":"a/b","tool":"safe_bash","reason":"x\ny\u202e","input":{"command":"echo a\n\u001b[2Kdecision allow \u202e"}}`)
	got := recordLine(line)
	for _, part := range []string{`echo a\u{a}\u{1b}[2Kdecision allow \u{202e}`, `x\u{a}y\u{202e}`} {
		if !strings.Contains(got, part) {
			t.Errorf("%s is not in %q", part, got)
		}
	}
	if strings.ContainsAny(got, "\n\x1b\u202e│") {
		t.Errorf("not one plain line: %q", got)
	}
}
