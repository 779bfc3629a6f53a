package config

import (
	"strings"
	"testing"

	"handrail/tools"
)

// BenchmarkDecision is what a server adds to a call before it runs: reading it,
// which is "read", and judging what was read.
func BenchmarkDecision(b *testing.B) {
	_, root := projectOf(b)
	sys, _ := opened(b, loaded(b, root))
	for _, c := range []struct{ name, tool, key, value string }{
		{"true", tools.Bash, "command", "true"},
		{"list", tools.Bash, "command", "nice -n 10 sleep 1; echo done"},
		{"long", tools.Bash, "command", strings.Repeat("cat a.go b.go | grep -n needle\n", 100)},
		{"deny", tools.Bash, "command", "rm -rf /"},
		{"file", tools.Read, "path", "main.go"},
	} {
		call := tools.Call{Tool: c.tool, Input: []byte(quoted(map[string]string{c.key: c.value})), Roots: []string{root}, Session: "s"}
		b.Run(c.name+"/read", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := sys.Toolbox.Context(call); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/judge", func(b *testing.B) {
			b.ReportAllocs()
			in, err := sys.Toolbox.Context(call)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				sys.Guard.Evaluate(b.Context(), in)
			}
		})
	}
}
