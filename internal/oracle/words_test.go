package oracle

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"handrail/guard"
)

// prelude makes bash write down every program that it would start, with its
// words, instead of starting it: none is found, and all succeed. Only the two
// whose output is read in advance run.
const prelude = `PATH=/nonexistent
command_not_found_handle() { printf '%s\0' "$#" "$@" >>"$TMPDIR/words"; }
cat() { command_not_found_handle cat "$@"; /bin/cat "$@"; }
git() { command_not_found_handle git "$@"; [[ $1 != rev-parse ]] || /usr/bin/git "$@"; }
`

// TestBashMeansTheSameWords: over the benign rows, bash itself gives to each
// program the words that are in the facts, and where nothing runs beside or
// again, in the order of the facts.
func TestBashMeansTheSameWords(t *testing.T) {
	rows := append(own(t), benign(t)...)
	var table findings
	var programs, ordered atomic.Int64
	each(t, cells(t, 2), rows, func(c *cell, r row) {
		c.fresh()
		facts, verdict := c.read(r.Command)
		if verdict != guard.VerdictAllow || facts.Script == "" {
			return
		}
		if did := c.run(prelude+facts.Script, false); did.err != nil {
			table.add(finding{"broken", did.err.Error()}, r)
			return
		}
		inOrder := !strings.ContainsAny(r.Command, "|&\n({`") && !strings.Contains(r.Command, "done") && !strings.Contains(r.Command, "[[")
		from := 0
		for _, argv := range c.started() {
			programs.Add(1)
			at := meant(facts, argv, 0)
			switch {
			case at < 0:
				table.add(finding{"bash starts a program with words that the facts do not have", strings.Join(argv, " ")}, r)
			case inOrder:
				ordered.Add(1)
				if at = meant(facts, argv, from); at < 0 {
					table.add(finding{"the facts have another order", strings.Join(argv, " ")}, r)
				}
				from = max(from, at)
			}
		}
	})
	t.Logf("%d programs, the order of %d", programs.Load(), ordered.Load())
	if programs.Load() < 1500 || ordered.Load() < 500 {
		t.Error("this proves too little")
	}
	if s := table.String(); s != "" {
		t.Errorf("bash and the facts differ:\n%s", s)
	}
}

// started returns what the last run wrote down: the words of each program.
func (c *cell) started() (all [][]string) {
	b, _ := os.ReadFile(filepath.Join(c.scratch, "words")) // none: nothing was started
	words := strings.Split(string(b), "\x00")
	for len(words) > 1 {
		n, err := strconv.Atoi(words[0])
		if err != nil || n < 1 || n >= len(words) {
			return append(all, []string{"unreadable"})
		}
		all = append(all, words[1:n+1])
		words = words[n+1:]
	}
	return all
}

// meant returns the first command of the facts, from an index on, that bash
// could have meant by argv; -1 where there is none. A wrapper stands in Via of
// the command that it starts.
func meant(f *guard.Facts, argv []string, from int) int {
	name := filepath.Base(argv[0])
	for i := from; i < len(f.Commands); i++ {
		c := f.Commands[i]
		if slices.Contains(c.Via, name) || c.Name == name && sameWords(c.Args, argv[1:]) {
			return i
		}
	}
	return -1
}

// sameWords compares as far as the words could be told.
func sameWords(read []guard.Word, words []string) bool {
	for i, w := range read {
		if !w.Exact {
			return true
		}
		if i >= len(words) || w.Text != words[i] {
			return false
		}
	}
	return len(words) == len(read)
}
