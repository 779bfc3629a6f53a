package mcpserver

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/server"
)

// Streamable HTTP is the library's, in both eras. Its sessions are ours: random,
// bounded, ended with all that hangs on them when the client says so or has been
// silent for long. The era of 2026-07-28 has none: there a principal and its
// workspace are one, and so is this Server (see Host).
const (
	idle        = 30 * time.Minute // without a request, after which a session ends
	maxSessions = 1000             // of one Server at once
	stateless   = "http"           // the session of the era without sessions
)

// streamable makes the handler of /mcp.
func (s *Server) streamable() http.Handler {
	s.visits = &visits{end: s.endSession, seen: map[string]time.Time{}}
	library := server.NewStreamableHTTPServer(s.mcp,
		server.WithSessionIdManager(s.visits),
		server.WithSessionIdleTTL(idle),
		server.WithEventStore(server.NewInMemoryEventStore()), // without it the last notifications before a result get lost
		server.WithHeartbeatInterval(15*time.Second),
		server.WithDisableLocalhostProtection(true), // the gate of Host looks at hosts and origins
		server.WithStreamableHTTPLogger(s.log),
		server.WithHTTPContextFunc(func(ctx context.Context, _ *http.Request) context.Context { return overTransport(ctx, "http") }),
	)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The library opens a stream for whatever session is named.
		if id := r.Header.Get(server.HeaderKeySessionID); id != "" || r.Method == http.MethodGet {
			if _, err := s.visits.Validate(id); err != nil {
				http.Error(w, err.Error(), http.StatusNotFound)
				return
			}
		}
		library.ServeHTTP(w, r)
	})
}

// visits are the sessions of streamable HTTP. It is a server.SessionIdManager.
type visits struct {
	end func(session string)

	mu    sync.Mutex
	seen  map[string]time.Time
	modes time.Time // the last request of the era without sessions; zero: none
}

var errNoSession = errors.New("there is no such session")

// Generate opens a session. Its name is all that it takes to use it, together
// with the principal's credential.
func (v *visits) Generate() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.seen) >= maxSessions {
		return "" // Validate refuses it
	}
	id := rand.Text()
	v.seen[id] = time.Now()
	return id
}

// Validate reports by an error that there is no such session.
func (v *visits) Validate(id string) (terminated bool, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, ok := v.seen[id]; !ok {
		return false, errNoSession
	}
	v.seen[id] = time.Now()
	return false, nil
}

// Terminate ends a session.
func (v *visits) Terminate(id string) (notAllowed bool, err error) {
	v.mu.Lock()
	_, ok := v.seen[id]
	delete(v.seen, id)
	v.mu.Unlock()
	if ok {
		v.end(id)
	}
	return false, nil
}

// touch notes a request of the era without sessions, and sees to it that what
// hangs on it ends when none comes any more.
func (v *visits) touch(now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.modes.IsZero() {
		time.AfterFunc(idle, v.sweep)
	}
	v.modes = now
}

func (v *visits) sweep() {
	v.mu.Lock()
	left := time.Until(v.modes.Add(idle))
	if left > 0 {
		time.AfterFunc(left, v.sweep)
		v.mu.Unlock()
		return
	}
	v.modes = time.Time{}
	v.mu.Unlock()
	v.end(stateless)
}

// count is how many sessions there are.
func (v *visits) count() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.seen)
}

// close ends every session.
func (v *visits) close() {
	v.mu.Lock()
	ids := []string{stateless}
	for id := range v.seen {
		ids = append(ids, id)
	}
	clear(v.seen)
	v.mu.Unlock()
	for _, id := range ids {
		v.end(id)
	}
}
