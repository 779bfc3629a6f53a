package disk

import (
	"path"
	"strings"
)

// maxPath is the longest path in bytes (Linux: PATH_MAX).
const maxPath = 4096

// maxLinks is how many links one path may lead through (Linux: MAXSYMLINKS).
const maxLinks = 40

// real is a resolved path; ok is false where it could not be told.
type real struct {
	path string
	ok   bool
}

// Resolve returns path (absolute) with every symbolic link of its existing part
// followed, the last one too, cleaned. ".." means the parent of what a link
// leads to, as it does to the kernel. What does not exist is kept as written.
// The standard streams (/dev/stdin, /dev/fd/1, ...) stay as they are. ok is
// false, and resolved only cleaned, where it could not be told: a loop, a
// directory that may not be searched, the budget spent, a path of /proc that
// means something else to the process that will use it.
func (v *View) Resolve(p string) (resolved string, ok bool) {
	if !strings.HasPrefix(p, "/") || strings.ContainsRune(p, 0) {
		return path.Clean(p), false
	}
	w := walk{View: v}
	r := w.resolve(p)
	if !r.ok {
		return path.Clean(p), false
	}
	return r.path, true
}

// ResolveLink is Resolve for operations on the name itself (rm, mv, ln): a
// symbolic link in the last place is not followed. After a trailing slash, "."
// or ".." it is.
func (v *View) ResolveLink(p string) (resolved string, ok bool) {
	dir, base := path.Split(p)
	if base == "" || base == "." || base == ".." {
		return v.Resolve(p)
	}
	dir, ok = v.Resolve(dir)
	return path.Join(dir, base), ok
}

// walk is one resolution: it counts the links of the whole path.
type walk struct {
	*View
	links int
}

// resolve follows an absolute path, remembering its directories.
func (w *walk) resolve(p string) real {
	for len(p) > 1 && p[len(p)-1] == '/' {
		p = p[:len(p)-1]
	}
	if p == "/" || p == "" {
		return real{"/", true}
	}
	if len(p) > maxPath {
		return real{p, false}
	}
	if r, ok := w.memo[p]; ok {
		return r
	}
	i := strings.LastIndexByte(p, '/')
	r := w.resolve(p[:i])
	if r.ok {
		r = w.step(r.path, p[i+1:])
	}
	if w.links > maxLinks { // says nothing about p alone
		return r
	}
	if w.memo == nil {
		w.memo = map[string]real{}
	}
	w.memo[p] = r
	return r
}

// step goes from a resolved directory to one name in it.
func (w *walk) step(dir, name string) real {
	switch name {
	case "", ".":
		return real{dir, true}
	case "..":
		return real{path.Dir(dir), true}
	}
	if stream(dir) && dir != "/dev/fd" { // an open directory of another process
		return real{dir, false}
	}
	p := dir + "/" + name
	if dir == "/" {
		p = "/" + name
	}
	if stream(p) || p == "/proc/self" || p == "/proc/thread-self" {
		return real{p, true}
	}
	if strings.HasPrefix(p, "/proc/") {
		if r, ok := magic(p); ok {
			return r
		}
	}
	if up, ok := w.nodes[dir]; ok && (up.info.Type == Absent || up.info.Type == File) {
		return real{p, true} // nothing can stand below
	}
	n := w.lstat(p)
	if n.info.Type == Unknown {
		return real{p, false}
	}
	if !n.link {
		return real{p, true}
	}
	if w.links++; w.links > maxLinks {
		return real{p, false}
	}
	if strings.HasPrefix(n.target, "/") {
		return w.resolve(n.target)
	}
	return w.resolve(dir + "/" + n.target)
}

// stream reports whether p is one of the names of a process's own streams,
// which lead elsewhere for the process that will use them.
func stream(p string) bool {
	switch p {
	case "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd":
		return true
	}
	return strings.HasPrefix(p, "/dev/fd/") && strings.Count(p, "/") == 3
}

// magic answers for the links of /proc/PID, which lead elsewhere for the
// process that will use them: root is taken for the root directory, an open
// descriptor for its name in /dev/fd, all others are not known.
func magic(p string) (real, bool) {
	parts := strings.Split(p, "/") // "", proc, PID, name, ...
	if len(parts) < 4 || parts[2] != "self" && parts[2] != "thread-self" && strings.Trim(parts[2], "0123456789") != "" {
		return real{}, false
	}
	if parts[3] == "task" && len(parts) > 5 { // /proc/PID/task/TID/name
		parts = append(parts[:3:3], parts[5:]...)
	}
	switch name := parts[3]; {
	case name == "root" && len(parts) == 4:
		return real{"/", true}, true
	case name == "cwd", name == "exe", name == "map_files":
		return real{p, false}, true
	case name == "fd" && len(parts) == 5 && parts[2] == "self":
		return real{"/dev/fd/" + parts[4], true}, true
	case name == "fd" && len(parts) > 4:
		return real{p, false}, true
	}
	return real{}, false
}
