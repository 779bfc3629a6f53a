package sandbox

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// wrapper is a bubblewrap that runs.
type wrapper struct {
	process *os.Process
	said    *tail
	gone    chan struct{} // closed when it and all of our parts in it are gone
}

// booting is what bubblewrap is started with.
type booting struct {
	args  []string // without its name
	net   bool     // in the network of the session
	spare *spare   // what becomes it; may be nil
}

// boot starts bubblewrap with our own part in it: descriptor 3 is its socket, 4
// its program. That the pipe of its stderr ends says that all are gone: commands
// do not have it.
func (b *bubble) boot(s booting, socket *os.File, part ...string) (*wrapper, error) {
	args := append(append([]string{"bwrap"}, s.args...), "--", "/proc/self/fd/4", inside)
	args = append(args, part...)
	r, errs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer errs.Close()
	w := &wrapper{said: &tail{}, gone: make(chan struct{})}
	if s.spare != nil {
		if err = s.spare.become(cue{Start: args, Bare: b.bare}, socket, errs); err == nil {
			w.process, err = os.FindProcess(s.spare.pid)
		}
	} else if b.stage != nil {
		var answer reply
		if answer, err = b.stage.ask(cue{Start: args, Bare: b.bare, Net: s.net}, socket, errs); err == nil {
			w.process, err = os.FindProcess(answer.PID) // holds a pidfd
		}
	} else {
		path, argv, sys := builder(b.bare, args)
		cmd := &exec.Cmd{Path: path, Args: argv, Dir: "/", Env: []string{}, Stderr: errs, ExtraFiles: []*os.File{socket, b.self}, SysProcAttr: sys}
		if err = cmd.Start(); err == nil {
			w.process = cmd.Process
			go func() { _ = cmd.Wait() }()
		}
	}
	if err != nil {
		r.Close()
		return nil, fmt.Errorf("start the sandbox: %w", err)
	}
	go func() {
		defer close(w.gone)
		if b.stage != nil { // it is the stage's to wait for
			defer w.process.Release()
		}
		defer r.Close()
		_, _ = io.Copy(w.said, r)
	}()
	return w, nil
}

// end waits until it is gone, by force after a while.
func (w *wrapper) end() {
	select {
	case <-w.gone:
	case <-time.After(time.Second):
		_ = w.process.Kill()
		<-w.gone
	}
}

// blame adds what bubblewrap said to err.
func (w *wrapper) blame(err error) error {
	select { // what it said is whole when it is gone
	case <-w.gone:
	case <-time.After(time.Second):
	}
	if said := strings.TrimSpace(w.said.String()); said != "" {
		return fmt.Errorf("%w: %s", err, said)
	}
	return err
}

// tail keeps the end of what was written to it.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if over := len(t.b) - 1024; over > 0 {
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.b)
}
