package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"handrail/guard"
	"handrail/guard/plugin"
	"handrail/guard/text"
	"handrail/internal/config"
	"handrail/tools"
)

var testCommand = subcommand{
	name:  "test",
	usage: "[--json] [DIR]",
	short: "try out guards: their examples, and files of commands with the verdict wanted",
	doc: `DIR is a project (default: this directory) whose .agents/guards, .claude/guards
and .handrail/guards are tried, or a directory of guards. Their files are read,
which runs their examples, and then all lines of the *.sh files in the
directories and in tests/ below them:

    docker run alpine                 # want ask block-docker
    safe_write {"path": "db/1.sql"}   # want ask protect-migrations

Verdict and rule (it may be left out) are those of the rules with these guards,
as if you trusted them, and with nothing of your own configuration: the same
for everybody. "⏎" stands for a new line. Nothing is run.

Exit code: 0 all is as wanted, 1 something is not, 2 usage.`,
	run: test,
}

// tested is the form of test --json.
type tested struct {
	Guards   int       `json:"guards"`
	Examples int       `json:"examples"`
	Lines    int       `json:"lines"`
	Failures []failure `json:"failures"`
}

// failure is what is not as wanted; At is file:line.
type failure struct {
	At     string `json:"at,omitempty"`
	Call   string `json:"call,omitempty"`
	Want   string `json:"want,omitempty"`
	Got    string `json:"got,omitempty"`
	Reason string `json:"reason"`
}

func test(s streams, args []string) (int, error) {
	f := newFlags("test")
	asJSON := f.Bool("json", false, "")
	rest, err := f.operands(args, 0, 1)
	if err != nil {
		return 0, err
	}
	dirs, err := guardDirs(append(rest, ".")[0])
	if err != nil {
		return 0, err
	}
	t, err := testGuards(dirs)
	if err != nil {
		return 0, err
	}
	code := 0
	if len(t.Failures) > 0 {
		code = exitError
	}
	if *asJSON {
		return code, printJSON(s.stdout, t)
	}
	for _, f := range t.Failures {
		if f.Call == "" {
			fmt.Fprintln(s.stdout, text.Visible(f.Reason))
			continue
		}
		fmt.Fprintf(s.stdout, "%s: %s\n    want %s, got %s: %s\n", f.At, text.Visible(f.Call), f.Want, f.Got, text.Visible(f.Reason))
	}
	how := "all is as wanted"
	if n := len(t.Failures); n > 0 {
		how = fmt.Sprintf("%d not as wanted", n)
	}
	fmt.Fprintf(s.stdout, "%d guards, %d examples, %d lines: %s\n", t.Guards, t.Examples, t.Lines, how)
	return code, nil
}

// guardDirs are the directories of guards that dir means.
func guardDirs(dir string) ([]string, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, usagef("%s is not a directory", dir)
	}
	var dirs []string
	for _, d := range plugin.Dirs(dir) {
		if info, err := os.Stat(d); err == nil && info.IsDir() {
			dirs = append(dirs, d)
		}
	}
	if len(dirs) > 0 {
		return dirs, nil
	}
	for _, pattern := range []string{"*.yaml", "*.yml", "*.md"} {
		if found, _ := filepath.Glob(filepath.Join(dir, pattern)); len(found) > 0 {
			return []string{dir}, nil
		}
	}
	return nil, fmt.Errorf("there are no guards in %s: want a directory of them, or a project with .agents/guards, .claude/guards or .handrail/guards", dir)
}

// testGuards tries out the guards of directories.
func testGuards(dirs []string) (*tested, error) {
	c, err := config.Default()
	if err != nil {
		return nil, err
	}
	root, remove, err := scratchTree()
	if err != nil {
		return nil, err
	}
	defer remove()
	if c.Roots, err = config.Workspace([]string{root}, c.Home); err != nil {
		return nil, err
	}
	j, err := c.Judge(tools.Environment(c.Roots, ""))
	if err != nil {
		return nil, err
	}
	t := &tested{Failures: []failure{}}
	loader := c.Loader(j)
	var all []*plugin.Guard
	for _, dir := range dirs {
		guards, err := loader.Dir(context.Background(), dir)
		all = append(all, guards...)
		for _, err := range faultsOf(err) {
			t.Failures = append(t.Failures, failure{At: position(err.Error()), Reason: err.Error()})
		}
	}
	for _, g := range all {
		t.Guards++
		t.Examples += g.Examples()
	}
	policy := plugin.Policy(all, c.Home)
	j.Guard.User = func([]string) *guard.Policy { return policy }
	for _, file := range goldenFiles(dirs) {
		if err := t.golden(j, c.Roots, file); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// faultsOf returns the errors that were joined.
func faultsOf(err error) []error {
	var several interface{ Unwrap() []error }
	if errors.As(err, &several) {
		return several.Unwrap()
	}
	if err != nil {
		return []error{err}
	}
	return nil
}

// position is the file:line with which an error begins.
func position(message string) string {
	parts := strings.SplitN(message, ":", 3)
	if len(parts) < 3 {
		return ""
	}
	return parts[0] + ":" + parts[1]
}

func goldenFiles(dirs []string) (files []string) {
	for _, dir := range dirs {
		for _, sub := range []string{"", "tests"} {
			found, _ := filepath.Glob(filepath.Join(dir, sub, "*.sh"))
			files = append(files, found...)
		}
	}
	return files
}

// golden tries the lines of one file.
func (t *tested) golden(j *config.Judge, roots []string, file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for n, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line == "#" || strings.HasPrefix(line, "# ") || strings.HasPrefix(line, "#!") {
			continue
		}
		t.Lines++
		what, want, ok := cutLast(line, "# want ")
		at := fmt.Sprintf("%s:%d", file, n+1)
		if !ok {
			t.Failures = append(t.Failures, failure{At: at, Reason: at + ": want `COMMAND  # want VERDICT RULE`"})
			continue
		}
		if f := try(j, roots, what, want); f != nil {
			f.At = at
			if f.Call == "" {
				f.Reason = at + ": " + f.Reason
			}
			t.Failures = append(t.Failures, *f)
		}
	}
	return nil
}

func cutLast(s, sep string) (before, after string, ok bool) {
	at := strings.LastIndex(s, sep)
	if at < 0 {
		return s, "", false
	}
	return strings.TrimSpace(s[:at]), strings.TrimSpace(s[at+len(sep):]), true
}

// try judges one call and returns how it differs from what is wanted, or nil.
func try(j *config.Judge, roots []string, what, want string) *failure {
	word, rule, _ := strings.Cut(want, " ")
	verdict, err := guard.ParseVerdict(word)
	if err != nil {
		return &failure{Reason: err.Error()}
	}
	tool, arg := tools.Bash, strings.ReplaceAll(what, "⏎", "\n")
	if name, rest, ok := strings.Cut(what, " "); ok && slices.Contains([]string{tools.Bash, tools.Read, tools.Write, tools.Edit}, name) {
		tool, arg = name, rest
	}
	call, err := callOf(tool, arg)
	if err != nil {
		return &failure{Reason: err.Error()}
	}
	call.Roots = roots
	c, err := tools.Look(j.Reader, call)
	if err != nil {
		return &failure{Reason: err.Error()}
	}
	d := j.Guard.Judge(c)
	spoke := func(f guard.Finding) bool { return f.Rule == rule && f.Verdict == d.Verdict }
	if d.Verdict == verdict && (rule == "" || slices.ContainsFunc(d.Findings, spoke)) {
		return nil
	}
	return &failure{Call: what, Want: want, Got: d.Verdict.String() + " " + d.Rule, Reason: d.Reason}
}
