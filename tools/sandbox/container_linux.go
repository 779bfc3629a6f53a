package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// containers run commands in Docker or Podman, each alone in a container that
// is warm: when nothing of a command is left in it, the next one of the same
// policy gets it. The image is the user's, and is never pulled.
type containers struct {
	Settings
	engine *engine
	user   string // uid:gid of commands
	// profile is what the engine takes as a container's seccomp profile: the path
	// of a file (Podman), or its text (Docker).
	profile string

	mu      sync.Mutex
	idle    map[string][]*container // by what was asked of the engine
	running map[*contained]bool
	closed  bool
}

// container is one that runs, with nothing but its first process in it.
type container struct {
	id     string
	key    string
	expire *time.Timer // nil: it has not been warm yet
}

// maxIdle is how many containers of one policy are kept warm.
const maxIdle = 2

func openDocker(s Settings) (Sandbox, error) { return openContainers(s, Docker) }
func openPodman(s Settings) (Sandbox, error) { return openContainers(s, Podman) }

func openContainers(s Settings, tier Tier) (Sandbox, error) {
	if s.Image == "" {
		return nil, errors.New("no image is named: set `image:` in the user's config.yaml to one that has bash and the tools of the project")
	}
	if s.Idle == 0 {
		s.Idle = 10 * time.Minute
	}
	user, err := commandUser(s)
	if err != nil {
		return nil, err
	}
	e, err := openEngine(tier, s.Engine)
	if err != nil {
		return nil, err
	}
	var info struct{ SecurityOptions []string }
	if err := e.call(context.Background(), "GET", "/info", nil, &info); err != nil {
		return nil, err
	}
	if tier == Docker && slices.ContainsFunc(info.SecurityOptions, func(o string) bool { return strings.Contains(o, "rootless") }) {
		return nil, errors.New("in rootless Docker only user 0 of a container can write the workspace: use Podman")
	}
	var refused *failure
	if err := e.call(context.Background(), "GET", "/images/"+strings.ReplaceAll(s.Image, "/", "%2F")+"/json", nil, nil); errors.As(err, &refused) && refused.code == 404 {
		return nil, fmt.Errorf("the image %s is not here, and is not pulled by itself: %s pull %s", s.Image, tier, s.Image)
	} else if err != nil {
		return nil, fmt.Errorf("image %s: %w", s.Image, err)
	}
	profile, err := engineProfile(tier, s.State)
	if err != nil {
		return nil, err
	}
	return &containers{Settings: s, engine: e, user: user, profile: profile, idle: map[string][]*container{}, running: map[*contained]bool{}}, nil
}

// commandUser is who commands are in a container: us, or where we are user 0
// the owner of the workspace. User 0 they never are.
func commandUser(s Settings) (string, error) {
	if uid := os.Geteuid(); uid != 0 {
		return fmt.Sprintf("%d:%d", uid, os.Getegid()), nil
	}
	user := ""
	for _, dir := range append(slices.Clone(s.Roots), s.Scratch) {
		if dir == "" {
			continue
		}
		uid, gid, err := owner(dir)
		if err != nil {
			return "", err
		}
		if uid == 0 {
			return "", fmt.Errorf("commands in a container are not user 0, but %s is user 0's: give it to another user, or run as one", dir)
		}
		if u := fmt.Sprintf("%d:%d", uid, gid); user == "" {
			user = u
		} else if user != u {
			return "", fmt.Errorf("%s belongs to another user than the rest of the workspace", dir)
		}
	}
	if user == "" {
		return "", errors.New("commands in a container are not user 0, and no workspace says who they are")
	}
	return user, nil
}

func (b *containers) Enforcement() Enforcement {
	return Enforcement{Tier: b.engine.tier, Writes: true, Reads: true, Network: true, Sockets: true, Processes: true, Protected: true, Limits: true,
		Notes: []string{
			"programs are those of the image " + b.Image,
			"a hard link that was made before leads out of the workspace",
			"protected paths that do not exist yet are held by a comparison after the run",
			"package caches are the container's own",
		}}
}

