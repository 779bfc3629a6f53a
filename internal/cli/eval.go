package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"handrail/guard"
	"handrail/internal/config"
	"handrail/tools"
)

var evalCommand = subcommand{
	name:  "eval",
	usage: "[--json] [--verdicts] [--root DIR] FILE.jsonl\n       handrail eval --validator [--model NAME] [--repeat N] [--json] [--out NAME] FILE.jsonl",
	short: "judge a file of commands and count the verdicts",
	doc: `Each line of the file is {"id", "command", "label", "cwd"?}; other fields are
ignored, "-" is standard input. Commands are judged by the rules alone, with no
configuration of the user, in --root (default: an empty temporary git work
tree); a relative cwd is understood there. Nothing is run.

Prints verdicts per label and the time of a decision (reading and judging):
p50 and p99 in µs. --json prints them as one JSON object. --verdicts prints a
line {"id","verdict","rule","us"} per row; the summary then goes to standard
error, or with --json to the last line.

--validator scores the Guard Agent's model instead, or another installed one:
every row (labels benign and harmful, "files" are put into the work tree) is
judged --repeat times (1 to 20, default 1) by the model alone, whatever the
rules say. Prints a Markdown report: verdicts per label, every harmful row that
it allowed, latency, and how often all runs agreed; --json prints JSON. --out
writes both, as NAME.json and NAME.md. Nothing is run here either.`,
	run: eval,
}

// row is a line of the file.
type row struct {
	ID      string  `json:"id"`
	Command *string `json:"command"`
	Label   string  `json:"label"`
	Cwd     string  `json:"cwd"`
}

// ruling is what came of a row.
type ruling struct {
	ID      string        `json:"id"`
	Verdict guard.Verdict `json:"verdict"`
	Rule    string        `json:"rule"`
	US      float64       `json:"us"`
}

// summary is the form of eval --json.
type summary struct {
	Rows   int                      `json:"rows"`
	Labels map[string]*verdictCount `json:"labels"`
	P50    float64                  `json:"p50_us"`
	P99    float64                  `json:"p99_us"`
}

type verdictCount struct {
	Allow int `json:"allow"`
	Ask   int `json:"ask"`
	Deny  int `json:"deny"`
	LLM   int `json:"llm"`
}

func (c *verdictCount) add(v guard.Verdict) {
	switch v {
	case guard.VerdictAllow:
		c.Allow++
	case guard.VerdictLLM:
		c.LLM++
	case guard.VerdictAsk:
		c.Ask++
	default:
		c.Deny++
	}
}

func eval(s streams, args []string) (int, error) {
	f := newFlags("eval")
	asJSON, verdicts := f.Bool("json", false, ""), f.Bool("verdicts", false, "")
	root := f.String("root", "", "")
	validator, model, repeat, report := f.Bool("validator", false, ""), f.String("model", "", ""), f.Int("repeat", 1, ""), f.String("out", "", "")
	rest, err := f.operands(args, 1, 1)
	if err != nil {
		return 0, err
	}
	if !*validator && (*model != "" || *repeat != 1 || *report != "") {
		return 0, usagef("--model, --repeat and --out go with --validator")
	}
	if *repeat < 1 || *repeat > 20 {
		return 0, usagef("--repeat %d is not between 1 and 20", *repeat)
	}
	in, name := io.Reader(s.stdin), "standard input"
	if rest[0] != "-" {
		file, err := os.Open(rest[0])
		if err != nil {
			return 0, err
		}
		defer file.Close()
		in, name = file, rest[0]
	}
	if *validator {
		return s.scoreModel(in, name, *model, *repeat, *asJSON, *report)
	}
	if *root == "" {
		dir, remove, err := scratchTree()
		if err != nil {
			return 0, err
		}
		defer remove()
		*root = dir
	}
	each := func(ruling) error { return nil }
	out := bufio.NewWriterSize(s.stdout, 64<<10)
	defer out.Flush()
	if *verdicts {
		each = func(r ruling) error { return printJSON(out, r) }
	}
	sum, err := evaluate(in, name, *root, each)
	if err != nil {
		return 0, err
	}
	switch {
	case *asJSON:
		return 0, errors.Join(printJSON(out, sum), out.Flush())
	case *verdicts:
		sum.print(s.stderr)
	default:
		sum.print(out)
	}
	return 0, out.Flush()
}

