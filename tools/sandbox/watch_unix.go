//go:build linux || darwin

package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// watcher compares the protected paths of a session before and after each run,
// puts back what changed and moves away what appeared. What is the same is told
// by inode and times, else by content. It is safe for concurrent use.
type watcher struct {
	quarantine string // a directory of the server's own, outside the workspaces
	mounts     bool   // existing protected paths are mounted read-only for commands
	deeds      Deeds

	mu    sync.Mutex
	scan  scan
	live  map[*watch]bool
	base  map[string]*entry // how it was when the first of live began
	gits  []string          // git directories at that time
	roots []string          // of all that live
	links []string          // git directories outside of the roots that they belong to
	named []string          // protected, secret and allowed paths of all that live
	seen  map[string]bool   // deeds that base has
	count int
}

// entry is one protected file, directory or link.
type entry struct {
	stamp  stamp
	born   int64  // nanoseconds; of a file; 0 where the file system does not tell
	parent uint64 // inode of the directory that holds it
	link   string
	data   []byte
	held   bool // data is the whole content
}

// maxHeld is the largest file whose content is held, in bytes; of a larger one
// a change is seen, and told, but cannot be undone. maxEntries bounds them all.
const (
	maxHeld    = 1 << 20
	maxEntries = 50_000
)

// watch is one run that is compared.
type watch struct {
	w      *watcher
	policy *Policy
	// mounted is what was mounted read-only for the command.
	mounted map[string]inode
	allowed func() // ends what is noted of what it may change
}

// newWatcher returns one that keeps its things in state.
func newWatcher(state string) *watcher {
	return &watcher{quarantine: filepath.Join(state, "quarantine"), deeds: DeedsOf(state), scan: scan{seen: map[string]*listing{}}, live: map[*watch]bool{}}
}

// begin remembers the protected paths as they are. An error says that nothing
// may run. Runs at the same time share what the first of them remembered.
func (w *watcher) begin(p *Policy) (*watch, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.live) == 0 {
		w.roots, w.links, w.named, w.seen = nil, nil, nil, map[string]bool{}
		for _, name := range w.deeds.names() {
			w.seen[name] = strings.HasPrefix(name, did)
		}
	}
	for _, path := range p.Roots {
		if !slices.Contains(w.roots, path) {
			w.roots = append(w.roots, path)
			w.links = append(w.links, gitDirs(path)...)
		}
	}
	var fresh []string
	for _, path := range slices.Concat(p.Protected, p.Secrets, p.Allowed) {
		if !slices.Contains(w.named, path) {
			w.named, fresh = append(w.named, path), append(fresh, path)
		}
	}
	now, gits, err := w.look()
	if err != nil {
		return nil, err
	}
	if len(w.live) == 0 {
		w.base, w.gits = now, gits
	}
	added := map[string]*entry{}
	for path, e := range now {
		if below(fresh, path) && w.base[path] == nil {
			added[path] = e
		}
	}
	w.learn(now, gits)
	maps.Copy(w.base, added)
	c := &watch{w: w, policy: p}
	if c.allowed, err = w.deeds.run(p.Allowed); err != nil {
		return nil, err
	}
	if w.mounts {
		c.mounted = inodes(p.unwritable())
	}
	w.live[c] = true
	return c, nil
}

// held are the directories in which paths are compared.
func (w *watcher) held() []string { return slices.Concat(w.roots, w.links) }

// look reads all protected paths; what did not change since the last look is
// not read again.
func (w *watcher) look() (map[string]*entry, []string, error) {
	var f found
	now := time.Now()
	for _, root := range w.roots {
		w.scan.walk(root, now, &f)
	}
	for _, git := range w.links {
		if _, err := os.Lstat(git); err == nil && !below(w.roots, git) {
			f.gits = append(f.gits, git)
		}
	}
	tops := slices.Concat(f.obeyed, f.gitFiles, w.named)
	for _, git := range f.gits {
		for _, part := range gitParts {
			tops = append(tops, filepath.Join(git, part))
		}
	}
	all := map[string]*entry{}
	for _, top := range tops {
		if !below(w.held(), top) {
			continue
		}
		if err := w.read(top, now, all); err != nil {
			return nil, nil, err
		}
		if real, err := filepath.EvalSymlinks(top); err == nil && real != top && below(w.held(), real) {
			if err := w.read(real, now, all); err != nil {
				return nil, nil, err
			}
		}
	}
	return all, f.gits, nil
}

