package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"handrail/tools/place"
)

// callMark names the variable that holds the call's ID: by it, processes that
// left the call's session are found again.
const callMark = "HANDRAIL_CALL"

// Times of ending a command.
const (
	grace   = 2 * time.Second        // from SIGTERM to SIGKILL
	dying   = 5 * time.Second        // from SIGKILL to the end, at most
	drain   = 100 * time.Millisecond // of silence on the pipes after the end
	drainUp = time.Second            // at most, while something still writes
)

// script is one run of bash.
type script struct {
	text     string
	dir      string // absolute, resolved
	env      map[string]string
	id       string // value of callMark in env
	timeout  time.Duration
	wrap     func(*exec.Cmd) error // may change the command before it starts; may be nil
	progress func(string)          // may be nil
}

// ending is how a run ended.
type ending struct {
	out, err  capture
	code      int
	timedOut  bool
	cancelled bool
	ended     int // processes that outlived bash and were ended
	took      time.Duration
}

// run runs the script and returns when bash has ended and all it started is
// gone, as far as it can be found. It never waits for the end of a pipe that
// something silent holds open. The error says that nothing ran.
func (s *script) run(ctx context.Context) (*ending, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	cmd := exec.Command("bash", "--noprofile", "--norc", "-c", "--", s.text) // "--": the text may begin with a dash
	var err error
	if cmd.Path, err = lookBash(); err != nil {
		return nil, err
	}
	cmd.Err = nil
	cmd.Env = []string{"PWD=" + s.dir}
	for name, value := range s.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	dir, err := place.OpenDir(s.dir, false)
	if err != nil {
		return nil, fmt.Errorf("open the working directory: %w", err)
	}
	defer dir.Close()
	cmd.Dir = place.HandlePath(dir, s.dir)
	if s.wrap != nil {
		if err := s.wrap(cmd); err != nil {
			return nil, fmt.Errorf("confine the command: %w", err)
		}
	}
	e := &ending{}
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer outR.Close()
	errR, errW, err := os.Pipe()
	if err != nil {
		outW.Close()
		return nil, err
	}
	defer errR.Close()
	cmd.Stdout, cmd.Stderr = outW, errW // Stdin nil is /dev/null
	began := time.Now()
	err = cmd.Start()
	outW.Close()
	errW.Close()
	if err != nil {
		return nil, fmt.Errorf("start bash: %w", err)
	}
	s.attend(ctx, cmd, e, newPipes(map[*os.File]*capture{outR: &e.out, errR: &e.err}))
	e.took = time.Since(began)
	return e, nil
}

// attend waits for a started command and ends it and what it started.
func (s *script) attend(ctx context.Context, cmd *exec.Cmd, e *ending, p *pipes) {
	family := family{leader: cmd.Process.Pid, mark: callMark + "=" + s.id}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		awaitExit(cmd.Process.Pid) // leaves it unreaped: its number is not used again yet
	}()
	stop := s.report(e)
	timeout := time.NewTimer(s.timeout)
	defer timeout.Stop()
	select {
	case <-exited:
		p.settle()
		e.ended = family.end(grace)
	case <-timeout.C:
		e.timedOut = true
		family.end(grace)
	case <-ctx.Done():
		e.cancelled = true
		family.end(grace)
	}
	<-exited
	p.settle() // whoever held the pipes is gone: this reads what is left
	p.close()
	stop()
	var exit *exec.ExitError
	if err := cmd.Wait(); errors.As(err, &exit) {
		e.code = exit.ExitCode()
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			e.code = 128 + int(ws.Signal())
		}
	} else if err != nil {
		e.code = 126
	}
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

// pipes are the streams of a command while they are read.
type pipes struct {
	files []*os.File
	done  chan struct{} // closed when all have ended
	moved chan struct{} // gets a value when something came
}

func newPipes(streams map[*os.File]*capture) *pipes {
	p := &pipes{done: make(chan struct{}), moved: make(chan struct{}, 1)}
	var wg sync.WaitGroup
	for f, c := range streams {
		p.files = append(p.files, f)
		wg.Go(func() { p.copy(f, c) })
	}
	go func() { wg.Wait(); close(p.done) }()
	return p
}

func (p *pipes) copy(f *os.File, c *capture) {
	buf := make([]byte, 32<<10)
	for {
		n, err := f.Read(buf)
		if n > 0 {
			_, _ = c.Write(buf[:n])
			select {
			case p.moved <- struct{}{}:
			default:
			}
		}
		if err != nil {
			return
		}
	}
}

// settle waits until the pipes have ended, or were silent for a moment, or
// something kept writing for too long.
func (p *pipes) settle() {
	quiet := time.NewTimer(drain)
	defer quiet.Stop()
	latest := time.NewTimer(drainUp)
	defer latest.Stop()
	for {
		select {
		case <-p.done:
			return
		case <-quiet.C:
			return
		case <-latest.C:
			return
		case <-p.moved:
			quiet.Reset(drain)
		}
	}
}

// close ends the reading, also of a pipe that somebody still holds.
func (p *pipes) close() {
	for _, f := range p.files {
		f.Close()
	}
	<-p.done
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
