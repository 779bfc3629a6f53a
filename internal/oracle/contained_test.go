package oracle

import (
	"encoding/json"
	"flag"
	"fmt"
	"hash/crc32"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"handrail/guard"
)

// everyRow runs all rows in the sandbox, not a sample.
var everyRow = flag.Bool("every-row", false, "run every row that is allowed in the sandbox, not a sample")

// oneIn is how many rows the sample has one of, beyond the first of each
// program.
const oneIn = 30

// heavy are programs that take most of a second, whatever they run: of their
// rows the sample has the first four of each, and fewer of the others.
var heavy = strings.Fields("npm npx yarn pnpm go pip pip3 apt cargo")

// TestAllowedCommandsDoTheSameInTheSandbox: every row that is allowed runs under
// the profile that its own facts give, by the way of every call, and comes to
// the same as in a shell that nothing holds: exit code, both streams, and what
// is left in the project and the home directory. What the facts do not have is
// refused there, and differs.
func TestAllowedCommandsDoTheSameInTheSandbox(t *testing.T) {
	places := containedCells(t, 2)
	var table findings
	rows := places[0].choose(append(own(t), append(benign(t), further(t)...)...), &table)
	each(t, places, rows, func(k *contained, r row) {
		for _, f := range k.examine(r) {
			table.add(f, r)
		}
	})
	t.Logf("%s", table.counts())
	if os.Getenv("HANDRAIL_ORACLE") == "" && table.count("same") < 300 {
		t.Errorf("only %d rows were compared: this proves too little", table.count("same"))
	}
	if s := table.String(); s != "" {
		t.Errorf("what is allowed differs in the sandbox:\n%s", s)
	}
}

// further returns the rows of HANDRAIL_CORPUS that are labelled benign.
func further(t *testing.T) (rows []row) {
	file := os.Getenv("HANDRAIL_CORPUS")
	if file == "" {
		return nil
	}
	for line := range lines(t, file) {
		var r row
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if r.Label == "benign" {
			rows = append(rows, r)
		}
	}
	return rows
}

// choose returns the rows that run: all that are allowed and not slow, or the
// first of each program and some of the others.
func (k *contained) choose(rows []row, table *findings) (chosen []row) {
	k.fresh()
	only := os.Getenv("HANDRAIL_ORACLE")
	seen := map[string]int{}
	for _, r := range rows {
		facts, verdict := k.read(r.Command)
		if verdict != guard.VerdictAllow {
			table.add(finding{what: "not run: " + verdict.String()}, r)
			continue
		}
		table.add(finding{what: "allowed"}, r)
		names := law{facts, k.cell}.names()
		if slices.ContainsFunc(names, func(n string) bool { return slices.Contains(slow, n) }) {
			table.add(finding{what: "not run: a slow program"}, r)
			continue
		}
		take := sampled(r, names, seen)
		if only != "" && strings.Contains(r.ID+" "+r.Command, only) || only == "" && (take || *everyRow) {
			chosen = append(chosen, r)
			for _, n := range names {
				seen[n]++
			}
		} else {
			table.add(finding{what: "not in the sample"}, r)
		}
	}
	return chosen
}

// sampled reports whether the sample has a row that starts some programs, of
// which it has seen rows before.
func sampled(r row, names []string, seen map[string]int) bool {
	few, one := 1, uint32(oneIn)
	if slow := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !slices.Contains(heavy, n) }); len(slow) > 0 {
		names, few, one = slow, 2, 6*oneIn
	}
	return crc32.ChecksumIEEE([]byte(r.ID))%one == 0 || slices.ContainsFunc(names, func(n string) bool { return seen[n] < few })
}

// examine runs a row outside and in the sandbox and compares. What differs from
// itself when it is run again outside says nothing, nor what comes out the same
// once in a few times.
func (k *contained) examine(r row) []finding {
	facts, _ := k.read(r.Command)
	uses := law{facts, k.cell}.names()
	var outside, inside []*outcome
	diff, said := "", ""
	for tries := 0; tries < 6; tries++ { // a row may race with itself
		k.fresh()
		o := k.start(r.Command, false, patience)
		if o.err != nil {
			return []finding{{"broken", o.err.Error()}}
		}
		if o.timedOut {
			return []finding{{what: "not compared: ended by the time limit"}}
		}
		k.fresh()
		i, a := k.guarded(r.Command)
		if a.Cut && i.err == nil {
			o.out, i.out = cut(o.out, i.out)
			o.errs, i.errs = cut(o.errs, i.errs)
		}
		for _, one := range []*outcome{o, i} {
			one.plain(k, uses)
		}
		outside, inside, said = append(outside, o), append(inside, i), a.Said
		for n := range outside {
			if outside[n].differs(i) == "" || o.differs(inside[n]) == "" {
				return []finding{{what: "ran"}, {what: "same"}}
			}
		}
		if i.timedOut {
			return []finding{{"it does not end in the sandbox", said}}
		}
		if diff == "" {
			diff = o.differs(i)
		}
	}
	for _, o := range outside[1:] {
		if outside[0].differs(o) != "" {
			return []finding{{what: "ran"}, {what: "differs from itself"}}
		}
	}
	if d := listed(uses); d != nil {
		return []finding{{what: "ran"}, {what: fmt.Sprintf("listed (%s: %s)", d.heading, d.why)}}
	}
	return []finding{{what: "ran"}, {"it differs", diff + "\n        " + said}}
}

