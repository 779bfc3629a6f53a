package sandbox

import "testing"

// TestHeadUntouched: what a command does to the process at its head, which it may
// signal by number as any of its own, no later command feels.
func TestHeadUntouched(t *testing.T) {
	both(t, func(t *testing.T) {
		p := settle(t, Bwrap)
		const look = `ulimit -Hn; ulimit -Su; nice; taskset -p $$ | sed 's/.*: //'; cat /proc/self/oom_score_adj`
		want := p.run(t, p.base(), look).out
		for _, deed := range []string{
			`prlimit --pid 1 --nofile=33:33`,
			`prlimit --pid 1 --nproc=50:`,
			`for t in /proc/1/task/*; do renice -n 15 -p ${t##*/}; done`,
			`for t in /proc/1/task/*; do taskset -p 1 ${t##*/}; done`,
			`for t in /proc/1/task/*; do chrt -b -p 0 ${t##*/}; done`,
			`for t in /proc/1/task/*; do ionice -c 3 -p ${t##*/}; done`,
			`echo 900 > /proc/1/oom_score_adj`,
		} {
			first := p.inner().session
			for range ahead + 1 { // whichever head it was
				p.run(t, p.base(), deed)
			}
			for range ahead + 2 {
				if r := p.run(t, p.base(), look); r.out != want || r.Code != 0 {
					t.Errorf("after %s: %q, want %q", deed, r.out, want)
				}
			}
			if p.inner().session != first {
				t.Errorf("after %s the session is another one", deed)
			}
		}
	})
}

// BenchmarkTraits is what a command pays for that.
func BenchmarkTraits(b *testing.B) {
	for b.Loop() {
		if _, ok := traitsOf(); !ok {
			b.Fatal("threads differ")
		}
	}
}

// TestHeadAgain: commands that leave nothing behind share the heads that were
// started for the first ones, with control groups and without.
func TestHeadAgain(t *testing.T) {
	both(t, func(t *testing.T) {
		p := settle(t, Bwrap)
		heads := map[string]bool{}
		for range 4 * ahead {
			heads[p.run(t, p.base(), "readlink /proc/self/ns/pid").out] = true
		}
		if len(heads) > ahead+1 { // one may be ordered before all ahead have come
			t.Errorf("%d heads served %d commands, one after the other", len(heads), 4*ahead)
		}
	})
}
