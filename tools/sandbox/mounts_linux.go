package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
)

// expected says which mounts stand below the roots of a sandbox. Bubblewrap
// mounts by name, and a command that runs meanwhile may put a link to elsewhere
// in the place of a name: so the first process inside compares before it starts
// anything.
type expected struct {
	Roots   []string
	Planned map[string]bool   // mount points below the roots; true: a mask, false: what lies there itself
	Host    map[string]string // mounts that stand there outside too: what of which file system
}

// mounted is one line of mountinfo (proc_pid_mountinfo(5)).
type mounted struct {
	device, root, point, kind string
}

func (m mounted) what() string { return m.device + " " + m.root }

// expect returns what m plans below roots.
func (m *plan) expect(roots []string) (string, error) {
	e := expected{Roots: roots, Planned: map[string]bool{}, Host: map[string]string{}}
	for at, how := range m.last {
		if beneath(roots, at) {
			e.Planned[at] = how == "--tmpfs" || how == mask
		}
	}
	mounts, err := mountTable()
	if err != nil {
		return "", err
	}
	for _, h := range mounts {
		if beneath(roots, h.point) {
			e.Host[h.point] = h.what()
		}
	}
	b, err := json.Marshal(e)
	return string(b), err
}

// beneath reports whether at lies below one of roots.
func beneath(roots []string, at string) bool {
	for _, r := range roots {
		if at != r && strings.HasPrefix(at, strings.TrimSuffix(r, "/")+"/") {
			return true
		}
	}
	return false
}

// asExpected compares the mounts of this process with what text (of expect) says.
func asExpected(text string) error {
	var e expected
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return fmt.Errorf("expected mounts: %w", err)
	}
	mounts, err := mountTable()
	if err != nil {
		return err
	}
	top := map[string]mounted{} // what is seen at each mount point: the last one
	for _, m := range mounts {
		top[m.point] = m
	}
	for at := range e.Planned {
		if _, ok := top[at]; !ok {
			return fmt.Errorf("%s changed while the sandbox was made: it is not covered", at)
		}
	}
	for at, m := range top {
		if !beneath(e.Roots, at) || e.Host[at] == m.what() {
			continue
		}
		masked, planned := e.Planned[at]
		if masked && (m.kind == "tmpfs" || m.kind == "devtmpfs") {
			continue
		}
		up := path.Dir(at)
		for top[up].point == "" && up != "/" {
			up = path.Dir(up)
		}
		own := top[up].device == m.device && m.root == path.Join(top[up].root, strings.TrimPrefix(at, up))
		if !planned || masked || !own {
			return fmt.Errorf("%s changed while the sandbox was made: %s lies there", at, m.root)
		}
	}
	return nil
}

// mountTable reads the mounts of this process.
func mountTable() ([]mounted, error) {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var all []mounted
	for line := range strings.Lines(string(b)) { // ID parent major:minor root point options... - kind source options
		left, right, _ := strings.Cut(line, " - ")
		f := strings.Fields(left)
		kind, _, ok := strings.Cut(right, " ")
		if len(f) < 6 || !ok {
			return nil, fmt.Errorf("/proc/self/mountinfo: not understood: %q", line)
		}
		all = append(all, mounted{device: f[2], root: unescaped(f[3]), point: unescaped(f[4]), kind: kind})
	}
	return all, nil
}

// unescaped replaces \ooo by its byte.
func unescaped(s string) string {
	for i := 0; ; i++ {
		at := strings.IndexByte(s[i:], '\\')
		if at < 0 || i+at+4 > len(s) {
			return s
		}
		i += at
		if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
			s = s[:i] + string([]byte{byte(n)}) + s[i+4:]
		}
	}
}
