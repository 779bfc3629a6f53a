package sandbox

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// everywhere listens on all addresses of this machine, and counts who comes.
func everywhere(t *testing.T) (port string, came *atomic.Int64) {
	t.Helper()
	came = &atomic.Int64{}
	count := func(l net.Listener) {
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				came.Add(1)
				c.Close()
			}
		}()
	}
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	count(l)
	_, port, _ = net.SplitHostPort(l.Addr().String())
	u, err := net.ListenPacket("udp", ":"+port)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { u.Close() })
	go func() {
		for {
			if _, _, err := u.ReadFrom(make([]byte, 10)); err != nil {
				return
			}
			came.Add(1)
		}
	}()
	return port, came
}

// TestLandlockHostsHolds: of a command with a list of hosts nothing but its proxy
// is reached. Each attack succeeds without the sandbox.
func TestLandlockHostsHolds(t *testing.T) {
	if asUser(t) {
		return
	}
	p := landing(t)
	other, came := everywhere(t)
	own := "127.0.0.3"
	if addrs, err := net.InterfaceAddrs(); err == nil {
		for _, a := range addrs {
			if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
				own = n.IP.String()
			}
		}
	}
	const head = `import socket, os, ctypes; OTHER, OWN, PROXY = ` + "%s, %q, %s" + `; s = socket.socket(); to = lambda a, p: s.connect((a, p)); `
	six := `s = socket.socket(socket.AF_INET6); `
	for name, attack := range map[string]string{
		"another port":            `to("127.0.0.1", OTHER)`,
		"another port, no block":  `s.setblocking(False); e = s.connect_ex(("127.0.0.1", OTHER)); assert e in (0, 115), e`,
		"another loopback":        `to("127.0.0.2", PROXY)`,
		"any address":             `to("0.0.0.0", PROXY)`,
		"own address":             `to(OWN, PROXY)`,
		"IPv6":                    six + `to("::1", PROXY)`,
		"IPv6, another port":      six + `to("::1", OTHER)`,
		"IPv4 in IPv6":            six + `to("::ffff:127.0.0.1", PROXY)`,
		"UDP":                     `s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b"x", ("127.0.0.1", OTHER))`,
		"MPTCP":                   `s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262); to("127.0.0.1", PROXY)`,
		"bind":                    `s.bind(("127.0.0.1", 0))`,
		"listen":                  `s.listen()`,
		"first message":           `s.sendto(b"x", socket.MSG_FASTOPEN, ("127.0.0.1", OTHER))`,
		"first message, sendmsg":  `s.sendmsg([b"x"], [], socket.MSG_FASTOPEN, ("127.0.0.1", OTHER))`,
		"put off":                 `s.setsockopt(6, 30, 1); to("127.0.0.1", OTHER)`,
		"options of IP":           `s.setsockopt(0, 4, bytes([1, 1, 1, 1]))`,
		"device":                  `s.setsockopt(1, 25, b"lo")`,
		"another protocol on top": `to("127.0.0.1", PROXY); s.setsockopt(6, 31, b"tls")`,
		"again, elsewhere":        `to("127.0.0.1", PROXY); d = s.dup(); ctypes.CDLL(None).connect(d.fileno(), bytes(16), 16) == 0 or exit(3); to("127.0.0.1", OTHER)`,
		"long address":            `a = bytes([2, 0]) + OTHER.to_bytes(2, "big") + bytes([127, 0, 0, 1]) + bytes(120); c = ctypes.CDLL(None).connect; exit(0 if c(s.fileno(), a, 128) == 0 else 1)`,
		"forked":                  `p = os.fork(); p or to("127.0.0.1", OTHER); exit(os.waitpid(p, 0)[1] != 0 if p else 0)`,
	} {
		t.Run(name, func(t *testing.T) {
			free, _ := everywhere(t)
			c := exec.Command("/usr/bin/python3", "-c", fmt.Sprintf(head, other, own, free)+attack)
			if out, err := c.CombinedOutput(); err != nil && name != "another protocol on top" { // a kernel without TLS
				t.Fatalf("control: %v: %s", err, out)
			}
			came.Store(0)
			pol := p.base()
			pol.Network, pol.ProxyToken = Domains, "token"
			second := &atomic.Int64{}
			pol.Proxy = func(l net.Listener) {
				_, port, _ := net.SplitHostPort(l.Addr().String())
				for _, at := range []string{"127.0.0.2", own, "::1"} {
					l, err := net.Listen("tcp", net.JoinHostPort(at, port))
					if err != nil {
						continue // there is no such address here
					}
					t.Cleanup(func() { l.Close() })
					go func() {
						for {
							c, err := l.Accept()
							if err != nil {
								return
							}
							second.Add(1)
							c.Close()
						}
					}()
				}
			}
			r := p.runWith(t, pol, `exec /usr/bin/python3 -c "${ATTACK/@/${http_proxy##*:}}"`, "ATTACK="+fmt.Sprintf(head, other, own, "@")+attack)
			if r.Code == 0 || r.Signal != 0 || came.Load() > 0 || second.Load() > 0 {
				t.Errorf("%+v; came %d and %d times", r, came.Load(), second.Load())
			}
		})
	}
}

