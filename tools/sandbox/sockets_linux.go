package sandbox

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// hosts are the Unix sockets of the host, as they were when they were last looked
// at. The zero value has not looked; it is safe for concurrent use.
type hosts struct {
	mu      sync.Mutex
	table   *os.File // /proc/self/mountinfo: the kernel says when it changes
	mounted []string // sockets that are mount points
	looked  bool
}

// sockets returns the paths of Unix sockets that somebody outside has bound,
// sorted, and of those that are mounted into this place from elsewhere, so that
// they can be covered: a socket in a directory that is mounted read-only can be
// connected to all the same. What is bound in another network namespace and not
// mounted is not seen; nor is what lies in directories that are private anyway,
// unless it is shown.
func (h *hosts) sockets(shown []string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mounts()
	all := slices.Clone(h.mounted)
	bound, err := boundSockets()
	if err != nil { // the kernel does not speak sock_diag(7)
		bound = listedSockets()
	}
	for _, path := range bound {
		if (below(shown, path) || !below([]string{"/run", "/tmp", "/var/tmp"}, path)) && isSocket(path) {
			all = append(all, resolved(path))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// mounts looks at the mount points again where any has changed (poll(2) on the
// mount table, proc_pid_mountinfo(5)).
func (h *hosts) mounts() {
	if h.table == nil {
		h.table, _ = os.Open("/proc/self/mountinfo") // without it every look is a new one
		h.looked = false
	}
	if h.looked {
		change := []unix.PollFd{{Fd: int32(h.table.Fd()), Events: unix.POLLPRI}}
		if n, err := unix.Poll(change, 0); err == nil && n == 0 {
			return
		}
	}
	h.looked = false // until it is read
	table, err := mountTable()
	if err != nil {
		return
	}
	h.mounted = nil
	for _, m := range table {
		if isSocket(m.point) {
			h.mounted = append(h.mounted, m.point)
		}
	}
	h.looked = h.table != nil
}

// close gives up the mount table.
func (h *hosts) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.table != nil {
		h.table.Close()
		h.table, h.looked = nil, false
	}
}

func isSocket(path string) bool {
	fi, err := os.Lstat(path)
	return err == nil && fi.Mode()&os.ModeSocket != 0
}

// unixSockets reports whether a command of p may make Unix sockets where those
// of the host are covered: not in the host's own network, which has its abstract
// ones too, and not where p shows a part of /run, the place of sockets, or is
// about a socket.
func (p *Policy) unixSockets() bool {
	return p.Open || p.Network != Full && !slices.ContainsFunc(slices.Concat(p.Read, p.Write), func(path string) bool {
		return below([]string{"/run", "/var/run"}, path) || isSocket(path)
	})
}

// What the kernel is asked of Unix sockets. Source: sock_diag(7).
const (
	sockDiagByFamily = 20
	unixDiagName     = 0       // UNIX_DIAG_NAME
	unixShowName     = 1 << 0  // UDIAG_SHOW_NAME
	unixUnconnected  = 1 << 7  // TCP_CLOSE: of datagrams, what everybody can send to
	unixListening    = 1 << 10 // TCP_LISTEN
)

// boundSockets asks the kernel for the paths to which Unix sockets are bound that
// somebody can connect or send to. What is connected already cannot be, and is the
// most by far on a machine with many sandboxes.
func boundSockets() ([]string, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	const header, request = unix.SizeofNlMsghdr, 24 // struct unix_diag_req
	b := make([]byte, header+request)
	binary.NativeEndian.PutUint32(b[0:], uint32(len(b)))
	binary.NativeEndian.PutUint16(b[4:], sockDiagByFamily)
	binary.NativeEndian.PutUint16(b[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	b[header] = unix.AF_UNIX
	binary.NativeEndian.PutUint32(b[header+4:], unixUnconnected|unixListening)
	binary.NativeEndian.PutUint32(b[header+12:], unixShowName)
	if err := unix.Sendto(fd, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, err
	}
	var paths []string
	for answer := make([]byte, 8<<10); ; { // no message is larger: netlink(7)
		n, _, err := unix.Recvfrom(fd, answer, unix.MSG_TRUNC)
		if err != nil {
			return nil, err
		}
		if n > len(answer) {
			return nil, errors.New("sock_diag: a message was cut")
		}
		messages, err := syscall.ParseNetlinkMessage(answer[:n])
		if err != nil {
			return nil, err
		}
		for _, m := range messages {
			switch {
			case m.Header.Type == unix.NLMSG_DONE && len(bytes.Trim(m.Data, "\x00")) == 0: // else it is an error
				return paths, nil
			case m.Header.Type != sockDiagByFamily:
				return nil, fmt.Errorf("sock_diag: message %d", m.Header.Type)
			}
			if path := nameOf(m.Data); strings.HasPrefix(path, "/") {
				paths = append(paths, path)
			}
		}
	}
}

// nameOf returns the name in one message about a Unix socket; "" where it has none.
func nameOf(message []byte) string {
	const header = 16 // struct unix_diag_msg
	for m := message[min(header, len(message)):]; len(m) >= unix.SizeofRtAttr; {
		n := int(binary.NativeEndian.Uint16(m))
		if n < unix.SizeofRtAttr || n > len(m) {
			break
		}
		if binary.NativeEndian.Uint16(m[2:]) == unixDiagName {
			name, _, _ := bytes.Cut(m[unix.SizeofRtAttr:n], []byte{0})
			return string(name)
		}
		m = m[min((n+3)&^3, len(m)):]
	}
	return ""
}

// listedSockets reads the paths of all Unix sockets from the kernel's list of them.
func listedSockets() (paths []string) {
	f, err := os.Open("/proc/net/unix")
	if err != nil {
		return nil
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); { // Num RefCount Protocol Flags Type St Inode Path
		if _, path, named := strings.Cut(lines.Text(), " /"); named {
			paths = append(paths, "/"+path)
		}
	}
	return paths
}
