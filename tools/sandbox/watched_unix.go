//go:build linux || darwin

package sandbox

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// watched is a sandbox whose runs are compared before and after: what a command
// did to protected paths that its tier cannot hold is taken back.
type watched struct {
	Sandbox
	watcher *watcher
}

func watching(sb Sandbox, s Settings) Sandbox {
	w := newWatcher(s.State)
	tier := sb.Enforcement().Tier
	w.mounts = tier == Bwrap || tier == Namespaces
	return &watched{sb, w}
}

func (w *watched) Start(ctx context.Context, p *Policy, c *Command) (Process, error) {
	watch, err := w.watcher.begin(p)
	if err != nil {
		return nil, fmt.Errorf("look at the protected paths: %w", err)
	}
	found := *p
	found.ground = watch.ground
	inner, err := w.Sandbox.Start(ctx, &found, c)
	if err != nil {
		_, _ = watch.end() // nothing ran
		return nil, err
	}
	return &watchedProcess{Process: inner, watch: watch}, nil
}

// watchedProcess is a command of it.
type watchedProcess struct {
	Process
	watch    *watch
	once     sync.Once
	mu       sync.Mutex
	restored []string
	found    int
}

// End compares when nothing is left.
func (p *watchedProcess) End(grace time.Duration) int {
	p.once.Do(func() {
		p.found = p.Process.End(grace)
		restored, err := p.watch.end()
		if err != nil {
			restored = append(restored, err.Error())
		}
		p.mu.Lock()
		p.restored = restored
		p.mu.Unlock()
	})
	return p.found
}

// Wait tells of Restored once End has returned.
func (p *watchedProcess) Wait() Status {
	s := p.Process.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	s.Restored = p.restored
	return s
}
