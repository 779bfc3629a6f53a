package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// proxy returns a listener for the proxy of p. It stands on this machine's
// loopback, where other programs reach it.
func (l *landed) proxy(ctx context.Context, p *Policy) (net.Listener, error) {
	if p.Proxy == nil || p.ProxyToken == "" {
		return nil, errors.New("the policy names domains but has no proxy with a token: its listener stands where other programs of this machine reach it")
	}
	if err := l.tryGate(ctx); err != nil {
		return nil, fmt.Errorf("this tier cannot hold a command to a list of hosts here: %w; use the tier bwrap, or ask for the whole network", err)
	}
	way, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	return way, nil
}

// tryGate reports why no gate works here, as where another supervisor holds the
// notifications of seccomp or nobody may trace. It tries one once, with this
// program in the place of a command.
func (l *landed) tryGate(ctx context.Context) error {
	l.mu.Lock()
	works := l.gates
	l.mu.Unlock()
	if works {
		return nil
	}
	way, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer way.Close()
	reach := &land{Grants: []grant{{"/", landRead}, {os.DevNull, landAll}}, Sockets: tcpClients, Proxy: uint16(way.Addr().(*net.TCPAddr).Port)}
	c := &Command{Path: "/proc/self/exe", Args: []string{"sandbox", inside, "dial", way.Addr().String()}, Dir: "/", Env: []string{insideMark + "=1"}, ID: fmt.Sprintf("gate-%d", reach.Proxy)}
	h, err := l.start(ctx, &Policy{}, c, reach, func() {})
	if err != nil {
		return err
	}
	s := h.Wait()
	h.End(0)
	if s.Code != 0 {
		return errors.New("a connection to the proxy is refused: the kernel, or what this server runs in, lets no process connect the socket of another (seccomp_unotify, pidfd_getfd, ptrace_scope)")
	}
	l.mu.Lock()
	l.gates = true
	l.mu.Unlock()
	return nil
}

// dialMain connects to the address that is its argument, by one call.
func dialMain(args []string) error {
	if len(args) != 1 {
		return errors.New("no address")
	}
	to, err := net.ResolveTCPAddr("tcp4", args[0])
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	at := &unix.SockaddrInet4{Port: to.Port}
	copy(at.Addr[:], to.IP.To4())
	return unix.Connect(fd, at)
}
