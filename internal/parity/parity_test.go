// Package parity holds the law that what is allowed behaves in the sandbox as in
// a plain shell. It has tests only.
package parity

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"handrail/elicit"
	"handrail/internal/config"
	"handrail/internal/testkit"
	"handrail/tools"
	"handrail/tools/sandbox"
)

// TestMain lets the test binary be a process of the sandboxes that it opens.
func TestMain(m *testing.M) {
	if code, handled := sandbox.Main(os.Args); handled {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// project is a small project and what is done in it, one step after the other.
type project struct {
	needs [][2]string // program, and how to install it
	steps []step
	files []txtar.File
}

// step is one call.
type step struct {
	text string
	asks bool // a person is asked, and says yes
	// differs is the heading in docs of why it behaves otherwise; "" if it does not.
	differs string
}

// outcome is what one can see of a step.
type outcome struct {
	code     int
	out, err string
}

// TestPlainShell does the same in a plain bash with the same environment, and by
// the way of every call of an agent, and compares what can be seen: exit codes,
// both streams, and the tree that is left.
func TestPlainShell(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no projects: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			p := read(t, file)
			for _, need := range p.needs {
				testkit.Require(t, need[0], need[1])
			}
			p.compare(t)
		})
	}
}

// read reads a project: lines "# needs PROGRAM: INSTALL", then steps parted by
// empty lines, of which the first line may be "# asks" or "# differs: HEADING",
// then its files.
func read(t *testing.T, file string) *project {
	t.Helper()
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p := &project{files: a.Files}
	for part := range strings.SplitSeq(strings.TrimSpace(string(a.Comment)), "\n\n") {
		var s step
		for line := range strings.Lines(part) {
			need, isNeed := strings.CutPrefix(line, "# needs ")
			heading, differs := strings.CutPrefix(line, "# differs: ")
			switch {
			case isNeed:
				program, install, _ := strings.Cut(strings.TrimSpace(need), ": ")
				p.needs = append(p.needs, [2]string{program, install})
			case differs:
				if s.differs = strings.TrimSpace(heading); !strings.Contains(security(t), "\n| "+s.differs+" | ") {
					t.Errorf("%s: SECURITY.md does not tell of %q", file, s.differs)
				}
			case line == "# asks\n":
				s.asks = true
			default:
				s.text += line
			}
		}
		if s.text = strings.TrimSpace(s.text); s.text != "" {
			p.steps = append(p.steps, s)
		}
	}
	return p
}

func security(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// compare does the project twice in the same place.
func (p *project) compare(t *testing.T) {
	root := filepath.Join(real(t, t.TempDir()), "project")
	scratch := real(t, t.TempDir())
	p.write(t, root)
	var plain []outcome
	env := tools.Environment([]string{root}, scratch)
	for _, s := range p.steps {
		plain = append(plain, bare(t, s.text, root, env))
	}
	before := tree(t, root)
	if err := errors.Join(openUp(root), os.RemoveAll(root)); err != nil {
		t.Fatal(err)
	}
	p.write(t, root)
	sys := open(t, root)
	for i, s := range p.steps {
		got, said := guarded(t, sys, s, root)
		want := plain[i]
		want.normalise(scratch)
		got.normalise(sys.Reader.Env["TMPDIR"])
		switch same := got == want; {
		case !same && s.differs == "":
			t.Errorf("%s\nplain: %d\n%s%s\nguarded: %d\n%s%s\n(%s)", s.text, want.code, want.out, want.err, got.code, got.out, got.err, said)
		case same && s.differs != "":
			t.Errorf("%s\nis the same now: take it out of %q in SECURITY.md", s.text, s.differs)
		}
	}
	if after := tree(t, root); after != before {
		t.Errorf("the trees differ:\n%s", firstDifference(before, after))
	}
}

func (p *project) write(t *testing.T, root string) {
	t.Helper()
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range p.files {
		path := filepath.Join(root, filepath.FromSlash(f.Name))
		mode := fs.FileMode(0o644)
		if bytes.HasPrefix(f.Data, []byte("#!")) {
			mode = 0o755
		}
		data := bytes.ReplaceAll(f.Data, []byte("XSYS"), []byte(xsys(t)))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, mode)); err != nil {
			t.Fatal(err)
		}
	}
	if slices.ContainsFunc(p.files, func(f txtar.File) bool { return f.Name == "go.mod" }) {
		sums, err := os.ReadFile("../../go.sum")
		if err := errors.Join(err, os.WriteFile(filepath.Join(root, "go.sum"), sums, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// xsys is the version of golang.org/x/sys that this module has, so that the
// module cache has it too.
func xsys(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`golang.org/x/sys (v\S+)`).FindSubmatch(b)
	if m == nil {
		t.Fatal("go.mod names no golang.org/x/sys")
	}
	return string(m[1])
}

// bare is a plain bash.
func bare(t *testing.T, text, dir string, env map[string]string) outcome {
	t.Helper()
	for fd := 3; fd < 1024; fd++ { // what this test was started with is none of the command's
		syscall.CloseOnExec(fd)
	}
	cmd := exec.Command("/bin/bash")
	cmd.Args = []string{"bash", "--noprofile", "--norc", "-c", "--", text}
	cmd.Dir = dir
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Env = append(cmd.Env, "PWD="+dir)
	slices.Sort(cmd.Env)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	code := cmd.ProcessState.ExitCode()
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		code = 128 + int(ws.Signal())
	}
	return outcome{code, out.String(), errs.String()}
}

// open opens the system as the server does, with a configuration of its own.
func open(t testing.TB, root string) *config.System {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", real(t, t.TempDir()))
	c, err := config.Default()
	if err != nil {
		t.Fatal(err)
	}
	c.Roots = []string{root}
	sys, err := c.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sys.Close() })
	if fault := sys.Held.Fault; fault != nil {
		testkit.Missing(t, "a sandbox ("+fault.Error()+")", "apt-get install bubblewrap")
	}
	return sys
}