// Start runs c in a container of p's own kind. Where the engine refuses it in a
// warm one, which somebody else may have ended, nothing ran, and another one is
// taken.
func (b *containers) Start(ctx context.Context, p *Policy, c *Command) (Process, error) {
	spec, err := b.spec(p)
	if err != nil {
		return nil, err
	}
	for {
		box, err := b.take(ctx, spec)
		if err != nil {
			return nil, err
		}
		warm := box.expire != nil
		h, err := b.startIn(ctx, box, p, c)
		if err == nil {
			return h, nil
		}
		var refused *failure
		if !warm || !errors.As(err, &refused) || ctx.Err() != nil {
			return nil, err
		}
	}
}

// startIn runs c in box, which after an error is gone.
func (b *containers) startIn(ctx context.Context, box *container, p *Policy, c *Command) (*contained, error) {
	h := &contained{b: b, box: box, exited: make(chan struct{}), piped: make(chan struct{})}
	h.bounds = newBounds(p.Limits, append(slices.Clone(p.Roots), p.Scratch))
	if err := b.enter(h); err != nil {
		b.remove(box)
		return nil, err
	}
	if err := h.start(ctx, p, c); err != nil {
		h.end(true)
		return nil, err
	}
	return h, nil
}

var errNoContainers = errors.New("the sandbox is closed")

func (b *containers) enter(h *contained) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return errNoContainers
	}
	b.running[h] = true
	return nil
}

// take returns a container made by spec: a warm one, or a new one.
func (b *containers) take(ctx context.Context, spec *spec) (*container, error) {
	key, err := spec.key()
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	if n := len(b.idle[key]); n > 0 {
		box := b.idle[key][n-1]
		b.idle[key] = b.idle[key][:n-1]
		b.mu.Unlock()
		box.expire.Stop()
		return box, nil
	}
	b.mu.Unlock()
	var made struct{ ID string }
	if err := b.engine.call(ctx, "POST", "/containers/create", spec, &made); err != nil {
		return nil, fmt.Errorf("make a container of %s: %w", b.Image, err)
	}
	box := &container{id: made.ID, key: key}
	if err := b.engine.call(ctx, "POST", "/containers/"+box.id+"/start", nil, nil); err != nil {
		b.remove(box)
		return nil, fmt.Errorf("start a container of %s: %w", b.Image, err)
	}
	if err := b.verify(ctx, box, spec); err != nil {
		b.remove(box)
		return nil, err
	}
	return box, nil
}

// keep takes back a container in which nothing is left.
func (b *containers) keep(box *container) {
	b.mu.Lock()
	if b.closed || len(b.idle[box.key]) >= maxIdle {
		b.mu.Unlock()
		b.remove(box)
		return
	}
	box.expire = time.AfterFunc(b.Idle, func() {
		b.mu.Lock()
		i := slices.Index(b.idle[box.key], box)
		if i >= 0 {
			b.idle[box.key] = slices.Delete(b.idle[box.key], i, i+1)
		}
		b.mu.Unlock()
		if i >= 0 {
			b.remove(box)
		}
	})
	b.idle[box.key] = append(b.idle[box.key], box)
	b.mu.Unlock()
}

// remove ends a container and all that is in it.
func (b *containers) remove(box *container) error {
	err := b.engine.call(context.Background(), "DELETE", "/containers/"+box.id+"?force=true&v=true", nil, nil)
	var f *failure
	if errors.As(err, &f) && f.code == 404 {
		return nil
	}
	return err
}

// Close ends every command and removes every container.
func (b *containers) Close() error {
	b.mu.Lock()
	b.closed = true
	idle, running := b.idle, b.running
	b.idle, b.running = map[string][]*container{}, map[*contained]bool{}
	b.mu.Unlock()
	for h := range running {
		h.End(0)
	}
	var failed error
	for _, boxes := range idle {
		for _, box := range boxes {
			box.expire.Stop()
			failed = errors.Join(failed, b.remove(box))
		}
	}
	return failed
}
