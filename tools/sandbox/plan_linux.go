package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// plan is the file system of one sandbox, as arguments of bubblewrap. Later ones
// lie above earlier ones.
type plan struct {
	args []string
	ids  []string // device and inode of what is mounted, so that a plan made anew shows a change
	last map[string]string
	// sight is what it was made of.
	sight *sight
	named string // key, when it was asked for
}

// mask is how a file is planned that is not read.
const mask = "mask"

// Sizes of what is private, in bytes.
const (
	privateTmp  = 4 << 30
	privateHome = 1 << 30
)

// emptied are the directories of the system that are private, though not empty
// outside.
var emptied = []string{"/home", "/root", "/tmp", "/var/tmp", "/run", "/mnt", "/media"}

// nameService are the files below /run that finding a host by name needs.
var nameService = []string{"/run/systemd/resolve", "/run/NetworkManager/resolv.conf", "/run/resolvconf", "/run/connman/resolv.conf"}

// files plans what a command of p sees. Sockets are those of the host, by name.
func (s *Settings) files(p *Policy, c *caches, u unread, sockets []string) (*plan, error) {
	found := p.ground
	if found == nil {
		found = found.of(p, true)
	}
	m := &plan{last: map[string]string{}, sight: &sight{under: found.sight}}
	for _, root := range p.Roots {
		if root == "/" || !filepath.IsAbs(root) {
			return nil, fmt.Errorf("%q cannot be a workspace root", root)
		}
		if below([]string{root}, s.State) || root == p.Home {
			return nil, fmt.Errorf("the root %s holds the home directory or the server's own files", root)
		}
	}
	if p.Open {
		m.args = append(m.args, "--dev-bind", "/", "/")
		m.last["/"] = "--bind"
	} else {
		s.private(m, p)
	}
	for _, root := range p.Roots {
		if err := m.must("--bind", root); err != nil {
			return nil, err
		}
		if common := m.sight.commonDir(root); common != "" && m.writable(common) == "" {
			m.bind("--bind", common)
		}
	}
	for _, dir := range []string{s.Scratch, p.Scratch} {
		if dir != "" && m.writable(dir) == "" {
			if err := m.must("--bind", dir); err != nil {
				return nil, err
			}
		}
	}
	for _, path := range p.Write {
		if m.writable(path) == "" {
			m.bind("--bind", path)
		}
	}
	if !p.Open {
		if err := c.plan(m, p, s.Caches); err != nil {
			return nil, err
		}
	}
	hidden := u.of(p)
	if !p.Open {
		hidden = append(hidden, sockets...)
	}
	m.protect(p, found, hidden)
	m.hide(hidden)
	return m, nil
}

// private plans the system read-only and the rest of the machine not at all.
func (s *Settings) private(m *plan, p *Policy) {
	m.args = append(m.args, "--ro-bind", "/", "/", "--dev", "/dev")
	var over []string
	for _, dir := range slices.Concat(emptied, s.Emptied, []string{p.Home, s.Home, s.State}) {
		if dir == "" || dir == "/" || below(over, dir) {
			continue
		}
		if m.sight.look(dir, false).kind != fs.ModeDir {
			continue
		}
		size := privateTmp
		if dir != "/tmp" {
			size = privateHome
		}
		perms := "0755"
		if dir == "/tmp" || dir == "/var/tmp" {
			perms = "1777"
		}
		m.args = append(m.args, "--perms", perms, "--size", strconv.Itoa(size), "--tmpfs", dir)
		m.last[dir] = "--tmpfs"
		over = append(over, dir)
	}
	if p.Home != "" && p.Home != "/" {
		m.args = append(m.args, "--dir", p.Home)
	}
	toolchains := s.Toolchains
	if toolchains == nil {
		toolchains = DefaultToolchains
	}
	var paths []string
	for _, name := range toolchains {
		paths = append(paths, filepath.Join(p.Home, name))
	}
	gone := m.sight.absent(paths)
	for _, path := range paths {
		if m.last[path] == "" && !gone[path] {
			m.bind("--ro-bind", path)
		}
	}
	if p.Network != NoNetwork {
		for _, path := range nameService {
			m.bind("--ro-bind", path)
		}
	}
	for _, path := range p.Read {
		if !m.visible(path) {
			m.bind("--ro-bind", path)
		}
	}
}

// hide plans that the hidden paths are not read: last, so that nothing uncovers
// them.
func (m *plan) hide(hidden []string) {
	for _, path := range hidden {
		if path == "" || !m.visible(path) {
			continue
		}
		there, dir := m.id(path)
		if !there {
			continue
		}
		if !dir {
			m.args = append(m.args, "--ro-bind", os.DevNull, path)
			m.last[path] = mask
			continue
		}
		m.args = append(m.args, "--perms", "0000", "--size", "4096", "--tmpfs", path, "--remount-ro", path)
		m.last[path] = "--tmpfs"
	}
}

// bind plans path at its own place, if it exists.
func (m *plan) bind(how, path string) bool {
	if there, _ := m.id(path); !there {
		return false
	}
	m.args = append(m.args, how, path, path)
	m.last[path] = how
	return true
}

func (m *plan) must(how, path string) error {
	if !m.bind(how, path) {
		return fmt.Errorf("%s: %w", path, errors.Join(os.ErrNotExist))
	}
	return nil
}

// id notes what path is now, or where it leads, and tells whether it is there,
// and a directory. A file system gives the number of an inode again, and a mount
// on what was removed is gone: so the time of its birth is noted too.
func (m *plan) id(path string) (there, dir bool) {
	at := m.sight.look(path, true)
	if at.there() {
		m.ids = append(m.ids, path+" "+at.String())
	}
	return at.there(), at.kind == fs.ModeDir
}

// above returns the nearest planned place at or above path, and how it was
// planned.
func (m *plan) above(path string) (place, how string) {
	for at := path; ; at = up(at) {
		if how := m.last[at]; how != "" || at == "/" {
			return at, how
		}
	}
}

// visible reports whether the host's path is seen.
func (m *plan) visible(path string) bool {
	_, how := m.above(path)
	return how != "--tmpfs" && how != mask
}

// writable returns the planned place by which path can be written; "" if it
// cannot.
func (m *plan) writable(path string) string {
	if place, how := m.above(path); how == "--bind" {
		return place
	}
	return ""
}

// key names the plan: two that are alike make the same file system.
func (m *plan) key() string {
	if m.named == "" {
		m.named = strings.Join(m.args, "\x00") + "\x00\x00" + strings.Join(m.ids, "\x00")
	}
	return m.named
}