// person says yes, and remembers that it was asked.
type person struct{ asked string }

func (p *person) Ask(_ context.Context, q elicit.Question) (elicit.Answer, error) {
	p.asked = strings.Join(append(q.Effects, q.Reasons...), "; ")
	return elicit.Answer{Outcome: elicit.Approved, Choice: elicit.AllowOnce, Channel: "test"}, nil
}

// guarded does a step as a call, and returns what the agent is told beside.
func guarded(t *testing.T, sys *config.System, s step, root string) (outcome, string) {
	t.Helper()
	input, err := json.Marshal(map[string]any{"command": s.text, "timeout_ms": 300_000})
	if err != nil {
		t.Fatal(err)
	}
	someone := &person{}
	res := sys.Toolbox.Do(t.Context(), tools.Call{Tool: tools.Bash, Input: input, Roots: []string{root}, Session: "s", Channel: someone})
	if res.ExitCode == nil {
		t.Fatalf("%s\ndid not run: %s", s.text, res.Text)
	}
	if asked := someone.asked != ""; asked != s.asks {
		t.Errorf("%s\na person was asked: %v (%s)", s.text, asked, someone.asked)
	}
	head, _, _ := strings.Cut(res.Text, "\n")
	return outcome{*res.ExitCode, res.Stdout, res.Stderr}, fmt.Sprintf("%s %+v", head, res.Sandbox)
}

// What is never the same twice.
var never = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\b[0-9a-f]{7,40}\b`), "HASH"},
	{regexp.MustCompile(`\b\d+(\.\d+)?( ?(ms|seconds|second|s))\b`), "TIME"},
	{regexp.MustCompile(`(duration_ms|real|user|sys)( +|\t)(\d+m)?[\d.]+`), "$1 TIME"},
	{regexp.MustCompile(`\btmp[._]?[A-Za-z0-9_]{6,}\b`), "TEMP"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d[:_]\d\d[:_]\d\d\S*`), "DATE"},
	{regexp.MustCompile(`\b\w{3} \w{3} +\d+ \d\d:\d\d:\d\d \d{4} [+-]\d{4}`), "DATE"},
	{regexp.MustCompile(`==\d+==`), "==N=="},
	{regexp.MustCompile(`npm warn Unknown user config.*\n`), ""}, // of a ~/.npmrc, which commands do not read
	{regexp.MustCompile(`(bash|server|go-build|handrail-)\d+`), "${1}N"},
}

func (o *outcome) normalise(scratch string) {
	for _, s := range []*string{&o.out, &o.err} {
		*s = strings.ReplaceAll(*s, scratch, "SCRATCH")
		for _, n := range never {
			*s = n.what.ReplaceAllString(*s, n.with)
		}
	}
}

// tree lists what lies in root with modes, and links with where they lead; of
// git directories only what a person would look at.
func tree(t *testing.T, root string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if d.IsDir() && slices.Contains([]string{"objects", "logs", "__pycache__", "target", "node_modules", "lib64", "lib"}, d.Name()) {
			return fs.SkipDir
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		link, _ := os.Readlink(path)
		fmt.Fprintf(&b, "%s %s %s\n", fi.Mode(), rel, link)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// firstDifference lists the lines that only one of two texts has.
func firstDifference(a, b string) string {
	var out strings.Builder
	was, now := strings.Split(a, "\n"), strings.Split(b, "\n")
	for _, l := range was {
		if !slices.Contains(now, l) {
			fmt.Fprintln(&out, "- "+l)
		}
	}
	for _, l := range now {
		if !slices.Contains(was, l) {
			fmt.Fprintln(&out, "+ "+l)
		}
	}
	return out.String()
}

// openUp makes every directory below root removable.
func openUp(root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, 0o755)
		}
		return err
	})
}

func real(t testing.TB, path string) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
