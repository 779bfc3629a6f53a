package sandbox

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"handrail/internal/testkit"
)

// server is a script that serves one word on a port of the loopback.
const server = `import socket
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", 8124)); s.listen(); print("up", flush=True)
while True:
    c = s.accept()[0]; c.sendall(b"served\n"); c.close()
`

// TestSessionNetwork: a server that runs in the background is reached by later
// commands, whatever was mounted meanwhile and whatever paths they are given;
// commands with a network of another kind, and other sessions, do not reach it.
func TestSessionNetwork(t *testing.T) {
	testkit.Require(t, "python3", "apt-get install python3")
	both(t, func(t *testing.T) {
		p := settle(t, Bwrap)
		if p.inner().stage == nil {
			t.Fatal("no stage")
		}
		out, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		c := p.command("exec python3 -c '"+server+"'", w)
		background, err := p.sb.Start(context.Background(), p.base(), c)
		w.Close()
		if err != nil {
			t.Fatal(err)
		}
		defer background.End(0)
		word := make([]byte, 3)
		if _, err := out.Read(word); err != nil || string(word) != "up\n" {
			t.Fatalf("%q, %v", word, err)
		}
		reach := `(exec 2>/dev/null; cat </dev/tcp/127.0.0.1/8124) || echo none`
		first := p.inner().session
		if err := os.WriteFile(filepath.Join(p.root, ".envrc"), []byte("export A=1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := p.run(t, p.base(), reach); r.out != "served\n" {
			t.Errorf("after a change of what is mounted: %+v", r)
		}
		if p.inner().session == first {
			t.Error("the control: nothing changed")
		}
		more := p.base()
		more.Read, more.GitConfig = []string{p.outside}, true
		for range 2 { // the second is started by a spare
			if r := p.run(t, more, reach); r.out != "served\n" {
				t.Errorf("with another path: %+v", r)
			}
			p.wait(t, func() bool {
				b := p.inner()
				b.mu.Lock()
				defer b.mu.Unlock()
				return b.spare != nil || b.groups.version == 0
			})
		}
		hosts := p.base()
		hosts.Network, hosts.Proxy = Domains, func(l net.Listener) { l.Close() }
		if r := p.run(t, hosts, reach); r.out != "none\n" {
			t.Errorf("with hosts by name: %+v", r)
		}
		full := p.base()
		full.Network = Full
		if r := p.run(t, full, reach); r.out != "none\n" {
			t.Errorf("with the network of the host: %+v", r)
		}
		other := settle(t, Bwrap)
		if r := other.run(t, other.base(), reach); r.out != "none\n" {
			t.Errorf("another session: %+v", r)
		}
	})
}

// wait waits until what holds in the background.
func (p *place) wait(t *testing.T, what func() bool) {
	t.Helper()
	for until := time.Now().Add(30 * time.Second); !what(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("it does not come")
		}
	}
}

// TestSpare: a command whose sandbox waited for it is held as one whose did not:
// by its own limits, and by its own network.
func TestSpare(t *testing.T) {
	p := settle(t, Bwrap)
	b := p.inner()
	if b.groups.version == 0 || b.stage == nil {
		t.Skip("no control groups here")
	}
	spared := func(pol *Policy) *spare {
		p.run(t, pol, "true")
		var s *spare
		p.wait(t, func() bool { b.mu.Lock(); defer b.mu.Unlock(); s = b.spare; return s != nil })
		return s
	}
	pol := p.base()
	pol.Read, pol.Limits.Processes = []string{p.outside}, 20
	s := spared(pol)
	proc, _ := p.bash(t, pol, `for i in $(seq 40); do sleep 60 & done; wait`)
	if len(s.bounds.group.members()) == 0 {
		t.Error("it runs elsewhere")
	}
	if status := proc.Wait(); status.Exceeded != "processes" {
		t.Errorf("%+v", status)
	}
	proc.End(0)
	if _, err := os.Stat(s.bounds.group.pids()); !os.IsNotExist(err) {
		t.Errorf("its control group is still there: %v", err)
	}
	s = spared(pol)
	pol.Limits.Processes = 30 // not those of the spare
	proc, _ = p.bash(t, pol, `sleep 60`)
	if n := len(s.bounds.group.members()); n != 0 {
		t.Errorf("%d processes in bounds of others", n)
	}
	proc.End(0)
	pol.Limits.Processes = 20
	s = spared(pol)
	if err := s.conn.Close(); err != nil { // it has gone meanwhile
		t.Fatal(err)
	}
	if r := p.run(t, pol, `echo ran`); r.out != "ran\n" {
		t.Errorf("%+v", r)
	}
}
