package tools

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"handrail/tools/sandbox"
)

// narrowings remembers the environments of calls, by their roots: which of the
// variables lead into them depends on links, all of which are looked at again for
// each call. The zero value remembers nothing yet.
type narrowings struct {
	mu sync.Mutex
	of map[string]*narrowing
}

// narrowing is what env became for calls in some roots.
type narrowing struct {
	from, env map[string]string
	trail     trail
}

// maxNarrowings bounds what is kept: sessions may bring any roots.
const maxNarrowings = 64

// narrow returns env for one call: without what lies in the call's own roots,
// and with the mark by which the call's processes are found again.
func (n *narrowings) narrow(env map[string]string, roots []string, id string) map[string]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	key := strings.Join(roots, "\x00")
	known := n.of[key]
	if known == nil || !maps.Equal(known.from, env) || !known.trail.same() {
		known = &narrowing{from: maps.Clone(env), trail: trail{}}
		known.env = narrow(env, roots, known.trail)
		if n.of == nil || len(n.of) >= maxNarrowings {
			n.of = map[string]*narrowing{}
		}
		n.of[key] = known
	}
	out := maps.Clone(known.env)
	out[sandbox.Mark] = id
	return out
}

// narrow is env without what lies in roots.
func narrow(env map[string]string, roots []string, t trail) map[string]string {
	out := maps.Clone(env)
	for name, value := range out {
		if f, ok := passed[name]; ok && !f.fits(value, roots, t) {
			delete(out, name)
		}
	}
	out["PATH"] = searchPath(env["PATH"], roots, t)
	return out
}

// trail is what was found at the names that links were followed through, by
// absolute path. As long as nothing else is there, they lead where they led.
type trail map[string]trace

// trace is what is at one name. Zero: nothing that can be reached.
type trace struct {
	dev, ino uint64
	mode     uint32
	changed  int64 // ns; of links, which can only change by being made anew
}

// fresh is how young a link is that another one could take the place of without
// being told from it: a few ticks of the kernel's clock.
const fresh = 100 * time.Millisecond

func traceOf(path string) trace {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return trace{}
	}
	at := trace{dev: uint64(st.Dev), ino: uint64(st.Ino), mode: uint32(st.Mode)}
	if at.is(unix.S_IFLNK) {
		at.changed = st.Ctim.Nano()
	}
	return at
}

func (a trace) is(kind uint32) bool { return a.mode&unix.S_IFMT == kind }

// look tells what is at path.
func (t trail) look(path string) trace {
	at, known := t[path]
	if !known {
		at = traceOf(path)
		if at.changed > time.Now().Add(-fresh).UnixNano() {
			at.changed = -1 // is never the same
		}
		t[path] = at
	}
	return at
}

// same looks again, and reports whether everything is as it was.
func (t trail) same() bool {
	for path, was := range t {
		if traceOf(path) != was {
			return false
		}
	}
	return true
}

// resolved follows the links of path (absolute), as filepath.EvalSymlinks does;
// what does not exist stays as it is.
func (t trail) resolved(path string) string {
	end, rest := "", strings.Split(path, "/")
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			end = end[:max(strings.LastIndexByte(end, '/'), 0)]
			continue
		}
		next := end + "/" + name
		switch at := t.look(next); {
		case at.is(unix.S_IFLNK):
			to, err := os.Readlink(next)
			if links++; err != nil || links > 40 {
				return filepath.Clean(path)
			}
			if filepath.IsAbs(to) {
				end = ""
			}
			rest = slices.Concat(strings.Split(to, "/"), rest)
		case at.mode == 0, len(rest) > 0 && !at.is(unix.S_IFDIR):
			return filepath.Clean(path)
		default:
			end = next
		}
	}
	return max(end, "/")
}

// directory reports whether path (resolved) is a directory in which not everybody
// writes.
func (t trail) directory(path string) bool {
	at := t.look(path)
	return at.is(unix.S_IFDIR) && fs.FileMode(at.mode).Perm()&0o002 == 0
}
