package oracle

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// finding is one thing seen at a row: an offence where it has a text, else
// something to count.
type finding struct {
	what, text string
}

// findings gathers by what they have in common; the zero value is empty.
type findings struct {
	mu      sync.Mutex
	tally   map[string]int
	offence map[string][]string
}

func (f *findings) add(one finding, r row) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tally == nil {
		f.tally, f.offence = map[string]int{}, map[string][]string{}
	}
	if one.text == "" {
		f.tally[one.what]++
		return
	}
	f.offence[one.what] = append(f.offence[one.what], fmt.Sprintf("%s  %s\n        in %q", r.ID, one.text, r.Command))
}

func (f *findings) count(what string) int { return f.tally[what] }

func (f *findings) counts() string {
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(f.tally)) {
		parts = append(parts, fmt.Sprintf("%d %s", f.tally[what], what))
	}
	return strings.Join(parts, ", ")
}

// String is the table of offences, the most frequent first; empty for none.
func (f *findings) String() string {
	names := slices.SortedFunc(maps.Keys(f.offence), func(a, b string) int {
		if d := len(f.offence[b]) - len(f.offence[a]); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	var s strings.Builder
	for _, name := range names {
		fmt.Fprintf(&s, "  %s (%d)\n", name, len(f.offence[name]))
		for _, line := range slices.Sorted(slices.Values(f.offence[name])) {
			fmt.Fprintf(&s, "    %s\n", line)
		}
	}
	return s.String()
}
