package cli

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"

	"handrail/internal/config"
	"handrail/mcpserver"
	"handrail/mcpserver/auth"
	"handrail/mcpserver/link"
)

// Descriptors that a part is started with.
const (
	fdLink     = 3 // of the front: to the keeper; of a worker: to the front
	fdListener = 4
)

// part runs a part of a server. Without what the keeper gives it, it is nothing.
func (s streams) part(ctx context.Context, c *config.Config, o serving) (err error) {
	o.log = o.log.With("part", o.part)
	if o.part == partFront {
		return s.front(ctx, c, o)
	}
	c.Sit(o.principal)
	if err := c.CheckSeat(o.principal); err != nil || o.part == partCheck {
		return err
	}
	shared, err := c.Share()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shared.Close()) }()
	h := &hosting{c: c, shared: shared, log: o.log}
	if o.part == partProbe {
		return h.probe(o.principal)
	}
	return h.work(ctx, o)
}

// work serves one principal to the front.
func (h *hosting) work(ctx context.Context, o serving) error {
	end, err := link.New(os.NewFile(fdLink, "link"), o.peer)
	if err != nil {
		return notKept(err)
	}
	c := h.c
	if err := started(h.shared.Log, "http", c.Profile, "for "+o.principal); err != nil {
		return err
	}
	h.queue = &mcpserver.RemoteQueue{Dial: end.Dial}
	l := c.HTTP.Limits
	h.host = &mcpserver.Host{Names: c.HTTP.Names, Origins: c.HTTP.Origins, MaxBody: int64(l.Body) << 20, Farewell: l.Farewell, Hurry: o.hurry, Log: o.log, Open: h.open, Front: true,
		Authenticate: func(r *http.Request) (auth.Caller, error) { // only the front can send
			return auth.Caller{Principal: o.principal, Credential: r.Header.Get(mcpserver.CredentialHeader)}, nil
		}}
	if err = h.host.Serve(ctx, end, nil); ctx.Err() == nil {
		err = fmt.Errorf("the front has gone: %w", err)
	}
	return err
}

// notKept is what a part says that a person started.
func notKept(err error) error {
	return fmt.Errorf("the parts of a server are started by `handrail serve` as root, and by nobody else: %w", err)
}

// front is the process that speaks with clients.
type front struct {
	names []string // of the principals, by number
	users map[string]config.Account
	log   *slog.Logger
	queue *mcpserver.Queue

	mu     sync.Mutex
	keeper *link.Link
}

func (s streams) front(ctx context.Context, c *config.Config, o serving) error {
	keeper, err := link.New(os.NewFile(fdLink, "link"), -1)
	if err != nil {
		return notKept(err)
	}
	file := os.NewFile(fdListener, "listener")
	l, err := net.FileListener(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false) // the keeper does
	}
	_, users, err := c.Accounts()
	if err != nil {
		return errors.Join(err, l.Close())
	}
	f := &front{names: slices.Sorted(maps.Keys(c.Principals)), users: users, log: o.log, keeper: keeper}
	c.Sit("")
	o.listener, o.over = l, f.over
	return s.serveHTTP(ctx, c, o)
}

// over is how this server reaches its principals.
func (f *front) over(q *mcpserver.Queue) func(string) (*mcpserver.Tenant, error) {
	f.queue = q
	return f.open
}

// open makes the way to the worker of a principal. The worker is started by the
// first request, and again where it has died.
func (f *front) open(principal string) (*mcpserver.Tenant, error) {
	if !slices.Contains(f.names, principal) {
		return nil, fmt.Errorf("%q is not among the principals", principal)
	}
	w := &way{front: f, principal: principal}
	return &mcpserver.Tenant{Forward: mcpserver.NewForward(w.dial, f.log.With("principal", principal))}, nil
}

// start asks the keeper for the worker of a principal, by its number: no word of
// a client gets there.
func (f *front) start(principal string) (*link.Link, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	number := slices.Index(f.names, principal)
	if err := f.keeper.Send(string(binary.BigEndian.AppendUint32(nil, uint32(number))), nil); err != nil {
		return nil, err
	}
	said, end, err := f.keeper.Receive()
	if err != nil {
		return nil, err
	}
	if end == nil {
		return nil, errors.New(said)
	}
	if said != principal { // the file was changed between the keeper's look and ours
		end.Close()
		return nil, fmt.Errorf("the keeper started %s in the place of %s: the configuration has changed; start the server anew", said, principal)
	}
	return link.New(end, int(f.users[principal].UID))
}

// way is the way to a principal's worker, for as long as that lives.
type way struct {
	front     *front
	principal string

	mu   sync.Mutex
	link *link.Link
}

// dial opens a connection to the worker.
func (w *way) dial(ctx context.Context) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := ctx.Err(); err != nil { // who wanted it has gone
		return nil, err
	}
	for again := false; ; again = true {
		if w.link == nil {
			l, err := w.front.start(w.principal)
			if err != nil {
				return nil, err
			}
			w.link = l
			go w.places(l)
		}
		c, err := w.link.Dial()
		if err == nil || again || ctx.Err() != nil {
			return c, err
		}
		w.link.Close() // its worker has died
		w.link = nil
	}
}

// places gives the worker its places in the queue, until it dies.
func (w *way) places(l *link.Link) {
	err := w.front.queue.Serve(l, w.principal)
	l.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.link == l {
		w.link = nil
		w.front.log.Info("the worker of a principal has ended", "principal", w.principal, "err", err)
	}
}