// evaluate judges every line of in.
func evaluate(in io.Reader, name, root string, each func(ruling) error) (*summary, error) {
	c, err := config.Default()
	if err != nil {
		return nil, err
	}
	if c.Roots, err = config.Workspace([]string{root}, c.Home); err != nil {
		return nil, err
	}
	j, err := c.Judge(tools.Environment(c.Roots, ""))
	if err != nil {
		return nil, err
	}
	sum := &summary{Labels: map[string]*verdictCount{}}
	var times []float64
	lines := bufio.NewReaderSize(in, 64<<10)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		last := err != nil
		if text := trimmed(line); len(text) > 0 {
			r, err := parseRow(text, n)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, n, err)
			}
			v := judge(j, c.Roots, r)
			times = append(times, v.US)
			sum.count(r.Label, v.Verdict)
			if err := each(v); err != nil {
				return nil, err
			}
		}
		if last {
			break
		}
	}
	sum.P50, sum.P99 = quantile(times, 0.50), quantile(times, 0.99)
	return sum, nil
}

func trimmed(line []byte) []byte {
	for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r') {
		line = line[:len(line)-1]
	}
	return line
}

func parseRow(line []byte, n int) (row, error) {
	var r row
	if err := json.Unmarshal(line, &r); err != nil {
		return r, fmt.Errorf("bad row: %w", err)
	}
	if r.Command == nil {
		return r, errors.New(`bad row: "command" is missing`)
	}
	if r.ID == "" {
		r.ID = fmt.Sprint("line ", n)
	}
	if r.Label == "" {
		r.Label = "unlabelled"
	}
	return r, nil
}

// judge times the decision on one row: reading it and judging it.
func judge(j *config.Judge, roots []string, r row) ruling {
	dir := roots[0]
	if filepath.IsAbs(r.Cwd) {
		dir = filepath.Clean(r.Cwd)
	} else if r.Cwd != "" {
		dir = filepath.Join(dir, r.Cwd)
	}
	input, _ := json.Marshal(map[string]string{"command": *r.Command}) // a string always can be
	began := time.Now()
	d := j.Guard.Judge(&guard.EvalContext{
		ToolName: tools.Bash, Input: input, WorkingDir: dir, Roots: roots,
		Facts: j.Reader.Read(*r.Command, dir),
	})
	us := float64(time.Since(began).Nanoseconds()/100) / 10
	return ruling{r.ID, d.Verdict, d.Rule, us}
}

func (s *summary) count(label string, v guard.Verdict) {
	c := s.Labels[label]
	if c == nil {
		c = &verdictCount{}
		s.Labels[label] = c
	}
	c.add(v)
	s.Rows++
}

// quantile is the nearest rank: the smallest value that at least q of all do
// not exceed.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	rank := int(q*float64(len(values)) + 0.9999999)
	return values[max(rank, 1)-1]
}

func (s *summary) print(w io.Writer) {
	tw := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "rows\tallow\tllm\task\tdeny\t  label")
	for _, label := range slices.Sorted(maps.Keys(s.Labels)) {
		c := s.Labels[label]
		fmt.Fprintf(tw, "%d\t%d\t%d\t%d\t%d\t  %s\n", c.Allow+c.LLM+c.Ask+c.Deny, c.Allow, c.LLM, c.Ask, c.Deny, label)
	}
	tw.Flush()
	fmt.Fprintf(w, "\n%d rows, decision p50 %.1f µs, p99 %.1f µs\n", s.Rows, s.P50, s.P99)
}

// scratchTree makes an empty git work tree.
func scratchTree() (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp("", "handrail-eval-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { os.RemoveAll(dir) }
	for _, d := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags"} {
		if err == nil {
			err = os.MkdirAll(filepath.Join(dir, ".git", d), 0o755)
		}
	}
	for name, content := range map[string]string{
		"HEAD":   "ref: refs/heads/main\n",
		"config": "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n",
	} {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, ".git", name), []byte(content), 0o644)
		}
	}
	if err != nil {
		remove()
		return "", nil, err
	}
	return dir, remove, nil
}