// difference is what SECURITY.md says to behave otherwise in the sandbox.
type difference struct {
	heading  string // in its table
	programs string
	why      string
}

// differences are all that a row may differ by.
var differences = []difference{
	{"mounts", "df mount lsblk findmnt", "they show what is mounted, which the sandbox is made of"},
	{"ptrace", "perf", "it watches other programs"},
	{"network", "ss", "it asks the kernel by netlink, and complains"},
	{"network", "ifconfig netstat ip nstat", "they count what the loopback of the session carried"},
	{"signals", "ps pgrep pkill pidof top", "they show processes, and outside that which holds the cell too"},
}

// listed returns why a row with some programs may differ; nil for no reason.
func listed(programs []string) *difference {
	for i, d := range differences {
		if slices.ContainsFunc(programs, func(p string) bool { return slices.Contains(strings.Fields(d.programs), p) }) {
			return &differences[i]
		}
	}
	return nil
}

// Users are told of every difference.
func TestDifferencesAreTold(t *testing.T) {
	told, err := os.ReadFile("../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range differences {
		if !strings.Contains(string(told), "\n| "+d.heading+" | ") {
			t.Errorf("SECURITY.md does not tell of %q", d.heading)
		}
	}
}

// cut makes alike what was printed and what was passed on of it, where a mark
// stands for what was left out of the middle.
func cut(printed, passed string) (string, string) {
	m := mark.FindStringIndex(passed)
	if m == nil {
		return printed, passed
	}
	printed, passed = visible(printed), visible(passed)
	m = mark.FindStringIndex(passed)
	head, tail := passed[:m[0]], passed[m[1]:]
	if strings.HasPrefix(printed, head) && strings.HasSuffix(printed, tail) {
		return "", ""
	}
	return printed, passed
}

var mark = regexp.MustCompile(`\n\[… \d+ bytes \(\d+ lines\) cut …\]\n`)

// unseen is what a result does not have as it was printed: sequences for a
// terminal, control characters, and what is no text.
var unseen = regexp.MustCompile(`\x1b\[[0-9;?]*[a-zA-Z]|\x1b.|\\u\{[0-9a-f]+\}|[^\t\n\x20-\x7e\x{a0}-\x{23ff}\x{2440}-\x{fffc}\x{10000}-\x{10ffff}]`)

func visible(s string) string { return unseen.ReplaceAllString(strings.ToValidUTF8(s, ""), "") }

// never is what is never the same twice.
var never = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\b\d+(\.\d+)?( ?(ms|seconds|second|s))\b|\(cached\)`), "TIME"},
	{regexp.MustCompile(`(duration_ms) [\d.]+`), "$1 TIME"},
	{regexp.MustCompile(`\b\d\d:\d\d(:\d\d(\.\d+)?)?\b`), "TIME"},
	{regexp.MustCompile(`\btmp[._]?[A-Za-z0-9_]{6,}\b`), "TEMP"},
	{regexp.MustCompile(`\(\d+\) - No such process`), "(PID) - No such process"},
	{regexp.MustCompile(`HANDRAIL_CALL=.*\n`), ""},
}

// plain takes out of an outcome what is never the same, and the caches, in which
// a session keeps what it writes to itself.
func (o *outcome) plain(k *contained, uses []string) {
	for _, s := range []*string{&o.out, &o.errs} {
		*s = visible(*s)
		for _, n := range never {
			*s = n.what.ReplaceAllString(*s, n.with)
		}
	}
	if slices.ContainsFunc(uses, func(n string) bool { return slices.Contains(random, n) }) {
		o.out, o.errs = "", ""
	}
	for name := range o.tree {
		for _, dir := range strings.Fields(cached) {
			if within("/home/"+dir, name) {
				delete(o.tree, name)
			}
		}
	}
}

// cached are directories of the home in which programs keep what they made.
const cached = ".cache .npm go .config .local .parallel .cargo"
