package mcpserver

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// backlog is how many notifications wait to be written; what comes then is lost.
const backlog = 1000

// session is the client at the other end. A request sees it through its view.
type session struct {
	id            string
	notifications chan mcp.JSONRPCNotification
	initialized   atomic.Bool

	mu      sync.Mutex
	info    mcp.Implementation
	can     mcp.ClientCapabilities
	waiting map[string]chan reply // requests of ours that have no answer yet, by id
}

// reply is the answer to a request of ours.
type reply struct {
	result json.RawMessage
	fault  *rpcError
}

// rpcError is a JSON-RPC error, as sent or received.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string {
	if len(e.Message) > 200 {
		return fmt.Sprintf("%s... (%d)", e.Message[:200], e.Code)
	}
	return fmt.Sprintf("%s (%d)", e.Message, e.Code)
}

var (
	_ server.SessionWithClientInfo  = (*view)(nil)
	_ server.SessionWithElicitation = (*view)(nil)
	_ server.SessionWithRoots       = (*view)(nil)
)

func newSession() *session {
	return &session{id: rand.Text(), notifications: make(chan mcp.JSONRPCNotification, backlog), waiting: map[string]chan reply{}}
}

func (s *session) SessionID() string                                   { return s.id }
func (s *session) Initialize()                                         { s.initialized.Store(true) }
func (s *session) Initialized() bool                                   { return s.initialized.Load() }
func (s *session) NotificationChannel() chan<- mcp.JSONRPCNotification { return s.notifications }

func (s *session) GetClientInfo() mcp.Implementation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.info
}

func (s *session) SetClientInfo(i mcp.Implementation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.info = i
}

func (s *session) GetClientCapabilities() mcp.ClientCapabilities {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.can
}

func (s *session) SetClientCapabilities(c mcp.ClientCapabilities) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.can = c
}

// request sends a request to the client and waits for the answer. When ctx ends
// first, the client is told, so that it closes what it shows.
func (s *session) request(ctx context.Context, send func(any) error, method mcp.MCPMethod, params, out any) error {
	id := "handrail-" + rand.Text() // nobody can answer what they were not asked
	answer := make(chan reply, 1)
	s.mu.Lock()
	s.waiting[id] = answer
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.waiting, id)
		s.mu.Unlock()
	}()
	err := send(struct {
		Version string        `json:"jsonrpc"`
		ID      string        `json:"id"`
		Method  mcp.MCPMethod `json:"method"`
		Params  any           `json:"params,omitempty"`
	}{mcp.JSONRPC_VERSION, id, method, params})
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		_ = send(map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "method": mcp.MethodNotificationCancelled,
			"params": map[string]any{"requestId": id, "reason": context.Cause(ctx).Error()}})
		return ctx.Err()
	case r := <-answer:
		if r.fault != nil {
			return r.fault
		}
		if err := json.Unmarshal(r.result, out); err != nil {
			return fmt.Errorf("the answer to %s: %w", method, err)
		}
		return nil
	}
}

// answered takes the client's answer to the request with this id. An answer to
// nothing, or a second one, is dropped.
func (s *session) answered(id string, r reply) {
	s.mu.Lock()
	answer := s.waiting[id]
	delete(s.waiting, id)
	s.mu.Unlock()
	if answer != nil {
		answer <- r
	}
}
