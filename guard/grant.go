package guard

import (
	"sync"
	"time"
)

// Scope says how long a grant holds.
type Scope uint8

const (
	// Once is used up by the first call that it covers.
	Once Scope = iota
	// Session holds until its session ends.
	Session
)

// Grant is a person's yes to exactly one call.
type Grant struct {
	Digest  string // of the call that was shown
	Session string // the session in which it was asked
	Scope   Scope
	Expires time.Time // zero: with the session
}

// Grants holds grants in memory. It answers ask and nothing else. It is safe
// for concurrent use; a nil *Grants covers nothing.
type Grants struct {
	mu   sync.Mutex
	held map[grantKey]Grant
	now  func() time.Time
}

type grantKey struct{ session, digest string }

// NewGrants returns an empty set of grants.
func NewGrants() *Grants {
	return &Grants{held: map[grantKey]Grant{}, now: time.Now}
}

// Add records a grant. A session grant is not narrowed by a later once grant.
func (g *Grants) Add(grant Grant) {
	g.mu.Lock()
	defer g.mu.Unlock()
	k := grantKey{grant.Session, grant.Digest}
	if old, ok := g.held[k]; ok && old.Scope == Session && !g.expired(old) {
		return
	}
	g.held[k] = grant
}

// EndSession forgets every grant of a session.
func (g *Grants) EndSession(session string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for k := range g.held {
		if k.session == session {
			delete(g.held, k)
		}
	}
}

// covers reports whether a grant answers for this call, and uses up a once
// grant: two calls never both spend it.
func (g *Grants) covers(c *EvalContext, digest string) bool {
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	k := grantKey{c.Session, digest}
	grant, ok := g.held[k]
	if !ok {
		return false
	}
	if grant.Scope == Once || g.expired(grant) {
		delete(g.held, k)
	}
	return !g.expired(grant)
}

func (g *Grants) expired(grant Grant) bool {
	return !grant.Expires.IsZero() && g.now().After(grant.Expires)
}