// runWith is run with more in the environment.
func (p *place) runWith(t *testing.T, pol *Policy, script string, env ...string) result {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c := p.command(script, w)
	c.Env = append(c.Env, env...)
	proc, err := p.sb.Start(t.Context(), pol, c)
	w.Close()
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	var b bytes.Buffer
	_, _ = b.ReadFrom(r)
	proc.Wait()
	n := proc.End(time.Second)
	return result{proc.Wait(), b.String(), n}
}

// changing names the variable with the port that is not the proxy's, in the
// program that changes an address while the kernel reads it.
const changing = "SANDBOX_CHANGING"

// TestLandlockHostsChanged: an address that another thread changes all the time
// never leads elsewhere.
func TestLandlockHostsChanged(t *testing.T) {
	if other := os.Getenv(changing); other != "" {
		hammer(t, other)
		return
	}
	if asUser(t) {
		return
	}
	p := landing(t)
	other, came := everywhere(t)
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.root+"/program", program, 0o700); err != nil {
		t.Fatal(err)
	}
	pol := p.base()
	pol.Network, pol.ProxyToken = Domains, "token"
	arrived := &atomic.Int64{}
	pol.Proxy = func(l net.Listener) {
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				arrived.Add(1)
				c.Close()
			}
		}()
	}
	r := p.runWith(t, pol, `exec ./program -test.run='^`+t.Name()+`$' -test.v`, changing+"="+other)
	if r.Code != 0 || !strings.Contains(r.out, "--- PASS") || came.Load() > 0 || arrived.Load() == 0 {
		t.Errorf("elsewhere %d times, to the proxy %d times: %+v", came.Load(), arrived.Load(), r)
	}
}

// hammer connects to an address whose port is the proxy's and another one in turn.
func hammer(t *testing.T, other string) {
	t.Helper()
	var ports [2]uint16
	for i, text := range []string{other, os.Getenv("http_proxy")[strings.LastIndex(os.Getenv("http_proxy"), ":")+1:]} {
		if _, err := fmt.Sscan(text, &ports[i]); err != nil {
			t.Fatal(err)
		}
	}
	word := func(port uint16) uint32 { // family and port, in one store
		return unix.AF_INET | uint32(port>>8)<<16 | uint32(port&0xff)<<24
	}
	at := &[4]uint32{word(ports[0]), 127 | 1<<24}
	over := &atomic.Bool{}
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; !over.Load(); i++ {
			atomic.StoreUint32(&at[0], word(ports[i%2]))
		}
	})
	refused := 0
	for range 3000 {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, errno := unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(addressOf(at)), 16); errno == unix.EACCES {
			refused++
		} else if errno != 0 {
			t.Fatal(errno)
		} else if peer, err := unix.Getpeername(fd); err == nil && peer.(*unix.SockaddrInet4).Port != int(ports[1]) {
			t.Errorf("connected to %v", peer)
		}
		unix.Close(fd)
	}
	over.Store(true)
	wg.Wait()
	if refused == 0 || refused == 3000 {
		t.Errorf("refused %d of 3000: nothing was changed in time", refused)
	}
}
