package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// contained is a command in a container.
type contained struct {
	b    *containers
	box  *container
	exec string

	conn     *net.UnixConn
	files    []*os.File   // our copies of the command's streams
	listener net.Listener // of the proxy; may be nil
	bounds   *bounds      // of the disk; the engine holds the others
	exited   chan struct{}
	piped    chan struct{} // closed when all output was copied
	status   Status
	hit      bool // the container counts a limit that was hit, for ever
	once     sync.Once
	found    int
}

// start starts c in the container. After an error the container is of no use.
func (h *contained) start(ctx context.Context, p *Policy, c *Command) error {
	env := c.Env
	if p.Network == Domains {
		if err := h.proxy(ctx, p); err != nil {
			return err
		}
		env = proxied(env, proxyAddress, p.ProxyToken)
	}
	streams, err := h.own(c)
	if err != nil {
		return err
	}
	args := append([]string{c.Path}, c.Args[min(1, len(c.Args)):]...)
	var made struct{ ID string }
	err = h.b.engine.call(ctx, "POST", "/containers/"+h.box.id+"/exec", map[string]any{
		"Cmd": args, "Env": env, "WorkingDir": c.Dir, "User": h.b.user, "AttachStdin": c.Stdin != nil, "AttachStdout": true, "AttachStderr": true, "Tty": false,
	}, &made)
	if err != nil {
		return fmt.Errorf("run %s in the container: %w", c.Path, err)
	}
	h.exec = made.ID
	conn, in, err := h.b.engine.stream(ctx, h.exec)
	if err != nil {
		return fmt.Errorf("run %s in the container: %w", c.Path, err)
	}
	h.conn = conn
	go h.pump(streams, in)
	go h.wait()
	h.bounds.watch(func() []int { return nil }, func() { h.End(0) })
	return nil
}

// own copies the command's descriptors, as a child would have them: in, out, err.
func (h *contained) own(c *Command) (streams [3]*os.File, err error) {
	for i, f := range []*os.File{c.Stdin, c.Stdout, c.Stderr} {
		if f == nil {
			continue
		}
		fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
		if err != nil {
			return streams, fmt.Errorf("streams of the command: %w", err)
		}
		streams[i] = os.NewFile(uintptr(fd), f.Name())
		h.files = append(h.files, streams[i])
	}
	return streams, nil
}

// pump copies the streams until the command's output ends.
func (h *contained) pump(streams [3]*os.File, in io.Reader) {
	defer close(h.piped)
	if stdin := streams[0]; stdin != nil {
		go func() {
			_, _ = io.Copy(h.conn, stdin)
			_ = h.conn.CloseWrite()
		}()
	}
	var out [2]io.Writer
	for i, f := range streams[1:] {
		if out[i] = io.Discard; f != nil {
			out[i] = f
		}
	}
	_ = demultiplex(in, out[0], out[1])
}

// wait asks how the command ended: at once when its output has, else at times,
// since what it left behind may hold that open.
func (h *contained) wait() {
	defer close(h.exited)
	h.status = Status{Code: 128 + 9, Signal: 9} // where the container was killed, nobody knows better
	piped, pause := h.piped, 10*time.Millisecond
	for {
		select {
		case <-piped:
			piped, pause = nil, time.Millisecond
		case <-time.After(pause):
			pause = min(2*pause, 200*time.Millisecond)
		}
		var seen struct {
			Running  bool
			ExitCode int
		}
		if err := h.b.engine.call(context.Background(), "GET", "/exec/"+h.exec+"/json", nil, &seen); err != nil {
			break
		}
		if !seen.Running {
			h.status = Status{Code: seen.ExitCode}
			if seen.ExitCode > 128 && seen.ExitCode <= 128+64 { // what is told of a signal is its shell code
				h.status.Signal = seen.ExitCode - 128
			}
			break
		}
	}
	h.status.Exceeded = h.bounds.exceeded(h.status)
	if g := h.b.engine.group(h.box.id); g != nil {
		h.hit = g.starved() || g.crowded()
		switch {
		case h.status.Exceeded != "":
		case g.starved():
			h.status.Exceeded = "memory"
		case g.crowded() && h.status.Code != 0:
			h.status.Exceeded = "processes"
		}
	}
}

func (h *contained) Wait() Status {
	<-h.exited
	return h.status
}

// End looks from outside whether something of the command is left, asks it to
// end, and kills the container where it does not: with its first process all
// others of its PID namespace go.
func (h *contained) End(grace time.Duration) int {
	h.once.Do(func() {
		left, err := h.left()
		h.found = left
		select {
		case <-h.exited:
		default:
			h.found = max(0, left-1) // the command itself is one of them
		}
		if err == nil && left > 0 && grace > 0 {
			err = h.ask(grace)
			left, _ = h.left()
		}
		if err == nil && left == 0 {
			<-h.exited
		}
		h.end(err != nil || left > 0 || h.hit)
	})
	return h.found
}

func (h *contained) left() (int, error) {
	return h.b.engine.left(context.Background(), h.box.id)
}

// ask sends SIGTERM to all that the command's user has in the container, and
// waits until they are gone, or for grace.
func (h *contained) ask(grace time.Duration) error {
	var made struct{ ID string }
	err := h.b.engine.call(context.Background(), "POST", "/containers/"+h.box.id+"/exec",
		map[string]any{"Cmd": []string{"/bin/bash", "-c", "kill -TERM -1"}, "User": h.b.user, "AttachStdout": true}, &made)
	if err != nil {
		return err
	}
	until := time.Now().Add(grace)
	ctx, cancel := context.WithDeadline(context.Background(), until)
	defer cancel()
	conn, _, err := h.b.engine.stream(ctx, made.ID)
	if err != nil {
		return err
	}
	defer conn.Close()
	for pause := 5 * time.Millisecond; time.Now().Before(until); pause = min(2*pause, 100*time.Millisecond) {
		if left, err := h.left(); err != nil || left == 0 {
			return err
		}
		time.Sleep(min(pause, time.Until(until)))
	}
	return errors.New("it did not end")
}

// end gives the container back, or kills it, and closes what belongs to the
// command.
func (h *contained) end(kill bool) {
	if kill || h.listener != nil { // a listener of ours stands in its network until it is gone
		_ = h.b.remove(h.box)
	}
	_ = h.bounds.release()
	if h.conn != nil {
		select { // all output is there when nothing is left that writes
		case <-h.piped:
		case <-time.After(dying):
		}
		h.conn.Close()
		<-h.piped
		<-h.exited
	}
	if h.listener != nil {
		h.listener.Close()
	}
	for _, f := range h.files {
		f.Close()
	}
	h.b.mu.Lock()
	delete(h.b.running, h)
	h.b.mu.Unlock()
	if !kill && h.listener == nil {
		h.b.keep(h.box)
	}
}
