package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
)

// awaiting is a warden that waits for a command. One that has served keeps the
// limits and bounds it served with: what a process may use can be lowered only.
type awaiting struct {
	cell   *cell
	gone   chan struct{} // closed when the process has ended
	limits Limits        // of the command before; the zero value where there was none
	bounds *bounds       // likewise; nil
}

// end ends it.
func (w *awaiting) end() {
	w.cell.conn.Close()
	<-w.gone
	if w.bounds != nil {
		_ = w.bounds.release()
	}
}

// serves reports whether w can take a command with these limits.
func (w *awaiting) serves(limits Limits) bool {
	select {
	case <-w.gone:
		return false
	default:
		return w.bounds == nil || w.limits == limits
	}
}

// wardens are those that wait: to start one takes ten milliseconds of a
// processor. It is safe for concurrent use.
type wardens struct {
	self *os.File // their program

	mu     sync.Mutex
	idle   []*awaiting // the one that waits longest first
	closed bool
}

// mostWardens is how many of them wait.
const mostWardens = 4

// take returns one for a command with these limits: one that has served such a
// command, one that has served none, or a new one.
func (ws *wardens) take(limits Limits) (*awaiting, error) {
	ws.mu.Lock()
	if ws.closed {
		ws.mu.Unlock()
		return nil, errClosed
	}
	at := -1
	for i, w := range ws.idle {
		if w.serves(limits) && (at < 0 || w.bounds != nil) {
			at = i
		}
	}
	var w *awaiting
	if at >= 0 {
		w = ws.idle[at]
		ws.idle = slices.Delete(ws.idle, at, at+1)
	}
	ws.mu.Unlock()
	if w != nil {
		return w, nil
	}
	return ws.boot()
}

// give lets w wait. Where they are enough, the one that waits longest goes.
func (ws *wardens) give(w *awaiting) {
	ws.mu.Lock()
	if !ws.closed {
		ws.idle = append(ws.idle, w)
		w = nil
		if len(ws.idle) > mostWardens {
			w = ws.idle[0]
			ws.idle = slices.Delete(ws.idle, 0, 1)
		}
	}
	ws.mu.Unlock()
	if w != nil {
		w.end()
	}
}

// refill starts one ahead of its command, where none waits for limits.
func (ws *wardens) refill(limits Limits) {
	ws.mu.Lock()
	enough := ws.closed || slices.ContainsFunc(ws.idle, func(w *awaiting) bool { return w.serves(limits) })
	ws.mu.Unlock()
	if enough {
		return
	}
	if w, err := ws.boot(); err == nil { // else the next command tells
		ws.give(w)
	}
}

// boot starts a warden and waits until it is there.
func (ws *wardens) boot() (*awaiting, error) {
	mine, theirs, err := pair()
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{Path: "/proc/self/fd/4", Args: []string{"sandbox", inside, "warden"}, Dir: "/", Env: []string{insideMark + "=1"},
		ExtraFiles: []*os.File{theirs, ws.self}, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		mine.Close()
		return nil, fmt.Errorf("start a warden: %w", err)
	}
	gone := make(chan struct{})
	go func() { _ = cmd.Wait(); close(gone) }()
	cell, err := newCell(mine)
	if err != nil {
		_ = cmd.Process.Kill()
		<-gone
		return nil, fmt.Errorf("start a warden: %w", err)
	}
	return &awaiting{cell: cell, gone: gone}, nil
}

// close ends those that wait; no other one comes.
func (ws *wardens) close() error {
	ws.mu.Lock()
	idle := ws.idle
	ws.idle, ws.closed = nil, true
	ws.mu.Unlock()
	for _, w := range idle {
		w.end()
	}
	return ws.self.Close()
}

// bound puts w into the bounds of a call. An error of one that has served may be
// that it cannot be given back what was taken from it.
func (w *awaiting) bound(groups cgroups, id string, limits Limits, dirs []string) (*bounds, error) {
	if w.bounds != nil {
		now := newBounds(limits, dirs) // what was written before is not this call's
		now.group = w.bounds.group
		if now.group != nil {
			return now, nil // it is in it
		}
		return now, now.add(w.cell.pid)
	}
	now, err := groups.bind(id, limits, dirs)
	if err != nil {
		return nil, err
	}
	if err := now.add(w.cell.pid); err != nil {
		return nil, errors.Join(err, now.release())
	}
	return now, nil
}
