package mcpserver

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	dirs "handrail/tools/place"
)

// passRoot is what to do where no directory can be the workspace.
const passRoot = "start the server with --root DIR, where DIR is the project's directory (in the client's MCP configuration: add \"--root\", \"DIR\" to the arguments)"

// workspace knows the roots: those the user gave, those the clients name, and
// the working directory where neither does.
type workspace struct {
	fixed  []string // given by the user: absolute, resolved
	dir    string   // the working directory, resolved; empty where it cannot be a root
	dirErr error    // why
	homes  []string
	refuse func(root string) error

	mu       sync.Mutex
	sessions map[string]*clientRoots
}

// clientRoots are the roots of one session.
type clientRoots struct {
	asking sync.Mutex // held while the client is asked
	mu     sync.Mutex
	known  bool
	change int // counts list_changed: an answer from before it is stale
	roots  []string
	err    error
}

func newWorkspace(o Options) (*workspace, error) {
	w := &workspace{sessions: map[string]*clientRoots{}, refuse: o.Refuse}
	if w.homes = o.Homes; w.homes == nil {
		w.homes = dirs.Homes()
	}
	for _, r := range o.Roots {
		root, err := w.root(r)
		if err != nil {
			return nil, fmt.Errorf("--root %s: %w; pass the directory of one project instead", r, err)
		}
		if !slices.Contains(w.fixed, root) {
			w.fixed = append(w.fixed, root)
		}
	}
	if len(w.fixed) > 0 {
		return w, nil
	}
	dir := o.Dir
	if dir == "" {
		d, err := os.Getwd()
		if err != nil {
			w.dirErr = fmt.Errorf("the working directory is not known: %w", err)
			return w, nil
		}
		dir = d
	}
	if w.dir, w.dirErr = w.root(dir); w.dirErr != nil {
		w.dirErr = fmt.Errorf("the working directory %s: %w", dir, w.dirErr)
		o.Log.Warn("only roots that the client names can be the workspace", "err", w.dirErr, "instead", passRoot)
	}
	return w, nil
}

// root resolves a directory that is to be a workspace root of this server.
func (w *workspace) root(dir string) (string, error) {
	resolved, err := dirs.Root(dir, w.homes)
	if err == nil && w.refuse != nil {
		err = w.refuse(resolved)
	}
	if err != nil {
		return "", err
	}
	return resolved, nil
}

// given are the roots without a client's say.
func (w *workspace) given() ([]string, error) {
	if len(w.fixed) > 0 {
		return w.fixed, nil
	}
	if w.dirErr != nil {
		return nil, w.dirErr
	}
	return []string{w.dir}, nil
}

// combine turns what a client names (file: URIs) into the roots of its session.
// Where the user gave roots, only what both have is left.
func (w *workspace) combine(uris []string) ([]string, error) {
	if len(uris) == 0 {
		return w.given()
	}
	var roots []string
	var wrong []error
	add := func(r string) {
		if !slices.Contains(roots, r) {
			roots = append(roots, r)
		}
	}
	for _, uri := range uris {
		path, err := filePath(uri)
		if err == nil && len(w.fixed) == 0 {
			path, err = w.root(path)
		} else if err == nil {
			path, err = dirs.Directory(path)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("the client's root %.200q: %w", uri, err))
			continue
		}
		if len(w.fixed) == 0 {
			add(path)
			continue
		}
		n := len(roots)
		for _, f := range w.fixed {
			switch {
			case dirs.Inside(path, f):
				add(path)
			case dirs.Inside(f, path):
				add(f)
			}
		}
		if len(roots) == n {
			wrong = append(wrong, fmt.Errorf("the client's root %.200q is outside of --root %s", uri, strings.Join(w.fixed, ", ")))
		}
	}
	if len(roots) == 0 {
		return nil, errors.Join(wrong...)
	}
	return roots, nil
}

// filePath is the path of a file: URI on this machine (RFC 8089), cleaned.
func filePath(uri string) (string, error) {
	u, err := url.Parse(uri)
	if err != nil {
		return "", errors.New("is not a URI")
	}
	switch {
	case u.Scheme != "file", u.Opaque != "", u.User != nil, u.RawQuery != "", u.ForceQuery, u.Fragment != "":
		return "", errors.New("is not a plain file: URI")
	case u.Host != "" && u.Host != "localhost":
		return "", errors.New("is on another machine")
	case !filepath.IsAbs(u.Path), strings.ContainsRune(u.Path, 0):
		return "", errors.New("has no absolute path")
	}
	return filepath.Clean(u.Path), nil
}

// session is what is known of a session's roots.
func (w *workspace) session(id string) *clientRoots {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.sessions[id]
	if c == nil {
		c = &clientRoots{}
		w.sessions[id] = c
	}
	return c
}

// forget makes the next call ask the client anew. It does not wait for one that
// asks just now: the answer to that comes through the caller.
func (w *workspace) forget(id string) {
	c := w.session(id)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known, c.change = false, c.change+1
}

// end drops a session.
func (w *workspace) end(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.sessions, id)
}

// cached returns the session's roots where they are known, and otherwise the
// count that keep needs.
func (c *clientRoots) cached() (roots []string, known bool, change int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.roots, c.known, c.change, c.err
}

// keep remembers an answer, unless the roots changed after it was asked for.
func (c *clientRoots) keep(roots []string, err error, change int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if change == c.change {
		c.roots, c.err, c.known = roots, err, true
	}
}
