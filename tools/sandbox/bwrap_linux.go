package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// bwrapPath is the only bubblewrap that is used: PATH has no say.
const bwrapPath = "/usr/bin/bwrap"

// installBwrap brings it.
const installBwrap = "apt-get install bubblewrap (dnf install bubblewrap, pacman -S bubblewrap, apk add bubblewrap)"

// bubble runs commands in bubblewrap: those of the base profile in the session's
// sandbox, others each in one of its own.
type bubble struct {
	Settings
	bare   bool     // namespaces of our own in place of bubblewrap
	self   *os.File // the program of the processes inside
	stage  *stage   // nil where we have no namespaces of our own beside bubblewrap's
	caches *caches
	groups cgroups
	hidden unread
	hosts  hosts
	notes  []string // what does not hold here

	planning sync.Mutex
	base     *plan    // of the base profile, as the last command had it; may be nil
	of       Policy   // that it was made for
	ground   *ground  // on which
	sockets  []string // of the host, at that time

	mu      sync.Mutex
	session *session // the open one; may be nil
	spare   *spare   // for the next sandbox of a single command; may be nil
	solo    bool     // the session's way does not work here: each command has its own
	cells   map[*held]bool
	closed  bool
}

// openBwrap checks bubblewrap and our own part.
func openBwrap(s Settings) (Sandbox, error) {
	if err := trusted(bwrapPath); err != nil {
		return nil, err
	}
	if err := bwrapVersion(); err != nil {
		return nil, err
	}
	return openBubble(s, false)
}

// openBubble opens a sandbox of bubblewrap, or of our own namespaces.
func openBubble(s Settings, bare bool) (Sandbox, error) {
	if s.Self == "" {
		s.Self = "/proc/self/exe"
	}
	if s.Idle == 0 {
		s.Idle = 10 * time.Minute
	}
	// What the server inherited is nobody else's. Ours is closed on exec anyway.
	if err := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return nil, fmt.Errorf("close descriptors on exec (Linux 5.11 or newer is needed): %w", err)
	}
	self, err := os.Open(s.Self)
	if err != nil {
		return nil, fmt.Errorf("the program for the inside: %w", err)
	}
	b := &bubble{Settings: s, bare: bare, self: self, hidden: s.unread(), cells: map[*held]bool{}}
	if b.stage, err = openStage(self); err != nil {
		b.notes = append(b.notes, "package caches of the host are not read: "+err.Error())
	}
	if b.groups, err = findCgroups(); err != nil {
		b.notes = append(b.notes, "no control groups, so memory is bounded by looking at it: "+err.Error())
	}
	if b.caches, err = newCaches(s.State, b.stage); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// trusted reports why the program at path cannot be relied on: it, and every
// directory above it, must be the system's own.
func trusted(path string) error {
	st, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("%s is missing; install it with: %s", path, installBwrap)
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok || sys.Uid != 0 || st.Mode().Perm()&0o022 != 0 || !st.Mode().IsRegular() {
		return fmt.Errorf("%s is not root's alone to write; install it again with: %s", path, installBwrap)
	}
	return nil
}

// bwrapVersion wants 0.8, the first with --disable-userns.
func bwrapVersion() error {
	out, err := exec.Command(bwrapPath, "--version").Output()
	if err != nil {
		return fmt.Errorf("%s --version: %w", bwrapPath, err)
	}
	v := regexp.MustCompile(`(\d+)\.(\d+)`).FindSubmatch(out)
	if v == nil {
		return fmt.Errorf("%s does not tell its version", bwrapPath)
	}
	major, _ := strconv.Atoi(string(v[1]))
	minor, _ := strconv.Atoi(string(v[2]))
	if major == 0 && minor < 8 {
		return fmt.Errorf("%s is %s; 0.8 or newer is needed: %s", bwrapPath, v[0], installBwrap)
	}
	return nil
}

func (b *bubble) Enforcement() Enforcement {
	tier := Bwrap
	if b.bare {
		tier = Namespaces
	}
	return Enforcement{Tier: tier, Writes: true, Reads: true, Network: true, Sockets: true, Processes: true, Protected: true, Limits: true,
		Notes: append([]string{"a hard link that was made before leads out of the workspace", "protected paths that do not exist yet, or lie deeper than a root, are held by a comparison after the run", "a socket that the host binds during a run, outside of /run, /tmp and the home, is not covered"}, b.notes...)}
}

// Start runs c in the session's sandbox where p is the base profile, else in one
// of its own.
func (b *bubble) Start(ctx context.Context, p *Policy, c *Command) (Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	files, err := b.planned(p)
	if err != nil {
		return nil, err
	}
	cell, done, err := b.cell(ctx, p, files)
	if err != nil {
		return nil, err
	}
	bounds, err := b.bounded(cell, p, c.ID)
	if err != nil {
		done()
		return nil, err
	}
	h, err := cell.start(ctx, p, c, bounds, done)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		h.End(0)
		return nil, errClosed
	}
	b.cells[h] = true
	b.mu.Unlock()
	go func() { <-h.settled; b.mu.Lock(); delete(b.cells, h); b.mu.Unlock() }()
	return h, nil
}

