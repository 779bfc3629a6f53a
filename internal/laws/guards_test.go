package laws

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"handrail/guard"
	"handrail/guard/plugin"
	"handrail/internal/config"
)

// forms are guards of each kind, with a number that makes them differ.
var forms = []string{
	"tool: Bash\npatterns:\n  - match: '\\btool%d (apply|destroy)\\b'\n    verdict: ask\n",
	"tool: Write,Edit\npatterns:\n  - file_match: '*.ext%d'\n    verdict: ask\n",
	"when: {effect: [write, delete], path: 'team%d/data/**'}\nverdict: deny\n",
	"when: {effect: network, host: '*.prod%d.example.com'}\nverdict: deny\n",
	"when: {command: deploy%d, args: [production, '**']}\nverdict: ask\n",
	"tool: Bash\npatterns:\n  - match: 'run%d( [a-z]+)*'\n    verdict: allow\n",
}

// thousand are guards of the kinds that people write.
func thousand(t testing.TB, b *bench) []*plugin.Guard {
	t.Helper()
	c := &config.Config{Home: "/home/dev"}
	loader := c.Loader(b.judge)
	var all []*plugin.Guard
	for i := range 1000 {
		g, err := loader.Parse(context.Background(), fmt.Sprintf("guard-%d.yaml", i), fmt.Appendf(nil, forms[i%len(forms)], i))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, g)
	}
	return all
}

// A decision over the whole corpus beside a thousand guards of the user's, as a
// server has them: in files that are looked at again and again; and without.
func BenchmarkThousandGuards(b *testing.B) {
	bench := newBench(b)
	rows := corpus(b)
	c := &config.Config{Home: "/home/dev"}
	dir := b.TempDir()
	for i := range 1000 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("guard-%d.yaml", i)), fmt.Appendf(nil, forms[i%len(forms)], i), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	live, err := plugin.Open(plugin.Options{Loader: c.Loader(bench.judge), User: []string{dir}})
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{0, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			bench.judge.Guard.User = nil
			if n > 0 {
				bench.judge.Guard.User = live.Policy
			}
			began := processor(b)
			for b.Loop() {
				for _, r := range rows {
					bench.read(r.Command)
				}
			}
			b.ReportMetric(float64((processor(b)-began).Nanoseconds())/1e3/float64(b.N*len(rows)), "cpu-µs/decision")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/1e3/float64(b.N*len(rows)), "µs/decision")
		})
	}
}

// processor is the processor time of this process: what others do on the machine
// is not in it.
func processor(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Guards that are about something else change no verdict.
func TestGuardsAboutSomethingElse(t *testing.T) {
	bench := newBench(t)
	rows := corpus(t)
	var before []guard.Verdict
	for _, r := range rows {
		before = append(before, bench.read(r.Command).verdict)
	}
	policy := plugin.Policy(thousand(t, bench), "/home/dev")
	bench.judge.Guard.User = func([]string) *guard.Policy { return policy }
	for i, r := range rows {
		got := bench.read(r.Command)
		if got.verdict > before[i] || got.verdict < before[i] && !wide(got.facts) {
			t.Errorf("%s: %s became %s by %s", r.Command, before[i], got.verdict, got.rule)
		}
	}
}

// wide reports whether a call takes a whole tree, or something about it is not
// known, so that a guard may be about it.
func wide(f *guard.Facts) bool {
	for _, e := range f.Effects {
		if !e.Exact || e.Deep || e.Kind == guard.Delete {
			return true
		}
	}
	return false
}
