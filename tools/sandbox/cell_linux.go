package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// cell is the server's end of a head that waits for its command.
type cell struct {
	conn *net.UnixConn
	pid  int   // of the head, as the server sees it
	land *land // for a warden; else nil
	// again gets the cell back for another command, with the bounds it is in; nil
	// where it serves one.
	again func(*cell, *bounds)
	// settling counts the cells, with this one, that are about to say whether they
	// serve again.
	settling *atomic.Int64
}

// newCell waits for the head at the other end of c to say that it is there.
func newCell(c *net.UnixConn) (*cell, error) {
	h, err := take(c)
	if err != nil {
		c.Close()
		return nil, err
	}
	return &cell{conn: c, pid: h.pid, settling: new(atomic.Int64)}, nil
}

// start starts cmd in the cell. closed is called once when nothing of it is
// left. An error says that nothing ran, and that the cell is gone.
func (c *cell) start(ctx context.Context, p *Policy, cmd *Command, bounds *bounds, closed func()) (*held, error) {
	h := &held{cell: c, bounds: bounds, closed: closed, exited: make(chan struct{}), over: make(chan struct{}), heard: make(chan struct{}), settled: make(chan struct{})}
	stop := context.AfterFunc(ctx, func() { c.conn.Close() })
	dec, err := c.launch(p, cmd, h)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		c.conn.Close()
		h.shut()
		return nil, errors.Join(ctx.Err(), err)
	}
	go h.listen(dec)
	bounds.watch(func() []int { return offspring(c.pid) }, func() { h.End(0) })
	return h, nil
}

// launch hands the command over and waits until it has started.
func (c *cell) launch(p *Policy, cmd *Command, h *held) (*json.Decoder, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	streams := []*os.File{cmd.Stdin, cmd.Stdout, cmd.Stderr}
	for i := range streams {
		if streams[i] == nil {
			streams[i] = null
		}
	}
	l := launch{Path: cmd.Path, Args: cmd.Args, Dir: cmd.Dir, Env: cmd.Env, Land: c.land, Unix: p.unixSockets()}
	if l.Proxy = p.Network == Domains && c.land == nil; l.Proxy {
		l.Env = proxied(l.Env, proxyAddress, p.ProxyToken)
	}
	if err := send(c.conn, order{Run: &l}, streams...); err != nil {
		return nil, err
	}
	var in io.Reader = c.conn
	if l.Proxy {
		got, err := take(c.conn)
		if err != nil {
			return nil, err
		}
		if len(got.files) == 1 {
			err = h.proxy(got.files[0], p.Proxy)
		} else {
			in = io.MultiReader(bytes.NewReader([]byte{got.first}), c.conn)
		}
		if err != nil {
			return nil, err
		}
	}
	dec := json.NewDecoder(in)
	var n news
	if err := dec.Decode(&n); err != nil {
		return nil, fmt.Errorf("the sandbox ended before its command began: %w", err)
	}
	if !n.Started {
		return nil, errors.New(n.Failed)
	}
	return dec, nil
}

// held is a command in a cell.
type held struct {
	cell     *cell
	bounds   *bounds
	closed   func()
	listener net.Listener  // of the proxy; may be nil
	exited   chan struct{} // closed when status is known
	over     chan struct{} // closed when nothing is left
	heard    chan struct{} // closed when the head says no more
	settled  chan struct{} // closed when the cell waits again, or is gone

	mu       sync.Mutex
	asked    bool // its head was told to end it
	finished bool // the head has said that nothing is left
	clean    bool // and waits for another command
	later    bool // which it says after that
	met      bool // an order met that on its way, and is still to come to the head
	status   Status
	found    int
	once     sync.Once
	shutOnce sync.Once
}

