package guard

import (
	"context"
	"fmt"
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
	// Always holds for every call that its pattern covers, until it expires.
	Always
)

var scopeNames = [...]string{"once", "session", "always"}

// String returns "once", "session" or "always".
func (s Scope) String() string {
	if int(s) < len(scopeNames) {
		return scopeNames[s]
	}
	return scopeNames[Once]
}

// MarshalText writes the scope's name.
func (s Scope) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a scope's name; anything else is an error and leaves the
// scope at Once.
func (s *Scope) UnmarshalText(b []byte) error {
	*s = Once
	for i, n := range scopeNames {
		if n == string(b) {
			*s = Scope(i)
			return nil
		}
	}
	return fmt.Errorf("scope %q is not one of %v", b, scopeNames)
}

// Grant is a person's yes: to exactly one call (Once, Session), or to what a
// pattern covers (Always).
type Grant struct {
	ID     string // names it where it is kept; may be empty
	Digest string // of the call that was shown; not for Always
	// Session is the session in which it was asked. A Once grant without one
	// answers in any session; a Session grant without one answers nowhere.
	Session string
	Scope   Scope
	Pattern *Pattern  // for Always only
	Expires time.Time // zero: with the session. An Always grant must expire
}

// Ledger holds what people approved, and answers by it. Grants keeps it in
// memory, internal/store in a database that processes share.
type Ledger interface {
	// Cover returns the grant that answers for this call, on which d says llm or
	// ask, and uses up a once grant: two calls never both spend it. ok is false
	// where there is none. An error covers nothing.
	Cover(ctx context.Context, c *EvalContext, d *Decision) (g Grant, ok bool, err error)
	// Add records a grant. A session grant is not narrowed by a later once grant.
	Add(g Grant) error
	// EndSession forgets every grant of a session.
	EndSession(session string) error
}

// Grants holds once and session grants in memory. It is safe for concurrent
// use; a nil *Grants covers nothing.
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

// Add records a grant; see Ledger. A pattern outlives the process, so memory is
// no place for it: that is an error.
func (g *Grants) Add(grant Grant) error {
	if grant.Scope > Session || grant.Pattern != nil {
		return fmt.Errorf("a grant %q cannot be kept in memory", grant.Scope)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	k := grantKey{grant.Session, grant.Digest}
	if old, ok := g.held[k]; ok && old.Scope == Session && !g.expired(old) {
		return nil
	}
	g.held[k] = grant
	return nil
}

// EndSession forgets every grant of a session.
func (g *Grants) EndSession(session string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for k := range g.held {
		if k.session == session {
			delete(g.held, k)
		}
	}
	return nil
}

// Cover answers for a call by a grant of its session; see Ledger.
func (g *Grants) Cover(_ context.Context, c *EvalContext, d *Decision) (Grant, bool, error) {
	if g == nil {
		return Grant{}, false, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	k := grantKey{c.Session, d.Digest}
	grant, ok := g.held[k]
	if !ok {
		return Grant{}, false, nil
	}
	if grant.Scope == Once || g.expired(grant) {
		delete(g.held, k)
	}
	return grant, !g.expired(grant), nil
}

func (g *Grants) expired(grant Grant) bool {
	return !grant.Expires.IsZero() && g.now().After(grant.Expires)
}
