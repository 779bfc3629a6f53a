//go:build linux || darwin

package sandbox

import (
	"io/fs"
	"path/filepath"
	"strings"
)

// learn brings what was done on purpose meanwhile into base: what was done last
// to a path is what it must be from then on.
func (w *watcher) learn(now map[string]*entry, gits []string) {
	for _, d := range w.deeds.since(w.seen) {
		done := strings.HasPrefix(d.name, did)
		w.seen[d.name] = done
		was, is := w.base[d.Path], now[d.Path]
		if was == nil && is == nil && !w.watches(d.Path, gits) {
			continue
		}
		e := d.state(was, is)
		stands := e == nil && is == nil || e != nil && is != nil && e.equal(is)
		if stands {
			e = is
		}
		if !stands && !done {
			continue
		}
		w.accept(d.Path, e)
		for dir := filepath.Dir(d.Path); e != nil && w.base[dir] == nil && fold(filepath.Base(dir)) != ".git" && w.watches(dir, gits); dir = filepath.Dir(dir) {
			w.base[dir] = &entry{stamp: stamp{mode: fs.ModeDir | 0o755, racy: true}} // made for it
		}
	}
}

// state is what d makes of its path, which was and now is; nil is nothing.
func (d *deed) state(was, is *entry) *entry {
	if d.Gone {
		return nil
	}
	e := &entry{link: d.Link, data: d.Data, held: true}
	if was != nil { // the file itself may be the same
		e.stamp, e.born, e.parent = was.stamp, was.born, was.parent
	}
	e.stamp.racy = true
	switch {
	case d.Mode != 0:
		e.stamp.mode = d.Mode
	case was != nil && was.stamp.mode.IsRegular():
		e.stamp.mode = was.stamp.mode.Perm()
	case is != nil && !is.opaque && is.stamp.mode&^0o644 == 0: // as the umask has it
		e.stamp.mode = is.stamp.mode
	default:
		e.stamp.mode = 0o644
	}
	return e
}

// tell notes that path was let be changed to e; nil is nothing. Where that cannot
// be noted, or e is too large, others may take it back.
func (w *watcher) tell(path string, e *entry) {
	d := &deed{Path: path, Gone: e == nil}
	if e != nil {
		d.Mode, d.Link, d.Data = e.stamp.mode, e.link, e.data
		if !e.held && !d.Mode.IsDir() {
			return
		}
	}
	if w.deeds.done(d) == nil {
		w.seen[d.name] = true
	}
}

// watches reports whether path is compared, by its name alone; see look.
func (w *watcher) watches(path string, gits []string) bool {
	if _, _, ok := part(gits, path); ok || below(w.named, path) && below(w.held(), path) {
		return true
	}
	for _, root := range w.roots {
		rel, ok := strings.CutPrefix(path, root+"/")
		var above []string
		for rest := rel; ok && rest != ""; {
			var name string
			name, rest, _ = strings.Cut(rest, "/")
			name = fold(name)
			if obeyed(above, name) || name == ".git" && rest == "" {
				return true
			}
			ok = name != "node_modules"
			above = append(above, name)
		}
	}
	return false
}
