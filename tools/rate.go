package tools

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"handrail/guard"
)

// pace holds sessions to a number of calls a minute of each tool. The zero value
// is usable.
type pace struct {
	mu     sync.Mutex
	limits map[string]*paced
}

// paced is the pace of one session with one tool.
type paced struct {
	*rate.Limiter
	minute int
}

// maxPaces bounds what is kept: clients may open any number of sessions.
const maxPaces = 4096

// wait reports how long a session has to wait before its next call of a tool, at
// minute calls a minute; zero: it may call now, and has.
func (p *pace) wait(session, tool string, minute int) time.Duration {
	if minute <= 0 {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key := session + "\x00" + tool
	l := p.limits[key]
	if l == nil || l.minute != minute {
		if len(p.limits) >= maxPaces || p.limits == nil {
			p.limits = map[string]*paced{}
		}
		l = &paced{rate.NewLimiter(rate.Limit(float64(minute)/60), minute), minute}
		p.limits[key] = l
	}
	r := l.Reserve()
	if d := r.Delay(); d > 0 {
		r.Cancel()
		return d
	}
	return 0
}

// tooFast refuses a call that comes before its time, or is nil.
func (j *job) tooFast() *guard.Decision {
	b := j.box
	if b.RateLimit == nil {
		return nil
	}
	minute := b.RateLimit(j.call.Tool, j.call.Roots)
	d := b.pace.wait(j.call.owner(), j.call.Tool, minute)
	if d == 0 {
		return nil
	}
	seconds := int(d/time.Second) + 1
	return &guard.Decision{Rule: "policy/rate", Reason: fmt.Sprintf("more than %d calls of %s in a minute", minute, j.call.Tool),
		Instead: fmt.Sprintf("try again in %d s", seconds)}
}
