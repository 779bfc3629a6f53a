package cli

import (
	"fmt"
	"io"
	"strings"
)

// bar shows how something long goes on: in one line on a terminal, else in a
// line per step.
type bar struct {
	out    io.Writer
	live   bool
	amount func(done, total int64) string
	last   string
}

// bar returns a bar on standard error; amount says how much of it is done.
func (s streams) bar(amount func(done, total int64) string) *bar {
	return &bar{out: s.stderr, live: isTerminal(s.stderr), amount: amount}
}

func megabytes(done, total int64) string {
	return fmt.Sprintf("%.1f of %.1f MB", float64(done)/1e6, float64(total)/1e6)
}

func rows(done, total int64) string { return fmt.Sprintf("%d of %d", done, total) }

// tell shows the step, and how much of how much is done; total may be unknown.
func (b *bar) tell(step string, done, total int64) {
	const width = 30
	if !b.live {
		if step != b.last {
			fmt.Fprintln(b.out, step)
		}
		b.last = step
		return
	}
	line := step
	if total > 0 {
		done = min(max(done, 0), total)
		full := int(done * width / total)
		line = fmt.Sprintf("%-24.24s [%s%s] %3d %%  %s", step, strings.Repeat("#", full), strings.Repeat(".", width-full), done*100/total, b.amount(done, total))
	}
	if line != b.last {
		fmt.Fprintf(b.out, "\r\x1b[K%s", line)
	}
	b.last = line
}

func (b *bar) end() {
	if b.live && b.last != "" {
		fmt.Fprintln(b.out)
	}
}
