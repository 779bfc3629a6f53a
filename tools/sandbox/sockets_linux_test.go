package sandbox

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"handrail/internal/testkit"
)

// TestHostSockets: Unix sockets of the host are out of reach wherever they lie,
// those of a command's own work.
func TestHostSockets(t *testing.T) {
	testkit.Require(t, "python3", "apt-get install python3")
	both(t, func(t *testing.T) {
		p := settle(t, Bwrap)
		places := map[string]string{"workspace": p.root + "/host.sock", "home": p.outside + "/host.sock", "abstract": "\x00handrail-" + filepath.Base(t.TempDir()) + p.root}
		if os.Getuid() == 0 {
			dir, err := os.MkdirTemp("/opt", "handrail-sockets-")
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			places["system"] = dir + "/host.sock"
		}
		for _, at := range places {
			l, err := net.Listen("unix", at)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
		}
		script := filepath.Join(p.root, "s.py")
		if err := os.WriteFile(script, []byte(`import os, socket, sys
path = sys.argv[1].replace("@", "\0")
if sys.argv[2:]:
    l = socket.socket(socket.AF_UNIX); l.bind(path); l.listen()
s = socket.socket(socket.AF_UNIX)
s.connect(path)
print("connected")
`), 0o644); err != nil {
			t.Fatal(err)
		}
		full := &Policy{Roots: p.Roots, Scratch: p.Scratch, Home: p.Home, Network: Full}
		own := &Policy{Roots: p.Roots, Scratch: p.Scratch, Home: p.Home, Read: []string{"/usr"}}
		for name, at := range places {
			arg := at
			if name == "abstract" {
				arg = "@" + at[1:]
			}
			if c, err := net.Dial("unix", at); err != nil { // the control
				t.Fatal(err)
			} else {
				c.Close()
			}
			named := &Policy{Roots: p.Roots, Scratch: p.Scratch, Home: p.Home, Read: []string{at}}
			around := &Policy{Roots: p.Roots, Scratch: p.Scratch, Home: p.Home, Read: []string{filepath.Dir(at)}}
			for i, pol := range []*Policy{p.base(), own, full, named, around} {
				if name == "abstract" && i > 2 {
					continue
				}
				if r := p.run(t, pol, "python3 s.py '"+arg+"'"); r.Code == 0 || r.out == "connected\n" {
					t.Errorf("%s, policy %d: connected", name, i)
				}
			}
		}
		for _, arg := range []string{p.root + "/own.sock", p.Scratch + "/own.sock", "/tmp/own.sock", "@own"} {
			for _, pol := range []*Policy{p.base(), own} {
				if r := p.run(t, pol, "python3 s.py '"+arg+"' listen; s=$?; rm -f "+p.root+"/own.sock "+p.Scratch+"/own.sock; exit $s"); r.out != "connected\n" {
					t.Errorf("own socket %s: %+v", arg, r)
				}
			}
		}
		open := &Policy{Roots: p.Roots, Scratch: p.Scratch, Home: p.Home, Network: Full, Open: true}
		if r := p.run(t, open, "python3 s.py "+places["workspace"]); r.out != "connected\n" {
			t.Errorf("an escalated run does not reach a socket: %+v", r)
		}
	})
}

// TestBoundSockets: what the kernel is asked for is what its list shows, but for
// sockets that nobody can reach.
func TestBoundSockets(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "handrail-sockets-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	var want []string
	for _, kind := range []string{"unix", "unixgram", "unixpacket"} {
		path := filepath.Join(dir, kind+" with a space")
		want = append(want, path)
		if kind == "unixgram" {
			c, err := net.ListenPacket(kind, path)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			continue
		}
		l, err := net.Listen(kind, path)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		for range 300 { // more than one answer holds, were they told
			c, err := net.Dial(kind, path)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if c, err = l.Accept(); err != nil {
				t.Fatal(err)
			}
			defer c.Close()
		}
	}
	asked, err := boundSockets()
	if err != nil {
		t.Fatal(err)
	}
	for name, found := range map[string][]string{"asked": asked, "listed": listedSockets()} {
		found = slices.DeleteFunc(found, func(path string) bool { return filepath.Dir(path) != dir })
		slices.Sort(found)
		if found = slices.Compact(found); !slices.Equal(found, want) {
			t.Errorf("%s: %q, want %q", name, found, want)
		}
	}
}

func BenchmarkBoundSockets(b *testing.B) {
	for b.Loop() {
		if _, err := boundSockets(); err != nil {
			b.Fatal(err)
		}
	}
}
