package mcpserver_test

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pace measures beside the load how fast each processor is: virtual ones stand
// still, or run at a tenth of their clock, for milliseconds at a time, and then so
// does a decision. It does the same small work again and again on each and takes
// the time that its own thread ran, so that waiting for others is none of it.
type pace struct {
	stop chan struct{}
	all  sync.WaitGroup
	mu   sync.Mutex
	took []time.Duration
	slow []stretch // the work took more than twice what it takes
}

// stretch is a time in which a processor was slow.
type stretch struct{ from, to time.Time }

// Every is how often the work is done, about is how long a slow time may have
// begun before it was seen, and have gone on after it.
const (
	every = 5 * time.Millisecond
	about = 10 * time.Millisecond
)

func newPace(t *testing.T) *pace {
	p := &pace{stop: make(chan struct{})}
	for cpu := range runtime.NumCPU() {
		p.all.Go(func() { p.measure(t, cpu) })
	}
	t.Cleanup(func() {
		close(p.stop)
		p.all.Wait()
	})
	return p
}

func (p *pace) measure(t *testing.T, cpu int) {
	runtime.LockOSThread() // ends with its goroutine
	var only unix.CPUSet
	only.Set(cpu)
	if err := unix.SchedSetaffinity(0, &only); err != nil {
		t.Logf("processor %d is not measured: %v", cpu, err)
		return
	}
	usual := work()
	for range 200 {
		usual = min(usual, work())
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-tick.C:
		}
		from := time.Now()
		took := work()
		p.mu.Lock()
		p.took = append(p.took, took)
		if took > 2*usual {
			p.slow = append(p.slow, stretch{from.Add(-about), time.Now().Add(about)})
		}
		p.mu.Unlock()
	}
}

// work is some tens of microseconds, in processor time of this thread.
func work() time.Duration {
	began := threadTime()
	x := uint64(1)
	for range 40_000 {
		x = x*6364136223846793005 + 1
	}
	runtime.KeepAlive(x)
	return threadTime() - began
}

func threadTime() time.Duration {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &at); err != nil {
		panic(err)
	}
	return time.Duration(at.Nano())
}

// since forgets what was measured, and returns it: median and p99 of the work, and
// when a processor was slow.
func (p *pace) since() (median, p99 time.Duration, slow []stretch) {
	p.mu.Lock()
	took, slow := p.took, p.slow
	p.took, p.slow = nil, nil
	p.mu.Unlock()
	slices.Sort(took)
	if n := len(took); n > 0 {
		median, p99 = took[n/2], took[n*99/100]
	}
	return median, p99, slow
}
