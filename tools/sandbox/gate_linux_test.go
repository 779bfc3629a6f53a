package sandbox

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// addressOf is where v stands in memory.
func addressOf(v *[4]uint32) unsafe.Pointer { return unsafe.Pointer(v) }

// gated is a policy of p whose proxy says "here" to who connects.
func (p *place) gated() *Policy {
	pol := p.base()
	pol.Network, pol.ProxyToken = Domains, "token"
	pol.Proxy = func(l net.Listener) {
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					_, _ = io.WriteString(c, "here")
					c.Close()
				}()
			}
		}()
	}
	return pol
}

// crowd connects from many threads of many processes at once. It says how many
// connections came about.
const crowd = `import os, socket, threading
port = int(os.environ["http_proxy"].rpartition(":")[2])
came, lock = [0], threading.Lock()
def one():
    for _ in range(20):
        s = socket.create_connection(("127.0.0.1", port), 30)
        if s.recv(4) == b"here":
            with lock: came[0] += 1
        s.close()
children = []
for _ in range(6):
    pid = os.fork()
    if pid == 0:
        all = [threading.Thread(target=one) for _ in range(8)]
        for t in all: t.start()
        for t in all: t.join()
        os._exit(came[0] == 160)
    children.append(pid)
print(sum(os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]) for p in children))
`

// TestGateCrowd: all connections of many come about, for calls at the same time
// too.
func TestGateCrowd(t *testing.T) {
	if asUser(t) {
		return
	}
	p := landing(t)
	if err := os.WriteFile(p.root+"/crowd.py", []byte(crowd), 0o600); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if r := p.run(t, p.gated(), `exec /usr/bin/python3 crowd.py`); r.out != "6\n" || r.found > 0 {
				t.Errorf("%+v", r)
			}
		})
	}
	wg.Wait()
}

// TestGateKilled: processes that are killed while they connect leave the gate to
// others, and the command can be ended at any time.
func TestGateKilled(t *testing.T) {
	if asUser(t) {
		return
	}
	p := landing(t)
	busy := `import os, socket
port = int(os.environ["http_proxy"].rpartition(":")[2])
while True:
    s = socket.socket()
    s.connect(("127.0.0.1", port))
    s.close()
`
	if err := os.WriteFile(p.root+"/busy.py", []byte(busy), 0o600); err != nil {
		t.Fatal(err)
	}
	r := p.run(t, p.gated(), `for i in {1..15}; do for j in {1..4}; do /usr/bin/python3 busy.py & done; sleep 0.1; kill -9 $(jobs -p); wait; done 2>/dev/null; read -n 4 x </dev/tcp/127.0.0.1/${http_proxy##*:}; echo $x`)
	if r.out != "here\n" || r.Code != 0 {
		t.Errorf("%+v", r)
	}
	for _, grace := range []time.Duration{0, 20 * time.Millisecond} {
		proc, out := p.bash(t, p.gated(), `for j in {1..4}; do /usr/bin/python3 busy.py & done; wait`)
		until(t, func() bool { return count("/usr/bin/python3 busy.py") == 4 })
		proc.End(grace)
		if _ = out(); running("/usr/bin/python3 busy.py") {
			t.Errorf("grace %v: something is left", grace)
		}
	}
}

// TestGateGone: without its supervisor a command connects to nothing.
func TestGateGone(t *testing.T) {
	if asUser(t) {
		return
	}
	p := landing(t)
	lone := `import errno, os, socket, time
port = int(os.environ["http_proxy"].rpartition(":")[2])
def dial():
    s = socket.socket()
    e = s.connect_ex(("127.0.0.1", port))
    return errno.errorcode.get(e, "connected")
open("first", "w").write(dial())
warden = os.getppid()
while os.getppid() == warden: time.sleep(0.01)
open("then.new", "w").write(dial())
os.rename("then.new", "then")
`
	if err := os.WriteFile(p.root+"/lone.py", []byte(lone), 0o600); err != nil {
		t.Fatal(err)
	}
	pol := p.gated()
	proc, out := p.bash(t, pol, `exec /usr/bin/python3 lone.py`)
	said := func(name string) string {
		b, _ := os.ReadFile(p.root + "/" + name)
		return string(b)
	}
	until(t, func() bool { return said("first") != "" })
	if err := unix.Kill(p.wardenOf(t), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { return said("then") != "" })
	proc.End(0)
	_ = out()
	if said("first") != "connected" || said("then") != "ENOSYS" {
		t.Errorf("with it %s, without it %s", said("first"), said("then"))
	}
}

// wardenOf is the process ID of the warden of the only command that runs.
func (p *place) wardenOf(t *testing.T) int {
	t.Helper()
	l := p.sb.(*watched).Sandbox.(*landed)
	l.mu.Lock()
	defer l.mu.Unlock()
	for h := range l.held {
		return h.cell.pid
	}
	t.Fatal("nothing runs")
	return 0
}

// TestGateRefused: where seccomp gives no listener there is no list of hosts, and
// the reason is said.
func TestGateRefused(t *testing.T) {
	if asUser(t) {
		return
	}
	landing(t)
	done := make(chan error)
	go func() { // as under a supervisor of seccomp: a process has one at most
		s, err := newStarter(&launch{}, func(*launch) error {
			first, err := filter{Sockets: tcpClients}.openGate(1)
			if err != nil {
				return fmt.Errorf("control: %w", err)
			}
			_, err = filter{Sockets: tcpClients}.openGate(1)
			if err == nil || !strings.Contains(err.Error(), "hold a command to its proxy") {
				return fmt.Errorf("a second gate: %v", err)
			}
			go func() { <-first.shut; done <- nil }()
			return nil
		})
		if err == nil {
			s.end()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	select {
	case <-done: // its thread has ended, so that nobody can call
	case <-time.After(20 * time.Second):
		t.Error("the gate does not close when nobody is left")
	}
}
