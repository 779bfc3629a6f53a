package egress

import "sync"

// maxRefused bounds how many hosts a ledger names.
const maxRefused = 20

// Ledger keeps the refusals of one call for its result. The zero value is
// empty. It is safe for concurrent use.
type Ledger struct {
	mu      sync.Mutex
	refused []Decision
	more    int
}

// Add notes d: refusals only, each host and port once.
func (l *Ledger) Add(d Decision) {
	if d.Allowed {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.refused {
		if r.Host == d.Host && r.Port == d.Port {
			return
		}
	}
	if len(l.refused) == maxRefused {
		l.more++
		return
	}
	l.refused = append(l.refused, d)
}

// Refused are the hosts that were refused, in their order, and how many
// refusals beyond those came from more hosts.
func (l *Ledger) Refused() (refused []Decision, more int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append(refused, l.refused...), l.more
}
