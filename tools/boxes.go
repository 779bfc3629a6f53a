package tools

import (
	"errors"
	"strings"
	"sync"

	"handrail/tools/sandbox"
)

// boxes are the sandboxes of the sessions, one for each workspace that a session
// has. The zero value is empty; it is safe for concurrent use.
type boxes struct {
	mu   sync.Mutex
	held map[boxKey]*box
}

type boxKey struct{ session, roots string }

// box is a sandbox that is opened once. A failure is not kept: the next command
// tries again.
type box struct {
	mu sync.Mutex
	sandbox.Sandbox
	closed bool
}

// get returns the sandbox of a session with these roots, opened at its first
// command.
func (b *boxes) get(session string, roots []string, open func() (sandbox.Sandbox, error)) (sandbox.Sandbox, error) {
	k := boxKey{session, strings.Join(roots, "\x00")}
	b.mu.Lock()
	if b.held == nil {
		b.held = map[boxKey]*box{}
	}
	held := b.held[k]
	if held == nil {
		held = &box{}
		b.held[k] = held
	}
	b.mu.Unlock()
	held.mu.Lock()
	defer held.mu.Unlock()
	if held.closed {
		return nil, errors.New("the session has ended")
	}
	if held.Sandbox == nil {
		sb, err := open()
		if err != nil {
			return nil, err
		}
		held.Sandbox = sb
	}
	return held.Sandbox, nil
}

// end closes the sandboxes of the sessions that match, with everything that
// runs in them.
func (b *boxes) end(match func(session string) bool) error {
	b.mu.Lock()
	var ended []*box
	for k, held := range b.held {
		if match(k.session) {
			ended = append(ended, held)
			delete(b.held, k)
		}
	}
	b.mu.Unlock()
	var errs []error
	for _, held := range ended {
		held.mu.Lock()
		held.closed = true
		if held.Sandbox != nil {
			errs = append(errs, held.Close())
		}
		held.mu.Unlock()
	}
	return errors.Join(errs...)
}
