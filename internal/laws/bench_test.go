package laws

import (
	"slices"
	"testing"
	"time"
)

// A decision over the whole corpus: reading the command and judging it. One
// operation is one pass; p50 and p99 are of single commands.
func BenchmarkDecision(b *testing.B) {
	bench := newBench(b)
	rows := corpus(b)
	var took []time.Duration
	for b.Loop() {
		for _, r := range rows {
			began := time.Now()
			bench.read(r.Command)
			took = append(took, time.Since(began))
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "p99-µs")
	b.ReportMetric(float64(len(rows)), "rows")
}
