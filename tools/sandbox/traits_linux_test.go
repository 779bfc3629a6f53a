package sandbox

import (
	"sync"
	"testing"
	"time"
)

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
		p.run(t, p.base(), "true")
		p.inner().session.settle()
		heads := map[string]bool{}
		for range 4 * ahead {
			heads[p.run(t, p.base(), "readlink /proc/self/ns/pid").out] = true
		}
		if len(heads) > ahead+1 { // one may be ordered before all ahead have come
			t.Errorf("%d heads served %d commands, one after the other", len(heads), 4*ahead)
		}
	})
}

// settle waits for the heads that are on their way, or on the way back.
func (s *session) settle() {
	for s.soon.Load() > 0 {
		time.Sleep(time.Millisecond)
	}
}

// TestHeadsEnd: heads that were needed once are ended one by one, until as many
// wait as did at first.
func TestHeadsEnd(t *testing.T) {
	p := settle(t, Bwrap)
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() { p.run(t, p.base(), "sleep 1") })
	}
	all.Wait()
	s := p.inner().session
	s.settle()
	after := func(spells int) int {
		for range spells {
			s.mu.Lock()
			s.since = s.since.Add(-spell)
			s.mu.Unlock()
			p.run(t, p.base(), "true")
			s.settle()
		}
		return len(s.ready)
	}
	if n := after(0); n < 6 {
		t.Fatalf("%d heads wait after 6 commands at once", n)
	}
	if before, n := after(1), after(2); n != before-2 { // the first saw how many are needed
		t.Errorf("after two spells %d heads wait of %d", n, before)
	}
	if n := after(12); n != ahead+1 { // of them one works, and ahead wait
		t.Errorf("%d heads are left", n)
	}
	if p.inner().session != s {
		t.Error("the session is another one")
	}
}
