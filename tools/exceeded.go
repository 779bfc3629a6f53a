package tools

import (
	"regexp"

	"handrail/tools/sandbox"
)

// What programs and shells say when a limit stops one of their processes, though
// the call goes on. A tier without control groups holds memory by each process,
// whose allocation fails.
var limitWords = []struct {
	limit string
	tier  sandbox.Tier // "": all
	says  *regexp.Regexp
}{
	{"file size", "", regexp.MustCompile(`(?m)(^|\d\s+)File size limit exceeded|\[Errno 27\] File too large|: File too large$|\bEFBIG\b`)},
	{"processes", "", regexp.MustCompile(`fork: (retry: )?Resource temporarily unavailable|Cannot fork$|can't start new thread|BlockingIOError: \[Errno 11\] Resource temporarily unavailable|\bspawn\b.*\bEAGAIN\b`)},
	{"memory", sandbox.Landlock, regexp.MustCompile(`(?m)^MemoryError\b|Cannot allocate memory|(?i)\bout of memory\b`)},
}

// exceeded names the limit that the output of a call shows to be reached, where
// the sandbox could not tell; empty: none. It is a guess from words, for advice;
// what no code ran for and stands in the output was only printed.
func (c *confined) exceeded(res *Result) string {
	e := c.box.Enforcement()
	if e.Tier == sandbox.None {
		return ""
	}
	output := res.Stderr
	if c.code {
		output += "\n" + res.Stdout
	}
	for _, l := range limitWords {
		if (l.tier == "" || l.tier == e.Tier) && l.says.MatchString(output) {
			return l.limit
		}
	}
	return ""
}
