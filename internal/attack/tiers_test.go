//go:build linux

package attack

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"handrail/tools/sandbox"
)

const image = "localhost/handrail-attacked:1"

// held is one way in which a command of the suite is held.
type held struct {
	tier   sandbox.Tier
	name   string // of the way, in what the tests say
	box    sandbox.Sandbox
	policy sandbox.Policy
}

// hold opens tier on m, with the ways in which it holds calls.
func (m *machine) hold(t testing.TB, tier sandbox.Tier, engine string) (ways []held, err error) {
	t.Helper()
	s := sandbox.Settings{Tier: tier, Roots: []string{m.root}, Home: m.home, Scratch: m.scratch, State: m.state, Caches: []string{m.home + "/.cache/tool"}}
	if engine != "" {
		s.Image, s.Engine = image, engine
	}
	box, err := sandbox.Open(s)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Errorf("close %s: %v", tier, err)
		}
	})
	base := sandbox.Policy{Roots: s.Roots, Scratch: m.scratch, Home: m.home, Secrets: []string{m.root + "/.env"}, Caches: s.Caches}
	ways = []held{{tier, string(tier), box, base}}
	if tier != sandbox.None {
		wider := base
		wider.Network, wider.ProxyToken = sandbox.Domains, "token"
		wider.Proxy = func(l net.Listener) {
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					c.Close()
				}
			}()
		}
		ways = append(ways, held{tier, string(tier) + " with hosts", box, wider})
	}
	return ways, nil
}

var calls atomic.Int64

// process is a run of the suite, held or not.
type process struct {
	wait     func() int                // the exit code
	end      func(grace time.Duration) // ends it and all that it left
	exceeded func() string
	out      *os.File
}

// script is what bash runs, with the environment that attacks need.
func (m *machine) script(text, mark string) (args, env []string) {
	server := os.Getpid()
	return []string{"/bin/bash", "--noprofile", "--norc", "-c", text}, []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + m.home, "TMPDIR=" + m.scratch, "OUT=" + m.out, "MARK=" + mark, "A=" + m.program + " " + mark,
		fmt.Sprintf("VICTIM=%d", m.victim.Process.Pid), fmt.Sprintf("SERVER=%d", server), fmt.Sprintf("MEMORY=%d", m.memory),
		"HANDLE=" + handleOf(m.out+"/private"), fmt.Sprintf("KEY=%d", m.key()), "TCP4=" + m.ports["tcp4"], "TCP6=" + m.ports["tcp6"], "UDP4=" + m.ports["udp4"],
		"DOCKER=" + m.ports["docker"], "SSH_AGENT=" + m.ports["ssh-agent"], "BUS=" + m.ports["bus"], "ABSTRACT=" + m.ports["abstract"], "LOG=" + m.ports["log"],
	}
}

// free runs text as the user uid does, with nothing around it.
func (m *machine) free(t testing.TB, text, mark string, uid int, terminal bool) *process {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	args, env := m.script(text, mark)
	cmd := &exec.Cmd{Path: args[0], Args: args, Env: env, Dir: m.root, Stdout: w, Stderr: w, SysProcAttr: &syscall.SysProcAttr{Setsid: true, Credential: credential(uid)}}
	if terminal {
		cmd.Stdin = m.terminal
		cmd.SysProcAttr.Setctty = true // its first descriptor
	}
	err = cmd.Start()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	return &process{out: r, exceeded: func() string { return "" },
		wait: func() int {
			_ = cmd.Wait()
			return cmd.ProcessState.ExitCode()
		},
		end: func(time.Duration) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }}
}

// run runs text as h holds it.
func (h held) run(t testing.TB, m *machine, text, mark string, terminal bool, limits sandbox.Limits) (*process, error) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	args, env := m.script(text, mark)
	p := h.policy
	p.Limits = limits
	c := &sandbox.Command{Path: args[0], Args: append([]string{"bash"}, args[1:]...), Dir: m.root, Env: env, ID: fmt.Sprintf("attack-%d-%d", os.Getpid(), calls.Add(1)), Stdout: w, Stderr: w}
	if terminal {
		c.Stdin = m.terminal
	}
	proc, err := h.box.Start(context.Background(), &p, c)
	w.Close()
	if err != nil {
		r.Close()
		return nil, err
	}
	return &process{out: r, wait: func() int { return proc.Wait().Code }, end: func(g time.Duration) { proc.End(g) }, exceeded: func() string { return proc.Wait().Exceeded }}, nil
}

// watch reads what p says until it ends, calls held once when it says so, and
// ends it then, or when patience is over.
func (p *process) watch(held func()) string {
	var all bytes.Buffer
	done := make(chan struct{})
	lines := make(chan struct{}, 1)
	var text atomic.Value
	text.Store("")
	go func() {
		defer close(done)
		b := make([]byte, 64<<10)
		for {
			n, err := p.out.Read(b)
			all.Write(b[:n])
			text.Store(all.String())
			select {
			case lines <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	over := make(chan struct{})
	go func() { p.wait(); close(over) }()
	timeout := time.After(patience)
	for looked := false; !looked; {
		select {
		case <-lines:
			if s := text.Load().(string); strings.HasPrefix(s, "held\n") || strings.Contains(s, "\nheld\n") {
				held()
				looked = true
			}
		case <-over:
			looked = true
		case <-timeout:
			looked = true
		}
	}
	p.end(100 * time.Millisecond)
	select {
	case <-done:
	case <-time.After(2 * time.Second): // something that escaped holds it
		p.out.Close()
		<-done
	}
	p.out.Close()
	return all.String()
}

// patience is how long an attack may take.
const patience = 15 * time.Second

// marked lists the processes of the machine, as seen from outside, that have
// mark as one of their arguments.
func marked(mark string) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil || !bytes.Contains(append([]byte{0}, b...), []byte("\x00"+mark+"\x00")) {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(f, "/proc/%d/", &pid); err == nil && alive(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}
