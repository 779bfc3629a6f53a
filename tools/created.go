//go:build linux || darwin

package tools

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"handrail/guard"
	"handrail/tools/place"
)

// Bounds of what is remembered.
const (
	maxCreated  = 10000 // files of one session
	maxSessions = 256   // sessions that have made files
)

// creations are the files that sessions made, as they left them. The zero value
// is empty; it is safe for concurrent use.
type creations struct {
	mu   sync.Mutex
	made map[string]map[string]identity // by session and path
}

// identity tells a file from any other that could stand at its path, and from
// itself after somebody changed it.
type identity struct {
	dev, inode       uint64
	size             int64
	changed, written int64 // ns
}

// identify returns the identity of a regular file that has one name. ok is
// false for anything else.
func identify(info fs.FileInfo) (id identity, ok bool) {
	st, is := info.Sys().(*syscall.Stat_t)
	if !is || !info.Mode().IsRegular() || st.Nlink != 1 {
		return identity{}, false
	}
	return identity{uint64(st.Dev), st.Ino, info.Size(), place.ChangedAt(st), info.ModTime().UnixNano()}, true
}

// has reports whether a session made the file at path and it is still as the
// session left it.
func (c *creations) has(session, path string, info fs.FileInfo) bool {
	c.mu.Lock()
	old, ok := c.made[session][path]
	c.mu.Unlock()
	if !ok {
		return false
	}
	id, ok := identify(info)
	return ok && id == old
}

// add remembers the file at path as it is now. It reports false where the
// session has no room left.
func (c *creations) add(session, path string) bool {
	info, err := os.Lstat(path)
	if err != nil {
		return true
	}
	id, ok := identify(info)
	if !ok {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made[session] == nil {
		if len(c.made) >= maxSessions {
			return false
		}
		if c.made == nil {
			c.made = map[string]map[string]identity{}
		}
		c.made[session] = map[string]identity{}
	}
	if _, had := c.made[session][path]; !had && len(c.made[session]) >= maxCreated {
		return false
	}
	c.made[session][path] = id
	return true
}

func (c *creations) end(session string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.made, session)
}

// EndSession ends what hangs on a session: its sandboxes with everything that
// runs in them, its grants, its temporary directory, and the knowledge of the files it made.
func (b *Toolbox) EndSession(session string) {
	ours := func(s string) bool { return s == session }
	b.outputs.end(ours)
	_ = b.boxes.end(ours)
	b.scratch.end(session)
	b.created.end(session)
	if b.Guard != nil && b.Guard.Grants != nil {
		b.Guard.Grants.EndSession(session)
	}
}

// Withdraw ends what runs in the background on behalf of a credential that holds
// no more. Calls end with their contexts.
func (b *Toolbox) Withdraw(credential string) { b.outputs.withdraw(credential) }

// Credentials are those on behalf of which something runs in the background.
func (b *Toolbox) Credentials() []string { return b.outputs.credentials() }

// Close ends the sandboxes of every session.
func (b *Toolbox) Close() error {
	all := func(string) bool { return true }
	b.outputs.end(all)
	return b.boxes.end(all)
}

// made reports whether this call's session made a file.
func (j *job) made(path string, info fs.FileInfo) bool {
	return j.box.created.has(j.call.Session, path, info)
}

// watched are the places where a call may make files.
type watched struct {
	files []string // nothing is there yet, or what the session made
	trees []string // nothing is there yet, and a whole tree comes
}

// watch looks before the run where a call may make files. Calls that also move
// files, or of which not everything is known, make none that count: what then
// stands at a new path may be somebody else's work.
func (j *job) watch(facts *guard.Facts) (w watched) {
	writes := map[int]bool{}
	whole := true // nothing but the call's own commands can put files into a tree
	for _, e := range facts.Effects {
		if e.Kind == guard.Unknown {
			return watched{}
		}
		whole = whole && e.Kind != guard.Delete && e.Kind != guard.Code && (e.Kind != guard.Exec || e.Action == "")
		if e.Kind == guard.Write {
			writes[e.Command] = true
		}
	}
	for _, e := range facts.Effects {
		if e.Kind == guard.Delete && writes[e.Command] {
			return watched{}
		}
	}
	for _, e := range facts.Effects {
		if e.Kind != guard.Write || !e.Exact || e.Action == "format" {
			continue
		}
		switch info, err := os.Lstat(e.Target); {
		case err == nil && j.made(e.Target, info):
			w.files = append(w.files, e.Target)
		case !os.IsNotExist(err):
		case e.Deep && whole:
			w.trees = append(w.trees, e.Target)
		default:
			w.files = append(w.files, e.Target)
		}
	}
	return w
}

// keep remembers after the run what it made.
func (j *job) keep(w watched) {
	created, session := &j.box.created, j.call.Session
	for _, path := range w.files {
		if !created.add(session, path) {
			return
		}
	}
	for _, dir := range w.trees {
		steps := 0
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if steps++; err != nil || steps > maxCreated || d.Type().IsRegular() && !created.add(session, path) {
				return fs.SkipAll
			}
			return nil
		})
	}
}
