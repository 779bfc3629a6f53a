// Package oracle runs what the guard allowed, inside a sandbox and under a
// tracer, and compares what happened with what the facts say; and it runs the
// same as calls, with the power that these facts give, and compares what comes of
// it. It has tests only.
//
// A command is run only if it is labelled benign in testdata/corpus or stands
// in testdata/*.txt here, and if the guard allows it as it stands.
package oracle

import (
	"bufio"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"handrail/guard"
)

// row is one command to run.
type row struct {
	ID, Command, Label string
}

// Everything that an allowed command does is in its facts (see law), and the
// script that was judged does the same as the command that was given.
func TestAllowedCommandsDoWhatTheFactsSay(t *testing.T) {
	rows := append(own(t), benign(t)...)
	if only := os.Getenv("HANDRAIL_ORACLE"); only != "" { // rows with this text
		rows = slices.DeleteFunc(rows, func(r row) bool { return !strings.Contains(r.ID+" "+r.Command, only) })
	}
	var table findings
	places := cells(t, 2)
	each(t, places, rows, func(c *cell, r row) {
		for _, f := range c.examine(r) {
			table.add(f, r)
		}
	})
	t.Logf("%d rows: %s", len(rows), table.counts())
	var known findings
	each(t, places, commands(t, "testdata/open.list"), func(c *cell, r row) {
		for _, f := range c.examine(r) {
			known.add(f, r)
		}
	})
	t.Logf("open: %s\n%s", known.counts(), known.String())
	for what, least := range map[string]int{"ran": 1000, "changed something": 300, "started a program": 700} {
		if os.Getenv("HANDRAIL_ORACLE") == "" && table.count(what) < least {
			t.Errorf("only %d rows %s, not %d: this proves too little", table.count(what), what, least)
		}
	}
	if s := table.String(); s != "" {
		t.Errorf("what happened and what the facts say differ:\n%s", s)
	}
}

// each calls do for every row, in all the cells at a time.
func each[C any](t *testing.T, places []C, rows []row, do func(C, row)) {
	work := make(chan row)
	var wg sync.WaitGroup
	for _, c := range places {
		wg.Go(func() {
			for r := range work {
				began := time.Now()
				do(c, r)
				if took := time.Since(began); took > 3*time.Second {
					t.Logf("%s took %v: %.100q", r.ID, took.Round(time.Millisecond), r.Command)
				}
			}
		})
	}
	for _, r := range rows {
		work <- r
	}
	close(work)
	wg.Wait()
}

// examine judges a row and, where it is allowed, runs it.
func (c *cell) examine(r row) []finding {
	c.fresh()
	facts, verdict := c.read(r.Command)
	if verdict != guard.VerdictAllow {
		return []finding{{what: "not run: " + verdict.String()}}
	}
	uses := func(programs []string) bool {
		return slices.ContainsFunc(law{facts, c}.names(), func(n string) bool { return slices.Contains(programs, n) })
	}
	if uses(slow) {
		return []finding{{what: "not run: a slow program"}}
	}
	free := len(law{facts, c}.codes()) > 0
	if free && os.Getenv("HANDRAIL_ORACLE") == "" && crc32.ChecksumIEEE([]byte(r.ID))%6 != 0 {
		return []finding{{what: "not run: one of many that run code of the project"}}
	}
	found := []finding{{what: "ran"}}
	did := c.run(facts.Script, true)
	if did.err != nil {
		return append(found, finding{"broken", did.err.Error()})
	}
	if did.timedOut {
		found = append(found, finding{what: "ended by the time limit"})
	}
	broken, seen := law{facts, c}.check(did.events)
	found = append(append(found, seen...), broken...)
	if facts.Script != r.Command && !did.timedOut && !free && !uses(random) {
		found = append(found, c.compare(r.Command, facts.Script, did)...)
	}
	return found
}

// random are programs that do not do the same twice.
var random = strings.Fields("shuf mktemp uuidgen mcookie openssl rg fd ps pgrep top free vmstat")

// slow are programs that take seconds to find out that there is no network, and
// the tracer, which cannot be traced.
var slow = strings.Fields("gcloud mvn gradle java terraform aws az kubectl helm docker docker-compose podman gh glab pulumi dotnet bazel jar javac strace")

// compare runs the command as it was given and compares. What differs from
// itself when it is run again says nothing, nor what comes out the same once
// in a few times: its parts race with each other.
func (c *cell) compare(source, script string, printed *outcome) []finding {
	given, done := []*outcome{c.again(source, false)}, []*outcome{printed}
	diff := given[0].differs(printed)
	for tries := 0; tries < 3 && diff != ""; tries++ {
		g, p := c.again(source, true), c.again(script, true)
		given, done = append(given, g), append(done, p)
		for i := range done {
			if g.differs(done[i]) == "" || given[i].differs(p) == "" {
				diff = ""
			}
		}
	}
	if diff == "" {
		return []finding{{what: "same as given"}}
	}
	for _, g := range given[2:] {
		if given[1].differs(g) != "" {
			return []finding{{what: "differs from itself"}}
		}
	}
	return []finding{{"the script does not do what the command does", diff + ": " + script}}
}

// again runs a script in a fresh copy.
func (c *cell) again(script string, traced bool) *outcome {
	c.fresh()
	return c.run(script, traced)
}

// own returns the commands of testdata/*.txt: one a line; "#" begins a
// comment.
func own(t *testing.T) (rows []row) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no commands: %v", err)
	}
	for _, file := range files {
		rows = append(rows, commands(t, file)...)
	}
	return rows
}

func commands(t *testing.T, file string) (rows []row) {
	n := 0
	for line := range lines(t, file) {
		n++
		if line != "" && !strings.HasPrefix(line, "#") {
			rows = append(rows, row{ID: fmt.Sprintf("%s:%d", filepath.Base(file), n), Command: line})
		}
	}
	return rows
}

// benign returns the rows of testdata/corpus that are labelled so.
func benign(t *testing.T) (rows []row) {
	files, err := filepath.Glob("../../testdata/corpus/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	for _, file := range files {
		for line := range lines(t, file) {
			var r row
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if r.Label == "benign" {
				rows = append(rows, r)
			}
		}
	}
	return rows
}

func lines(t *testing.T, file string) func(func(string) bool) {
	return func(yield func(string) bool) {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		s := bufio.NewScanner(f)
		s.Buffer(nil, 1<<20)
		for s.Scan() && yield(s.Text()) {
		}
		if err := s.Err(); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
}
