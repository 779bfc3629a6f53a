//go:build linux || darwin

package sandbox

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// watcher compares the protected paths of a session before and after each run,
// puts back what changed and moves away what appeared. What is the same is told
// by inode and times, else by content. It is safe for concurrent use.
type watcher struct {
	quarantine string // a directory of the server's own, outside the workspaces
	mounts     bool   // existing protected paths are mounted read-only for commands
	deeds      Deeds
	most       int // protected files that are compared

	mu    sync.Mutex
	scan  scan
	live  map[*watch]bool
	base  map[string]*entry // how it was when the first of live began
	gits  []string          // git directories at that time
	roots []string          // of all that live
	links []string          // git directories outside of the roots that they belong to
	named []string          // protected, secret and allowed paths of all that live
	seen  map[string]bool   // deeds that base has
	loose map[string]bool   // what one that has ended since then could write

	ground *ground // of the last run

	linked []string         // what got a further name, as the last comparison found it
	owed   map[string]owing // what could not be taken back
	count  int
}

// watch is one run that is compared.
type watch struct {
	w      *watcher
	policy *Policy
	ground *ground
	// mounted is what was mounted read-only for the command.
	mounted map[string]inode
	allowed func() // ends what is noted of what it may change
}

// ground is what a run of a policy finds: the git directories of each root, and
// where protected paths are mounted what is not written, and of that what is not
// there, and what is. It is not changed once it is made.
type ground struct {
	roots, held, allowed []string // of the policy
	config               bool
	unwritable           []string
	gone                 map[string]bool // as far as absent tells
	there                map[string]inode
	sight                *sight
}

// of returns the ground of a run of p: g, unless that is of another policy, or
// something is not as it was. It may be nil.
func (g *ground) of(p *Policy, mounts bool) *ground {
	held := slices.Concat(p.Protected, p.Secrets)
	if g != nil && slices.Equal(g.roots, p.Roots) && slices.Equal(g.held, held) && slices.Equal(g.allowed, p.Allowed) && g.config == p.GitConfig && g.sight.same() {
		return g
	}
	g = &ground{roots: slices.Clone(p.Roots), held: held, allowed: slices.Clone(p.Allowed), config: p.GitConfig, sight: &sight{}}
	for _, root := range p.Roots {
		g.sight.gitDirs(root)
	}
	if !mounts {
		return g
	}
	g.unwritable = g.sight.unwritable(p)
	g.gone = g.sight.absent(g.unwritable)
	g.there = map[string]inode{}
	for _, path := range g.unwritable {
		if g.gone[path] {
			continue
		}
		if at := g.sight.look(path, false); at.there() && at.born != 0 { // 0: this file system does not tell files apart
			g.there[path] = at.inode
		}
	}
	return g
}

// newWatcher returns one that keeps its things in state.
func newWatcher(state string) *watcher {
	return &watcher{quarantine: filepath.Join(state, "quarantine"), deeds: DeedsOf(state), scan: scan{seen: map[string]*listing{}}, live: map[*watch]bool{}, owed: map[string]owing{}, most: maxEntries}
}

// begin remembers the protected paths as they are. An error says that nothing
// may run. Runs at the same time share what the first of them remembered.
func (w *watcher) begin(p *Policy) (*watch, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.live) == 0 {
		w.roots, w.links, w.named, w.seen, w.loose = nil, nil, nil, map[string]bool{}, map[string]bool{}
		for _, name := range w.deeds.names() {
			w.seen[name] = strings.HasPrefix(name, did)
		}
	}
	w.ground = w.ground.of(p, w.mounts)
	for _, path := range p.Roots {
		if !slices.Contains(w.roots, path) {
			w.roots = append(w.roots, path)
			w.links = append(w.links, w.ground.sight.gitDirs(path)...)
		}
	}
	var fresh []string
	for _, path := range slices.Concat(p.Protected, p.Secrets, p.Allowed) {
		if !slices.Contains(w.named, path) {
			w.named, fresh = append(w.named, path), append(fresh, path)
		}
	}
	now, gits, err := w.look(false)
	if err != nil {
		return nil, err
	}
	if settled, err := w.settle(now); err != nil {
		return nil, err
	} else if settled {
		if now, gits, err = w.look(false); err != nil {
			return nil, err
		}
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
	for path, e := range added {
		w.accept(path, e)
	}
	c := &watch{w: w, policy: p}
	if c.allowed, err = w.deeds.run(p.Allowed); err != nil {
		return nil, err
	}
	c.mounted = w.ground.there
	c.ground = w.ground
	w.live[c] = true
	return c, nil
}

// end compares, restores, and returns the paths that it brought back to what
// they were, sorted. An error names what could not be restored. It must be
// called when nothing of the run is left, and can be called once.
func (c *watch) end() ([]string, error) {
	w := c.w
	w.mu.Lock()
	defer w.mu.Unlock()
	defer c.allowed()
	defer w.leave(c)
	changes, now, gits, err := w.compare()
	if err == nil && len(changes)+len(w.linked) > 0 { // of two at the same time only one takes back
		defer w.deeds.alone()()
		changes, now, gits, err = w.compare()
	}
	if err != nil {
		return nil, err
	}
	w.gits = gits
	unlisted := w.scan.failed
	restored, err := w.undo(changes, now)
	return restored, errors.Join(unlisted, err)
}

// compare returns what must be taken back, and how it is now; what may stay
// becomes the state that later comparisons start from.
func (w *watcher) compare() (changes []string, now map[string]*entry, gits []string, err error) {
	allowed := w.deeds.allowed()
	if now, gits, err = w.look(true); err != nil {
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
		byOthers: w.covered}
	changes = d.changes()
	for _, path := range d.accepted {
		w.accept(path, now[path])
		if below(own, path) {
			w.tell(path, now[path])
		}
	}
	w.linked = d.linked
	for _, path := range d.linked {
		if w.base[path] == now[path] { // of which only this name will stay
			e := *now[path]
			e.stamp.names = 1
			w.base[path] = &e
		}
	}
	return changes, now, gits, nil
}

// covered reports whether no command could write path since base was taken.
func (w *watcher) covered(path string) bool {
	if w.loose[path] {
		return false
	}
	for l := range w.live {
		if !l.covers(path) {
			return false
		}
	}
	return true
}

// leave ends what c could do. What it could write it may have given a name of its
// own, which commands find that cannot write the file itself.
func (w *watcher) leave(c *watch) {
	delete(w.live, c)
	if len(w.live) == 0 {
		return
	}
	for path := range w.base {
		if !w.loose[path] && !c.covers(path) {
			w.loose[path] = true
		}
	}
}

// accept makes e the state of path that later comparisons start from. Its times
// tell nothing of what comes: what runs may have the file open, or mapped.
func (w *watcher) accept(path string, e *entry) {
	if e == nil {
		delete(w.base, path)
		return
	}
	e.stamp.racy = true
	w.base[path] = e
}