// proxy gives the listener in the command's network to serve.
func (h *held) proxy(f *os.File, serve func(net.Listener)) error {
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return fmt.Errorf("proxy: %w", err)
	}
	if serve == nil {
		l.Close()
		return errors.New("the policy names domains but has no proxy")
	}
	h.listener = l
	serve(l)
	return nil
}

// listen takes the news of the head until it says no more.
func (h *held) listen(dec *json.Decoder) {
	defer close(h.heard)
	told, ended := false, false
	exit := func(s Status) {
		s.Exceeded = h.bounds.exceeded(s)
		h.status, told = s, true
		close(h.exited)
	}
	for more := true; more; {
		var n news
		if dec.Decode(&n) != nil {
			break
		}
		h.mu.Lock()
		if n.Ended != nil { // before its status is known: who waits for that looks
			h.finished, h.found, h.later = true, *n.Ended, n.Later
			h.met = n.Asked != h.asked
		}
		h.clean = n.Again && h.cell.again != nil && !h.met
		h.mu.Unlock()
		if n.Status != nil && !told {
			exit(*n.Status)
		}
		if n.Ended != nil && n.Later {
			ended = true
			close(h.over)
		}
		more = n.Ended == nil && !ended || n.Later
	}
	if !told { // the head was killed, and all with it
		exit(Status{Code: 128 + 9, Signal: 9})
	}
	if !ended {
		close(h.over)
	}
}

func (h *held) Wait() Status {
	<-h.exited
	return h.status
}

func (h *held) End(grace time.Duration) int {
	h.once.Do(func() {
		h.ask(grace)
		select {
		case <-h.over:
		case <-time.After(grace + dying): // the head does not answer: it goes with its socket
		}
		select {
		case <-h.over:
		default:
			h.cell.conn.Close()
			<-h.over
		}
		h.shut()
	})
	return h.found
}

// ask tells the head to end what is left, if anything may be.
func (h *held) ask(grace time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.finished {
		return
	}
	h.asked = true
	_ = send(h.cell.conn, order{End: &grace})
}

// shut closes what belongs to the command alone.
func (h *held) shut() {
	h.shutOnce.Do(func() {
		if h.listener != nil {
			h.listener.Close()
		}
		h.mu.Lock()
		later := h.later
		h.mu.Unlock()
		if later {
			h.cell.settling.Add(1)
			go func() {
				<-h.heard
				h.settle()
				h.cell.settling.Add(-1)
			}()
		} else {
			h.settle()
		}
		h.closed()
	})
}

// settle gives the cell back for another command, or ends it.
func (h *held) settle() {
	defer close(h.settled)
	h.mu.Lock()
	clean := h.clean
	h.mu.Unlock()
	if clean && !h.bounds.spent() {
		h.cell.again(h.cell, h.bounds.rest())
		return
	}
	h.cell.conn.Close()
	_ = h.bounds.release()
}

// offspring lists the process pid and what descends from it, from the kernel's own
// lists of children: what that costs does not grow with other calls. While
// children end, others may be left out; what must see all takes descendants.
func offspring(pid int) []int {
	all := []int{pid}
	for i := 0; i < len(all); i++ {
		runtime.Gosched() // calls that wait for a processor go first
		dir := "/proc/" + strconv.Itoa(all[i]) + "/task"
		threads, _ := os.ReadDir(dir) // it may have ended
		for _, t := range threads {
			list, err := os.ReadFile(dir + "/" + t.Name() + "/children")
			if errors.Is(err, fs.ErrNotExist) && i == 0 && alive(pid) {
				return descendants(pid) // a kernel without these lists
			}
			for _, f := range strings.Fields(string(list)) {
				if n, err := strconv.Atoi(f); err == nil {
					all = append(all, n)
				}
			}
		}
	}
	return all
}

// descendants lists the process pid and all that descend from it.
func descendants(pid int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children := map[int][]int{}
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			if p, ok := look(n); ok {
				children[p.parent] = append(children[p.parent], n)
			}
		}
	}
	all := []int{pid}
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
}
