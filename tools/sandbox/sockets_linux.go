package sandbox

import (
	"bufio"
	"os"
	"slices"
	"strings"
)

// hostSockets returns the paths of Unix sockets that somebody outside has bound,
// sorted, and of those that are mounted into this place from elsewhere, so that
// they can be covered: a socket in a directory that is mounted read-only can be
// connected to all the same. What is bound in another network namespace and not
// mounted is not seen; nor is what lies in directories that are private anyway,
// but for what is shown of them: shown.
func hostSockets(shown []string) []string {
	var all []string
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
	if mounts, err := mountTable(); err == nil {
		for _, m := range mounts {
			if isSocket(m.point) {
				all = append(all, m.point)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
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
