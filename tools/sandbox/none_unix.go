//go:build linux || darwin

package sandbox

import (
	"context"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// none runs commands with the user's own rights.
type none struct {
	mu      sync.Mutex
	running map[*plain]bool
}

func openNone(Settings) (Sandbox, error) {
	return &none{running: map[*plain]bool{}}, nil
}

// Enforcement holds nothing.
func (n *none) Enforcement() Enforcement {
	return Enforcement{Tier: None, Notes: []string{"commands run with the rights of the user: nothing is held back"}}
}

// Start looks at nothing in the policy: there is nothing that could hold it.
func (n *none) Start(ctx context.Context, _ *Policy, c *Command) (Process, error) {
	cmd := exec.Cmd{Path: c.Path, Args: c.Args, Dir: c.Dir, Env: c.Env, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	if c.Stdin != nil {
		cmd.Stdin = c.Stdin
	}
	if c.Stdout != nil {
		cmd.Stdout = c.Stdout
	}
	if c.Stderr != nil {
		cmd.Stderr = c.Stderr
	}
	p, err := startPlain(ctx, &cmd, c.ID)
	if err != nil {
		return nil, err
	}
	p.ended = func() { n.mu.Lock(); delete(n.running, p); n.mu.Unlock() }
	n.mu.Lock()
	n.running[p] = true
	n.mu.Unlock()
	return p, nil
}

// Close ends what still runs.
func (n *none) Close() error {
	n.mu.Lock()
	running := n.running
	n.running = map[*plain]bool{}
	n.mu.Unlock()
	for p := range running {
		p.End(0)
	}
	return nil
}

// plain is a command that is held by its session, its descent and its mark
// alone: what hides from all three outlives it.
type plain struct {
	cmd    *exec.Cmd
	family family
	exited chan struct{}
	status Status
	once   sync.Once
	found  int
	ended  func() // may be nil
}

// startPlain starts cmd, which leads a session of its own. An error says that
// nothing ran.
func startPlain(ctx context.Context, cmd *exec.Cmd, id string) (*plain, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	mark := Mark + "=" + id
	cmd.Env = append(cmd.Env, mark)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	p := &plain{cmd: cmd, family: family{leader: cmd.Process.Pid, mark: mark}, exited: make(chan struct{})}
	go func() {
		p.status = awaitExit(cmd.Process.Pid)
		close(p.exited)
	}()
	return p, nil
}

func (p *plain) Wait() Status {
	<-p.exited
	return p.status
}

func (p *plain) End(grace time.Duration) int {
	p.once.Do(func() {
		p.found = p.family.end(grace)
		<-p.exited
		_ = p.cmd.Wait() // reaps; how it ended is known
		if p.ended != nil {
			p.ended()
		}
	})
	return p.found
}
