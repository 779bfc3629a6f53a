//go:build linux || darwin

package tools

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"handrail/tools/place"
)

// Bounds of the search for files of secrets in a workspace; the nearest to its
// roots are found first.
const (
	guardedDirs = 20_000  // directories of one workspace
	guardedMost = 200_000 // entries that are read anew for one call
	guardedKept = 100_000 // directories of all workspaces that are remembered
	unsettled   = 50 * time.Millisecond
)

// crowded are directories that hold what others made.
var crowded = []string{".git", "node_modules", "vendor", "target", "dist", "build", "__pycache__", "site-packages", ".venv", "venv"}

// guarded lists the files of workspaces that hold secrets, by their names: a
// contained command reads them and cannot change them. It remembers what lies in
// a directory until that changes. The zero value and nil know nothing yet; it is
// safe for concurrent use.
type guarded struct {
	mu   sync.Mutex
	dirs map[string]listing
}

// listing is what counts of one directory.
type listing struct {
	dev, inode    uint64
	changed       int64 // ctime, which no program sets, in ns
	deeper, files []string
}

// of returns the files of secrets below roots.
func (g *guarded) of(roots []string) (found []string) {
	if g == nil {
		g = &guarded{}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dirs == nil || len(g.dirs) > guardedKept {
		g.dirs = map[string]listing{}
	}
	read := 0
	for _, root := range roots {
		queue := []string{root}
		for n := 0; n < len(queue) && n < guardedDirs && read < guardedMost; n++ {
			l, entries := g.list(queue[n])
			read += entries
			found = append(found, l.files...)
			queue = append(queue, l.deeper...)
		}
	}
	return found
}

// list returns what counts of a directory, and how many entries were read for
// that. What changed a moment ago is not remembered: it may change again without
// another time.
func (g *guarded) list(dir string) (l listing, entries int) {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return listing{}, 0
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return listing{}, 0
	}
	now := time.Now()
	l = listing{dev: uint64(st.Dev), inode: st.Ino, changed: place.ChangedAt(st)}
	if old, ok := g.dirs[dir]; ok && old.dev == l.dev && old.inode == l.inode && old.changed == l.changed {
		return old, 0
	}
	all, _ := os.ReadDir(dir)
	for _, e := range all {
		name := strings.ToLower(e.Name())
		switch {
		case e.IsDir() && !slices.Contains(crowded, name):
			l.deeper = append(l.deeper, filepath.Join(dir, e.Name()))
		case e.Type().IsRegular() && secretName(name):
			l.files = append(l.files, filepath.Join(dir, e.Name()))
		}
	}
	if now.Sub(time.Unix(0, l.changed)) > unsettled {
		g.dirs[dir] = l
	} else {
		delete(g.dirs, dir)
	}
	return l, len(all)
}

// secretName reports whether a file (lower case) is there to hold secrets. The
// guard's own tables are wider: it only asks about writing, while this would
// keep git from checking out a source file that is named like one.
func secretName(name string) bool {
	if rest, ok := strings.CutPrefix(name, ".env"); ok {
		example := slices.ContainsFunc([]string{"example", "sample", "template", "dist", "defaults", "schema"}, func(w string) bool { return strings.HasSuffix(rest, w) })
		return (rest == "" || rest[0] == '.') && !example
	}
	return slices.Contains([]string{".netrc", "_netrc", ".git-credentials", ".pgpass", ".my.cnf", ".pypirc", ".vault-token", ".htpasswd", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"}, name)
}
