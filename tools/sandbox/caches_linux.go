package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// caches are the package caches of the host as a session sees them: under an
// overlay whose upper layer is the session's own, else an empty directory of its
// own. What commands write is never the host's.
type caches struct {
	dir   string // the session's own, below State
	stage *stage // nil where there are no overlays

	mu     sync.Mutex
	source map[string]string // what is bound at each cache
}

func newCaches(state string, stage *stage) (*caches, error) {
	left, _ := filepath.Glob(filepath.Join(state, "caches-*-*"))
	for _, dir := range left { // of servers that were killed
		var pid int
		if _, err := fmt.Sscanf(filepath.Base(dir), "caches-%d-", &pid); err == nil && !alive(pid) {
			_ = removeTree(dir)
		}
	}
	dir, err := os.MkdirTemp(state, fmt.Sprintf("caches-%d-", os.Getpid()))
	if err != nil {
		return nil, fmt.Errorf("caches of the session: %w", err)
	}
	return &caches{dir: dir, stage: stage, source: map[string]string{}}, nil
}

// at returns what is to be bound at the cache path.
func (c *caches) at(path string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.source[path]; s != "" {
		return s, nil
	}
	own := filepath.Join(c.dir, fmt.Sprint(len(c.source)))
	o := overlay{Lower: path, Upper: filepath.Join(own, "upper"), Work: filepath.Join(own, "work")}
	for _, dir := range []string{o.Upper, o.Work} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", fmt.Errorf("cache %s: %w", path, err)
		}
	}
	c.source[path] = o.Upper // empty, if nothing can be laid over the host's
	if st, err := os.Stat(path); err == nil && st.IsDir() && c.stage != nil && !strings.ContainsAny(path+own, `,:\`) {
		if _, err := c.stage.ask(cue{Overlay: &o}); err == nil {
			c.source[path] = path
		}
	}
	return c.source[path], nil
}

// plan adds the caches of p. One that lies in another is a part of it.
func (c *caches) plan(m *plan, p *Policy, more []string) error {
	paths := slices.Concat(more, p.Caches)
	slices.Sort(paths)
	var done []string
	for _, path := range paths {
		if !filepath.IsAbs(path) || below(done, path) || below(p.Roots, path) {
			continue
		}
		if !m.sight.look(path, true).there() && m.visible(path) {
			continue // there is no place for it
		}
		source, err := c.at(path)
		if err != nil {
			return err
		}
		m.id(source)
		m.args = append(m.args, "--bind", source, path)
		m.last[path] = "--bind"
		done = append(done, path)
	}
	return nil
}

// close removes what commands wrote.
func (c *caches) close() error { return removeTree(c.dir) }

// removeTree removes dir, also where a directory in it cannot be written or
// entered, as in module caches and after overlays.
func removeTree(dir string) error {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}
