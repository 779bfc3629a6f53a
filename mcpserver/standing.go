package mcpserver

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"handrail/mcpserver/auth"
)

// A request that is let in may run for long, and a stream for days. So what is
// open is kept by the credential that opened it, and ends with that: requests and
// streams, the jobs that it started, and the sessions that only it was used in. A
// credential that clients renew while they work (auth.Caller.Renewed) ends by its
// time only what waits for something to say: a tool's call that runs goes on.

var errWithdrawn = errors.New("the credential holds no more")

// standing is what is open at a Host, by credential. The zero value has nothing.
type standing struct {
	mu       sync.Mutex
	known    map[string]*credential
	watching bool
	answered time.Time // when it was last known what was taken back
}

// credential is one on behalf of which something is open, or was lately.
type credential struct {
	auth.Caller
	open map[*hold]bool
}

// hold is one request, or what it started that outlives it.
type hold struct {
	of     *standing // nil: its credential cannot end
	caller auth.Caller
	came   time.Time // to the gate
	end    context.CancelCauseFunc
	ended  atomic.Bool
	// outlasts, where set, reports whether it goes on though its credential, which
	// clients renew, has come to its time.
	outlasts atomic.Pointer[func() bool]
}

type holdKey struct{}

// heldBy is the hold of a context; nil where nothing can be taken back.
func heldBy(ctx context.Context) *hold {
	k, _ := ctx.Value(holdKey{}).(*hold)
	return k
}

// with is ctx on behalf of the caller of the request whose context by is.
func with(ctx, by context.Context) context.Context {
	if k := heldBy(by); k != nil {
		return context.WithValue(ctx, holdKey{}, k)
	}
	return ctx
}

// credentialOf names the credential on behalf of which a context is.
func credentialOf(ctx context.Context) string {
	if k := heldBy(ctx); k != nil {
		return k.caller.Credential
	}
	return ""
}

// keep sets outlasts. A nil hold takes it for nothing.
func (k *hold) keep(outlasts func() bool) {
	if k != nil {
		k.outlasts.Store(&outlasts)
	}
}

// also holds what a request started that outlives it, until release.
func also(ctx, by context.Context) (held context.Context, release func()) {
	k := heldBy(by)
	if k == nil || k.of == nil {
		return with(ctx, by), func() {}
	}
	return k.of.hold(ctx, k.caller, k.came)
}

// hold notes that something is open on behalf of a caller, until release: its
// context ends when the credential does.
func (s *standing) hold(ctx context.Context, c auth.Caller, came time.Time) (held context.Context, release func()) {
	k := &hold{of: s, caller: c, came: came}
	ctx, k.end = context.WithCancelCause(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[string]*credential{}
	}
	if s.known[c.Credential] == nil {
		s.known[c.Credential] = &credential{Caller: c, open: map[*hold]bool{}}
	}
	s.known[c.Credential].open[k] = true
	return context.WithValue(ctx, holdKey{}, k), func() {
		k.end(nil)
		s.mu.Lock()
		defer s.mu.Unlock()
		if c := s.known[k.caller.Credential]; c != nil {
			delete(c.open, k)
		}
	}
}

// callers are those of all credentials; quiet are those that have nothing open.
func (s *standing) callers() (all []auth.Caller, quiet map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	quiet = map[string]bool{}
	for name, c := range s.known {
		all = append(all, c.Caller)
		quiet[name] = len(c.open) == 0
	}
	slices.SortFunc(all, func(a, b auth.Caller) int { return a.Ends.Compare(b.Ends) })
	return all, quiet
}

// end ends all that is open on behalf of a credential, and says how much it was.
func (s *standing) end(name string) int {
	open := s.holds(name)
	for _, k := range open {
		k.ended.Store(true)
		k.end(errWithdrawn)
	}
	return len(open)
}

// lapse ends what does not outlast the time of a credential that is renewed.
func (s *standing) lapse(name string) {
	for _, k := range s.holds(name) {
		if stays := k.outlasts.Load(); stays == nil || !(*stays)() {
			k.ended.Store(true)
			k.end(errWithdrawn)
		}
	}
}

// lapsed notes that a credential, which is renewed, has come to its time.
func (s *standing) lapsed(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.known[name]; c != nil {
		c.Ends, c.Renewed = time.Now(), true
	}
}

func (s *standing) holds(name string) (open []*hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.known[name]; c != nil {
		for k := range c.open {
			open = append(open, k)
		}
	}
	return open
}

// forget drops the credentials that match and have nothing open. It reports
// whether any is left; where none is, nobody watches any more.
func (s *standing) forget(match func(name string) bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, c := range s.known {
		if len(c.open) == 0 && match(name) {
			delete(s.known, name)
		}
	}
	s.watching = len(s.known) > 0
	return s.watching
}

// users are the credentials that a session was used with and that hold.
type users struct {
	mu    sync.Mutex
	names map[string]bool
}

func (u *users) add(name string) {
	if name != "" {
		u.first(name)
	}
}

// first adds one and reports whether it was not there.
func (u *users) first(name string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.names[name] {
		return false
	}
	if u.names == nil {
		u.names = map[string]bool{}
	}
	u.names[name] = true
	return true
}

func (u *users) has(name string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.names[name]
}

// drop takes one out and reports whether it was the last.
func (u *users) drop(name string) (last bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	had := u.names[name]
	delete(u.names, name)
	return had && len(u.names) == 0
}

func (u *users) list() (names []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for name := range u.names {
		names = append(names, name)
	}
	return names
}
