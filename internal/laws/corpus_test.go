// Package laws holds what must be true of every command, whatever it is: the
// labels of the corpus, and the ways in which a command can be written
// differently without meaning less. It has tests only.
package laws

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"handrail/guard"
	"handrail/internal/config"
	"handrail/tools"
)

// row is one labelled command.
type row struct {
	ID, Command, Label string
}

// judged is a row with what the guard makes of it.
type judged struct {
	row
	verdict guard.Verdict
	rule    string
	facts   *guard.Facts
}

// bench judges commands as the rules alone do, in an empty git work tree.
type bench struct {
	judge *config.Judge
	root  string
}

// newBench judges for a user whose home is /home/dev, so that the verdicts do
// not hang on who runs the tests.
func newBench(t testing.TB) *bench {
	t.Helper()
	t.Setenv("HOME", "/home/dev")
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("PATH", "/usr/local/bin:/usr/bin:/bin")
	root := t.TempDir()
	for _, d := range []string{".git/objects/info", ".git/objects/pack", ".git/refs/heads", ".git/refs/tags"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string]string{
		".git/HEAD":   "ref: refs/heads/main\n",
		".git/config": "[core]\n\trepositoryformatversion = 0\n\tbare = false\n",
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c, err := config.Default()
	if err != nil {
		t.Fatal(err)
	}
	if c.Roots, err = config.Workspace([]string{root}, c.Home); err != nil {
		t.Fatal(err)
	}
	j, err := c.Judge(tools.Environment(c.Roots, ""))
	if err != nil {
		t.Fatal(err)
	}
	return &bench{judge: j, root: c.Roots[0]}
}

// read judges one command.
func (b *bench) read(command string) judged {
	input, _ := json.Marshal(map[string]string{"command": command}) // a string always can be
	facts := b.judge.Reader.Read(command, b.root)
	d := b.judge.Guard.Judge(&guard.EvalContext{
		ToolName: tools.Bash, Input: input, WorkingDir: b.root, Roots: []string{b.root}, Facts: facts,
	})
	return judged{row{Command: command}, d.Verdict, d.Rule, facts}
}

// unknown reports whether the facts say that something is hidden.
func (j judged) unknown() bool {
	return slices.ContainsFunc(j.facts.Effects, func(e guard.Effect) bool { return e.Kind == guard.Unknown })
}

// corpus returns the rows of testdata/corpus, and those of HANDRAIL_CORPUS.
func corpus(t testing.TB) []row {
	t.Helper()
	files, err := filepath.Glob("../../testdata/corpus/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	var rows []row
	for _, file := range files {
		rows = append(rows, load(t, file)...)
	}
	if len(rows) < 1500 {
		t.Fatalf("only %d rows in testdata/corpus", len(rows))
	}
	if more := os.Getenv("HANDRAIL_CORPUS"); more != "" {
		rows = append(rows, load(t, more)...)
	}
	return rows
}

func load(t testing.TB, file string) []row {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows []row
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 4<<20)
	for n := 1; lines.Scan(); n++ {
		var r row
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatalf("%s:%d: %v", file, n, err)
		}
		if r.ID == "" {
			r.ID = fmt.Sprintf("%s:%d", filepath.Base(file), n)
		}
		rows = append(rows, r)
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return rows
}

// judgeAll judges every row as it stands.
func (b *bench) judgeAll(rows []row) []judged {
	all := make([]judged, len(rows))
	for i, r := range rows {
		all[i] = b.read(r.Command)
		all[i].row = r
	}
	return all
}

// offences gathers what breaks a law, by what it has in common.
type offences struct {
	law    string
	groups map[string][]string
	tried  int
}

func newOffences(law string) *offences { return &offences{law: law, groups: map[string][]string{}} }

func (o *offences) add(group, format string, args ...any) {
	o.groups[group] = append(o.groups[group], fmt.Sprintf(format, args...))
}

func (o *offences) count() (n int) {
	for _, lines := range o.groups {
		n += len(lines)
	}
	return n
}

// report fails the test with every group, the largest first. A law that met
// fewer than least cases has proved nothing and fails too.
func (o *offences) report(t *testing.T, least int) {
	t.Helper()
	if o.tried < least {
		t.Errorf("%s: only %d cases were tried, not %d", o.law, o.tried, least)
	}
	if len(o.groups) == 0 {
		return
	}
	t.Errorf("%s: %d of %d cases break it\n%s", o.law, o.count(), o.tried, o)
}

func (o *offences) String() string {
	const most = 30 // lines of a group
	names := make([]string, 0, len(o.groups))
	for name := range o.groups {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := len(o.groups[b]) - len(o.groups[a]); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	var s strings.Builder
	for _, name := range names {
		lines := o.groups[name]
		fmt.Fprintf(&s, "  %s (%d)\n", name, len(lines))
		for i, line := range lines {
			if i == most && os.Getenv("HANDRAIL_CORPUS") == "" {
				fmt.Fprintf(&s, "    … and %d more\n", len(lines)-most)
				break
			}
			fmt.Fprintf(&s, "    %s\n", line)
		}
	}
	return s.String()
}
