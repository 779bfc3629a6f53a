package egress

import "sync"

// maxRefused bounds how many hosts a ledger names.
const maxRefused = 20

// Ledger keeps for the result of one call what was refused, and what could not be
// reached. The zero value is empty. It is safe for concurrent use.
type Ledger struct {
	mu      sync.Mutex
	refused []Decision
	failed  []Decision // allowed, and no connection came about
	more    int
}

// Add notes d: refusals, and hosts that could not be reached, each host and port
// once.
func (l *Ledger) Add(d Decision) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !d.Allowed:
		if !noted(&l.refused, d) {
			l.more++
		}
	case d.Reason != "" && !d.Addr.IsValid():
		noted(&l.failed, d)
	}
}

// noted adds d where its host and port are not there, and reports false where
// there is no room.
func noted(list *[]Decision, d Decision) bool {
	for _, r := range *list {
		if r.Host == d.Host && r.Port == d.Port {
			return true
		}
	}
	if len(*list) == maxRefused {
		return false
	}
	*list = append(*list, d)
	return true
}

// Refused are the hosts that were refused, in their order, and how many
// refusals beyond those came from more hosts.
func (l *Ledger) Refused() (refused []Decision, more int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append(refused, l.refused...), l.more
}

// Failed are the hosts that were allowed and could not be reached, each with the
// reason, in their order.
func (l *Ledger) Failed() []Decision {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Decision(nil), l.failed...)
}
