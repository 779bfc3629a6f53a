package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"handrail/tools/place"
	"handrail/tools/sandbox"
)

// Times of ending a command.
const (
	grace   = 2 * time.Second        // from SIGTERM to SIGKILL
	drain   = 100 * time.Millisecond // of silence on the pipes after the end
	drainUp = time.Second            // at most, while something still writes
)

// script is one run of bash.
type script struct {
	text     string
	dir      string // absolute, resolved
	env      map[string]string
	id       string // of the call
	timeout  time.Duration
	box      sandbox.Sandbox
	policy   *sandbox.Policy
	progress func(string) // may be nil
}

// ending is how a run ended.
type ending struct {
	sandbox.Status
	out, err  capture
	timedOut  bool
	cancelled error // why, where it was
	flooded   bool  // it wrote more than spoolMax and was ended
	ended     int   // processes that outlived bash and were ended
	took      time.Duration
}

// run is a script that was started.
type run struct {
	*ending
	process sandbox.Process
	pipes   *pipes
	began   time.Time
	full    chan struct{} // closed when it wrote more than may be
}

// run runs the script in its sandbox and returns when bash has ended and all it
// started is gone. It never waits for the end of a pipe that something silent
// holds open. The error says that nothing ran.
func (s *script) run(ctx context.Context) (*ending, error) {
	r, err := s.start(ctx)
	if err != nil {
		return nil, err
	}
	s.attend(ctx, r)
	return r.ending, nil
}

// start starts the script. The error says that nothing ran; else attend must
// follow.
func (s *script) start(ctx context.Context) (*run, error) {
	if ctx.Err() != nil {
		return nil, why(ctx)
	}
	bash, err := lookBash()
	if err != nil {
		return nil, err
	}
	dir, err := place.OpenDir(s.dir, false)
	if err != nil {
		return nil, fmt.Errorf("open the working directory: %w", err)
	}
	defer dir.Close()
	cmd := &sandbox.Command{Path: bash, Args: []string{"bash", "--noprofile", "--norc", "-c", "--", s.text}, // "--": the text may begin with a dash
		Dir: s.dir, Env: []string{"PWD=" + s.dir}, ID: s.id}
	if s.box.Enforcement().Tier == sandbox.None { // elsewhere the directory is one of the sandbox's own mounts
		cmd.Dir = place.HandlePath(dir, s.dir)
	}
	cmd.Env = make([]string, 0, len(s.env))
	for name, value := range s.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	slices.Sort(cmd.Env) // what env prints is ordered by it, among names that bash hashes alike
	r := &run{ending: &ending{}, full: make(chan struct{})}
	full := sync.OnceFunc(func() { close(r.full) })
	r.out.flooded, r.err.flooded = full, full
	if r.pipes, cmd.Stdout, cmd.Stderr, err = openPipes(&r.out, &r.err); err != nil {
		return nil, err
	}
	r.began = time.Now()
	r.process, err = s.box.Start(ctx, s.policy, cmd)
	cmd.Stdout.Close()
	cmd.Stderr.Close()
	if err != nil {
		r.pipes.close()
		return nil, fmt.Errorf("start bash: %w", err)
	}
	return r, nil
}

// attend waits for a started command and ends it and what it started.
func (s *script) attend(ctx context.Context, r *run) {
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		r.process.Wait()
	}()
	stop := s.report(r.ending)
	timeout := time.NewTimer(s.timeout)
	defer timeout.Stop()
	select {
	case <-exited:
		r.pipes.settle()
		r.ended = r.process.End(grace)
	case <-timeout.C:
		r.timedOut = true
		r.process.End(grace)
	case <-r.full:
		r.flooded = true
		r.process.End(grace)
	case <-ctx.Done():
		r.cancelled = why(ctx)
		r.process.End(grace)
	}
	<-exited
	r.pipes.settle() // whoever held the pipes is gone: this reads what is left
	r.pipes.close()
	stop()
	r.Status = r.process.Wait()
	r.took = time.Since(r.began)
}

// why says why a call is to end: whoever ends its context may give a cause.
func why(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil && err != context.Canceled {
		return fmt.Errorf("cancelled: %w", err)
	}
	return errors.New("cancelled")
}

// report tells progress at most twice a second, and every 5 s when there is
// nothing new. It never holds up the run, and is silent after stop.
func (s *script) report(e *ending) (stop func()) {
	if s.progress == nil {
		return func() {}
	}
	done := make(chan struct{})
	began := time.Now()
	go func() {
		defer func() { _ = recover() }() // a broken listener must not end the server
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		var told int64
		toldAt := began
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			n, last := e.out.Progress()
			m, lastErr := e.err.Progress()
			if last == "" {
				last = lastErr
			}
			if n+m == told && time.Since(toldAt) < 5*time.Second {
				continue
			}
			told, toldAt = n+m, time.Now()
			select {
			case <-done:
				return
			default:
				s.progress(fmt.Sprintf("%d s, %d bytes: %s", int(time.Since(began).Seconds()), told, last))
			}
		}
	}()
	return sync.OnceFunc(func() { close(done) })
}

// lookBash finds bash in the system's directories, not in a PATH.
func lookBash() (string, error) {
	for _, path := range []string{"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/opt/homebrew/bin/bash", "/run/current-system/sw/bin/bash"} {
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
			return path, nil
		}
	}
	return "", errors.New("bash was not found in /bin, /usr/bin or /usr/local/bin: install it")
}
