package sandbox

import (
	"bufio"
	"os"
	"slices"
	"strings"
	"sync"

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
	if f, err := os.Open("/proc/net/unix"); err == nil {
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); { // Num RefCount Protocol Flags Type St Inode Path
			_, path, named := strings.Cut(lines.Text(), " /")
			path = "/" + path
			if named && (below(shown, path) || !below([]string{"/run", "/tmp", "/var/tmp"}, path)) && isSocket(path) {
				all = append(all, resolved(path))
			}
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
