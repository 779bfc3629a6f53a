package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"handrail/guard/owner"
	"handrail/internal/config"
	"handrail/mcpserver/link"
)

// keeper is the part of a server that stays root. It opens the address, starts
// the other parts, and ends them when it ends.
type keeper struct {
	s       streams
	c       *config.Config
	o       serving
	account config.Account // of the front
	names   []string       // of the principals, by number
	users   map[string]config.Account

	front   *child
	link    *link.Link // to the front
	workers map[string]*child
	alive   map[*child]bool // all of them
	ended   chan *child
	asked   chan uint32
}

// soon is within what time a worker that died is not started again.
const soon = time.Second

// grace is how long the parts have to end beyond the calls that run.
const grace = 15 * time.Second

// keep serves as root, each principal by a process of its own user.
func (s streams) keep(ctx context.Context, c *config.Config, o serving) error {
	k := &keeper{s: s, c: c, o: o, names: slices.Sorted(maps.Keys(c.Principals)), workers: map[string]*child{}, alive: map[*child]bool{}, ended: make(chan *child), asked: make(chan uint32)}
	var err error
	if k.account, k.users, err = c.Accounts(); err != nil {
		return err
	}
	// A child gets what its thread has given up, and dies with that thread.
	runtime.LockOSThread()
	if err := renounce(); err != nil {
		return err
	}
	if err := c.MakeSeats(k.account, k.users); err != nil {
		return err
	}
	syscall.Umask(0o077)
	if err := k.check(ctx); err != nil {
		return err
	}
	if err := ownPlace(o.address(c)); err != nil {
		return err
	}
	l, shown, err := listen(o.address(c))
	if err != nil {
		return err
	}
	defer l.Close()
	if err := k.open(l, shown); err != nil {
		return err
	}
	return k.run(ctx)
}

// ownPlace refuses a socket in a directory in which another user could put something
// in its place: root makes files there.
func ownPlace(address string) error {
	path, ok := strings.CutPrefix(address, "unix:")
	if !ok {
		return nil
	}
	dir := filepath.Dir(path)
	info, err := os.Stat(dir)
	if err == nil {
		err = owner.Check(dir, info)
	}
	if err != nil {
		return fmt.Errorf("the directory of the socket must be root's alone: %w", err)
	}
	return nil
}

// check asks every principal's user whether it can be served, and of each kind of
// sandbox whether it holds.
func (k *keeper) check(ctx context.Context) error {
	probed, err := apart(k.c)
	if err != nil {
		return err
	}
	for _, name := range k.names {
		part := partCheck
		if slices.Contains(probed, name) {
			part = partProbe
		}
		cmd := k.command(part, name, k.users[name])
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		err := cmd.Start()
		if err == nil {
			stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
			err = cmd.Wait()
			stop()
		}
		if err != nil {
			why := strings.TrimPrefix(strings.TrimSpace(said.String()), "handrail serve: ")
			if why == "" {
				why = err.Error()
			}
			return fmt.Errorf("principal %s, as the Unix user %s: %s", name, k.users[name].Name, why)
		}
	}
	return k.c.CheckApart()
}

// open starts the front with the listener.
func (k *keeper) open(l net.Listener, shown string) error {
	if u, ok := l.(*socket); ok {
		if err := os.Lchown(u.path, int(k.account.UID), int(k.account.GID)); err != nil {
			return err
		}
	}
	file, err := l.(interface{ File() (*os.File, error) }).File()
	if err != nil {
		return err
	}
	defer file.Close()
	mine, theirs, err := link.Pair()
	if err != nil {
		return err
	}
	defer theirs.Close()
	if k.link, err = link.New(mine, -1); err != nil {
		return err
	}
	cmd := k.command(partFront, "", k.account, "--listen", k.o.address(k.c), "--shown", shown)
	cmd.Stdout, cmd.ExtraFiles = &relay{to: k.s.stdout}, []*os.File{theirs, file}
	if k.front, err = k.start(cmd, ""); err != nil {
		return err
	}
	go k.hear()
	return nil
}

// hear reads what the front asks for: numbers of principals.
func (k *keeper) hear() {
	for {
		text, f, err := k.link.Receive()
		if f != nil {
			f.Close()
		}
		if err != nil {
			return
		}
		n := uint32(len(k.names)) // nobody
		if len(text) == 4 {
			n = binary.BigEndian.Uint32([]byte(text))
		}
		k.asked <- n
	}
}

// run keeps the parts until ctx ends or the front has ended: then nothing is left
// of them when it returns.
func (k *keeper) run(ctx context.Context) error {
	var late <-chan time.Time
	var failed error
	stop := func() {
		if late == nil {
			late = time.After(cmp.Or(k.c.HTTP.Limits.Farewell, 30*time.Second) + grace)
			k.signal(syscall.SIGTERM)
		}
	}
	done, hurry := ctx.Done(), k.o.hurry
	for len(k.alive) > 0 {
		select {
		case <-hurry:
			hurry = nil
			k.signal(syscall.SIGTERM)
		case <-done:
			done = nil
			stop()
		case <-late:
			k.o.log.Warn("parts of the server did not end in time and are killed")
			k.signal(syscall.SIGKILL)
		case n := <-k.asked:
			k.answer(n, late != nil)
		case p := <-k.ended:
			delete(k.alive, p)
			switch {
			case late != nil:
			case p != k.front:
				k.o.log.Warn("the worker of a principal ended; the next request starts it again", "principal", p.principal, "err", p.err)
			default:
				failed = errors.New("the front ended, and so does the server")
				if p.err != nil {
					failed = fmt.Errorf("the front ended (%w), and so does the server", p.err)
				}
				stop()
			}
		}
	}
	return failed
}

func (k *keeper) signal(sig syscall.Signal) {
	for p := range k.alive {
		_ = p.cmd.Process.Signal(sig)
	}
}

// answer starts the worker of a principal and gives the front its end of the way
// to it, and its name; or says why not.
func (k *keeper) answer(n uint32, closing bool) {
	end, err := k.worker(n, closing)
	var text string
	if err != nil {
		text = err.Error()
	} else {
		text = k.names[n]
	}
	if err := k.link.Send(text, end); err != nil {
		k.o.log.Warn("the front does not listen to the keeper", "err", err)
	}
	if end != nil {
		end.Close()
	}
}

func (k *keeper) worker(n uint32, closing bool) (*os.File, error) {
	if closing || n >= uint32(len(k.names)) {
		return nil, errors.New("no principal is started now by that number")
	}
	name := k.names[n]
	if old := k.workers[name]; old != nil {
		if time.Since(old.began) < soon {
			return nil, errors.New("the worker ended right after its start; see the log")
		}
		_ = old.cmd.Process.Kill() // the front has lost it: it serves nobody
	}
	front, worker, err := link.Pair()
	if err != nil {
		return nil, err
	}
	defer worker.Close()
	cmd := k.command(partWorker, name, k.users[name], "--peer", strconv.Itoa(int(k.account.UID)))
	cmd.ExtraFiles = []*os.File{worker}
	p, err := k.start(cmd, name)
	if err != nil {
		front.Close()
		return nil, err
	}
	k.workers[name] = p
	k.o.log.Info("a worker was started", "principal", name, "user", k.users[name].Name, slog.Int("pid", cmd.Process.Pid))
	return front, nil
}