// planned returns the plan for p. That of the base profile is kept, and good as
// long as policy and disk are as they were.
func (b *bubble) planned(p *Policy) (*plan, error) {
	sockets := b.hosts.sockets(slices.Concat(p.Roots, p.Read, p.Write))
	if !p.Base() {
		return b.files(p, b.caches, b.hidden, sockets)
	}
	b.planning.Lock()
	defer b.planning.Unlock()
	of := *p
	of.Proxy, of.ProxyToken, of.Limits, of.ground = nil, "", Limits{}, nil // of which files know nothing
	if b.Scratch != "" && below([]string{b.Scratch}, of.Scratch) {
		of.Scratch = b.Scratch // which is writable as a whole
	}
	if b.base != nil && p.ground != nil && p.ground == b.ground && slices.Equal(b.sockets, sockets) && reflect.DeepEqual(b.of, of) && b.base.sight.same() {
		return b.base, nil
	}
	m, err := b.files(p, b.caches, b.hidden, sockets)
	for _, paths := range []*[]string{&of.Roots, &of.Protected, &of.Secrets, &of.Hidden, &of.Caches} {
		*paths = slices.Clone(*paths) // which are the caller's
	}
	b.base, b.of, b.ground, b.sockets = m, of, p.ground, sockets
	return m, err
}

var errClosed = errors.New("the sandbox is closed")

// cell returns where a command of p runs, and what to call when it is over.
func (b *bubble) cell(ctx context.Context, p *Policy, files *plan) (kept, func(), error) {
	if p.Base() {
		s, err := b.shared(files, p)
		if err != nil {
			return kept{}, nil, err
		}
		if s != nil {
			c, err := s.cell(ctx)
			if err == nil {
				return c, func() { b.leave(s) }, nil
			}
			b.drop(s, ctx.Err() == nil)
			b.leave(s)
		}
	}
	if err := ctx.Err(); err != nil {
		return kept{}, nil, err
	}
	return b.alone(p, files)
}

// errSpare says that a spare did not become a sandbox: nothing has run.
var errSpare = errors.New("the spare of the sandbox has gone")

// alone starts a sandbox for one command. Where a mount of the host went away
// while bubblewrap was binding all of them, nothing has run, and it starts anew.
func (b *bubble) alone(p *Policy, files *plan) (k kept, end func(), err error) {
	for range 3 {
		k, end, err = b.boxed(p, files)
		if err == nil || !errors.Is(err, errSpare) && !strings.Contains(err.Error(), "Unable to apply mount flags") {
			break
		}
	}
	return k, end, err
}

// boxed starts it once.
func (b *bubble) boxed(p *Policy, files *plan) (kept, func(), error) {
	mine, theirs, err := pair()
	if err != nil {
		return kept{}, nil, err
	}
	net := b.network(p)
	args := append(append(fence(p, net), "--as-pid-1", "--cap-drop", "ALL"), files.args...)
	args = append(args, "--proc", "/proc")
	for _, name := range procOfSystem {
		if path := "/proc/" + name; os.Getuid() == 0 && exists(path) {
			args = append(args, "--ro-bind", path, path) // what bubblewrap itself covers, and more
		}
	}
	expect, err := files.expect(p.Roots)
	if err != nil {
		mine.Close()
		theirs.Close()
		return kept{}, nil, err
	}
	var spare *spare
	if p.Network != Full && !p.Open { // it has no network but the session's, or a new one
		spare = b.takeSpare(p.Limits)
	}
	w, err := b.boot(booting{args: args, net: net, spare: spare}, theirs, "head", expect)
	theirs.Close()
	if err != nil {
		mine.Close()
		return kept{}, nil, spare.failed(err)
	}
	c, err := newCell(mine)
	if err != nil {
		err = w.blame(err)
		w.end()
		return kept{}, nil, spare.failed(err)
	}
	go b.refill(p.Limits)
	k := kept{cell: c}
	if spare != nil {
		k.bounds = spare.bounds
	}
	return k, w.end, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// network reports whether a command of p gets the network that the session has,
// with its loopback and nothing else: so it reaches the servers of other commands.
// One that may write elsewhere, or read credentials, does not: what it serves
// would lend that power to them.
func (b *bubble) network(p *Policy) bool {
	return p.Network == NoNetwork && !p.Open && b.stage != nil && len(p.Write) == 0 && len(p.Allowed) == 0 &&
		!slices.ContainsFunc(p.Read, func(path string) bool { return b.hidden.nameable[path] != "" })
}

// fence is what every sandbox of ours has; with net, what starts it has the
// network already.
func fence(p *Policy, net bool) []string {
	args := []string{"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--new-session", "--die-with-parent", "--disable-userns", "--clearenv", "--setenv", insideMark, "1"}
	if p.Network != Full && !p.Open && !net {
		args = append(args, "--unshare-net")
	}
	return args
}

// Close ends every command and sandbox.
func (b *bubble) Close() error {
	b.mu.Lock()
	b.closed = true
	session, cells, spare := b.session, b.cells, b.spare
	b.session, b.cells, b.spare = nil, map[*held]bool{}, nil
	b.mu.Unlock()
	for h := range cells {
		h.End(0)
	}
	if session != nil {
		session.close()
	}
	spare.discard()
	for h := range cells {
		<-h.settled
	}
	if b.stage != nil {
		b.stage.close()
	}
	var err error
	if b.caches != nil {
		err = b.caches.close()
	}
	b.hosts.close()
	return errors.Join(err, b.self.Close())
}
