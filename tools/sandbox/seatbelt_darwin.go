package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

// seatbeltPath is the program of macOS that starts others under a profile. PATH
// has no say.
const seatbeltPath = "/usr/bin/sandbox-exec"

// belt runs commands under Seatbelt, each under a profile of its own. It was
// written from documentation and other programs' profiles; our tests run only
// the making of the profile, on other systems too.
type belt struct {
	Settings
	none none // what runs
}

func openSeatbelt(s Settings) (Sandbox, error) {
	if st, err := os.Stat(seatbeltPath); err != nil || !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is missing: it is a part of macOS", seatbeltPath)
	}
	return &belt{Settings: s, none: none{running: map[*plain]bool{}}}, nil
}

func (b *belt) Enforcement() Enforcement {
	return Enforcement{Tier: Seatbelt, Writes: true, Reads: true, Network: true, Sockets: true, Protected: true,
		Notes: []string{
			"this tier was written from documentation and is not run in our CI",
			"what leaves its session, its parent and its environment outlives its call",
			"memory is not bounded",
			"a hard link that was made before leads out of the workspace",
			"names, sizes and times of files outside of the workspace can be seen",
			"package caches of the user are neither read nor written",
		}}
}

// Start runs c under the profile of p.
func (b *belt) Start(ctx context.Context, p *Policy, c *Command) (Process, error) {
	var l net.Listener
	port, env := 0, c.Env
	if p.Network == Domains && !p.Open {
		if p.Proxy == nil || p.ProxyToken == "" {
			return nil, errors.New("the policy names domains but has no proxy with a token: its listener stands where other programs of this machine reach it")
		}
		var err error
		if l, err = net.Listen("tcp4", "127.0.0.1:0"); err != nil {
			return nil, fmt.Errorf("proxy: %w", err)
		}
		port = l.Addr().(*net.TCPAddr).Port
		env = proxied(env, l.Addr().String(), p.ProxyToken)
	}
	proc, err := b.start(ctx, p, c, port, env)
	if err != nil {
		if l != nil {
			l.Close()
		}
		return nil, err
	}
	if l != nil {
		p.Proxy(l)
		return &proxiedProcess{Process: proc, l: l}, nil
	}
	return proc, nil
}

func (b *belt) start(ctx context.Context, p *Policy, c *Command, port int, env []string) (Process, error) {
	f, err := b.seatbelt(p, port)
	if err != nil {
		return nil, err
	}
	args := []string{"sandbox-exec", "-p", f.text.String()}
	for _, d := range f.params {
		args = append(args, "-D", d)
	}
	args = append(append(args, "--", c.Path), c.Args[min(1, len(c.Args)):]...)
	under := *c
	under.Path, under.Args, under.Env = seatbeltPath, args, env
	return b.none.Start(ctx, p, &under)
}

func (b *belt) Close() error { return b.none.Close() }

// proxiedProcess closes its listener when it has ended.
type proxiedProcess struct {
	Process
	l    net.Listener
	once sync.Once
}

func (p *proxiedProcess) End(grace time.Duration) int {
	defer p.once.Do(func() { p.l.Close() })
	return p.Process.End(grace)
}