// read adds path and what lies below it.
func (w *watcher) read(path string, now time.Time, all map[string]*entry) error {
	fi, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || all[path] != nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("protected path: %w", err)
	}
	if len(all) == maxEntries {
		return fmt.Errorf("protected path %s: there are more than %d protected files to compare", path, maxEntries)
	}
	e := &entry{stamp: stampOf(fi, now)}
	if fi.Mode().IsRegular() {
		e.born = bornAt(path)
	}
	if up, err := os.Lstat(filepath.Dir(path)); err == nil {
		e.parent = stampOf(up, now).ino
	}
	all[path] = e
	switch mode := fi.Mode(); {
	case mode.IsDir():
		entries, _ := readDir(path)
		for _, child := range entries {
			if err := w.read(filepath.Join(path, child.Name()), now, all); err != nil {
				return err
			}
		}
	case mode&fs.ModeSymlink != 0:
		e.link, err = os.Readlink(path)
		e.held = err == nil
	case mode.IsRegular() && fi.Size() <= maxHeld:
		if old := w.base[path]; old != nil && old.held && old.stamp.same(e.stamp) {
			e.data, e.held = old.data, true
			return nil
		}
		e.data, err = readHeld(path)
		e.held = err == nil
	}
	return nil
}

// readHeld reads a regular file of at most maxHeld bytes.
func readHeld(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxHeld+1))
	if err == nil && len(b) > maxHeld {
		err = errors.New("too large")
	}
	return b, err
}

// equal reports whether e and now are the same to every program.
func (e *entry) equal(now *entry) bool {
	switch {
	case e.stamp.mode != now.stamp.mode:
		return false
	case e.stamp.mode.IsDir(), e.stamp.same(now.stamp):
		return true
	}
	return e.held && now.held && e.link == now.link && bytes.Equal(e.data, now.data)
}

// end compares, restores, and returns the paths that it brought back to what
// they were, sorted. An error names what could not be restored. It must be
// called when nothing of the run is left, and can be called once.
func (c *watch) end() ([]string, error) {
	w := c.w
	w.mu.Lock()
	defer w.mu.Unlock()
	defer c.allowed()
	defer delete(w.live, c)
	changes, now, gits, err := w.compare()
	if err == nil && len(changes) > 0 { // of two at the same time only one takes back
		defer w.deeds.alone()()
		changes, now, gits, err = w.compare()
	}
	if err != nil {
		return nil, err
	}
	w.gits = gits
	return w.undo(changes, now)
}

// compare returns what must be taken back, and how it is now; what may stay
// becomes the state that later comparisons start from.
func (w *watcher) compare() (changes []string, now map[string]*entry, gits []string, err error) {
	allowed := w.deeds.allowed()
	if now, gits, err = w.look(); err != nil {
		return nil, nil, nil, err
	}
	w.learn(now, gits)
	var own, written []string
	for l := range w.live {
		own, written = append(own, l.policy.Allowed...), append(written, l.policy.Write...)
		if l.policy.Open { // a person approved that it writes anywhere
			written = append(written, "/")
		}
	}
	d := difference{before: w.base, now: now, known: w.gits, gits: gits, roots: w.roots, allowed: slices.Concat(own, allowed, w.deeds.allowed()), written: written,
		byOthers: func(path string) bool {
			for l := range w.live {
				if !l.covers(path) {
					return false
				}
			}
			return true
		}}
	changes = d.changes()
	for _, path := range d.accepted {
		w.accept(path, now[path])
		if below(own, path) {
			w.tell(path, now[path])
		}
	}
	return changes, now, gits, nil
}

// accept makes e the state of path that later comparisons start from.
func (w *watcher) accept(path string, e *entry) {
	if e == nil {
		delete(w.base, path)
		return
	}
	w.base[path] = e
}

// undo takes the changed paths back, outermost first.
func (w *watcher) undo(changes []string, now map[string]*entry) (restored []string, failed error) {
	w.count++
	dir := filepath.Join(w.quarantine, fmt.Sprintf("%s-%d", time.Now().UTC().Format("20060102T150405.000000000"), w.count))
	for _, path := range changes {
		held := w.held()
		i := slices.IndexFunc(held, func(r string) bool { return below([]string{r}, path) })
		if i < 0 {
			continue
		}
		u := undoing{root: held[i], dir: dir}
		rel, err := filepath.Rel(u.root, path)
		was := w.base[path]
		stays := was != nil && now[path] != nil && was.stamp.mode.IsDir() && now[path].stamp.mode.IsDir()
		if err == nil && now[path] != nil && !stays {
			err = u.away(rel)
		}
		if err == nil && was != nil {
			err = u.back(rel, was)
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("protected path %s was changed and is not as it was: %w", path, err))
			continue
		}
		restored = append(restored, path)
	}
	return slices.DeleteFunc(restored, func(p string) bool { return slices.Contains(restored, filepath.Dir(p)) }), failed
}
