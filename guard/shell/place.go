package shell

import (
	"path"
	"slices"
	"strings"

	"handrail/guard"
	"handrail/guard/disk"
)

// place is where a path may lead.
type place struct {
	path  string // absolute, resolved
	exact bool   // it is this one; else somewhere at or below
	wild  bool   // it may also be anywhere else
	odd   string // why the path may lead elsewhere when the call runs, or ""
	full  string // the path before links were followed, absolute
}

// file is what this call writes to a path.
type file struct {
	text        // what is written, after what the file "of" holds
	of   string // a file on the disk whose content comes first, or ""
	deep bool   // a tree came to be here
	// built says that a compiler made it from code of the workspace.
	built bool
}

// places returns where a path word may lead from the current directory. With
// link, a link in the last place stands for itself.
func (w *reading) places(st *state, t text, link bool) []place {
	s := t.s
	p := place{exact: t.class == exact, wild: t.class == wild}
	if !p.exact {
		s = s[:strings.LastIndexByte(s, '/')+1]
		link = false
		if p.wild && t.s == "" {
			return []place{{path: "/", wild: true}}
		}
	}
	if strings.HasPrefix(s, "/") {
		return []place{w.resolve(p, s, link)}
	}
	if len(st.dirs) == 0 {
		return []place{{path: "/", wild: true}}
	}
	out := make([]place, 0, len(st.dirs))
	for _, d := range st.dirs {
		if base, in := strings.CutSuffix(d, somewhere); in {
			out = append(out, w.inside(p, base, t.s))
			continue
		}
		full := d + "/" + s
		if s == "" || s == "." {
			full = d
		}
		out = append(out, w.resolve(p, full, link))
	}
	return out
}

// somewhere ends the name of a directory that is known only to be at or below
// it. No path has it.
const somewhere = "/\x00"

// inside returns where a relative word leads from a directory somewhere at or
// below base: there too, unless the word goes up.
func (w *reading) inside(p place, base, word string) place {
	for part := range strings.SplitSeq(word, "/") {
		if strings.HasPrefix(part, "..") {
			return place{path: "/", wild: true}
		}
	}
	p.exact = false
	return w.resolve(p, base, false)
}

// dir returns the current directory where it is known.
func (st *state) dir() (string, bool) {
	if len(st.dirs) != 1 || strings.HasSuffix(st.dirs[0], somewhere) {
		return "", false
	}
	return st.dirs[0], true
}

// enters returns the directories in which a change to a place may end; none
// where that is not known.
func enters(at []place) (dirs []string) {
	for _, p := range at {
		switch {
		case p.wild || p.odd != "":
			return nil
		case p.exact:
			dirs = append(dirs, p.path)
		default:
			dirs = append(dirs, p.path+somewhere)
		}
	}
	return dirs
}

// resolve follows links, those on the disk and those that this call makes.
func (w *reading) resolve(p place, full string, link bool) place {
	if strings.HasSuffix(full, "/") { // then a link is followed
		link = false
	}
	p.full = full
	for range 8 {
		var ok bool
		if link {
			p.path, ok = w.view.ResolveLink(full)
		} else {
			p.path, ok = w.view.Resolve(full)
		}
		if !ok {
			p.odd = "where " + path.Clean(full) + " leads could not be told"
		}
		next, moved := w.virtual(&p, link)
		if !moved {
			return p
		}
		full = next
	}
	p.odd = "links that lead in a circle"
	return p
}

// virtual follows the links that this call makes.
func (w *reading) virtual(p *place, link bool) (next string, moved bool) {
	for l, to := range w.links {
		rest, ok := strings.CutPrefix(p.path, l)
		if !ok || rest != "" && rest[0] != '/' || rest == "" && link {
			continue
		}
		if to.class != exact {
			p.odd = "a link made in the same call leads to a place that is not known"
			p.wild = true
			return "", false
		}
		if strings.HasPrefix(to.s, "/") {
			return to.s + rest, true
		}
		return path.Dir(l) + "/" + to.s + rest, true
	}
	return "", false
}

// device reports whether a path is a stream or device that nothing depends on.
func device(p string) bool {
	switch p {
	case "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/stdin", "/dev/stdout", "/dev/stderr":
		return true
	}
	return strings.HasPrefix(p, "/dev/fd/")
}

// touch emits an effect on a place and says what is not known about it.
func (w *reading) touch(p place, e guard.Effect, t text) int {
	e.Target, e.Exact = p.path, p.exact && !p.wild
	i := w.emit(e)
	switch {
	case e.Action == "list": // names alone
	case p.odd != "":
		w.hide(e.Command, p.odd, e.Written)
	case p.wild && (p.path == "/" && t.s == "" || e.Kind != guard.Read):
		w.hide(e.Command, "which path is meant is not known", e.Written)
	case e.Kind != guard.Read && w.replaced(p.path, false):
		w.hide(e.Command, p.path+" lies in a tree that the same call brings", e.Written)
	}
	if e.Kind == guard.Write || e.Kind == guard.Delete {
		w.changed = true
	}
	if e.Kind == guard.Write && p.exact && !p.wild {
		w.relink(p, e)
	}
	return i
}

// relink adds that what stands at a path is written where that is a link: many
// programs put a new file in its place, and what the link is for changes too.
func (w *reading) relink(p place, e guard.Effect) {
	if at, ok := w.view.ResolveLink(p.full); ok && at != p.path && !device(at) && w.view.Stat(p.path).Type != disk.Dir {
		e.Target = at
		w.emit(e)
	}
}

// replaced reports whether a path lies below a tree that this call unpacks or
// copies: links in it may lead anywhere. A tree that holds a whole workspace
// root counts only with roots.
func (w *reading) replaced(p string, roots bool) bool {
	for dir := path.Dir(p); len(w.files) > 0 && len(dir) > 1; dir = path.Dir(dir) {
		if f, ok := w.files[dir]; ok && f.deep && !f.built && (roots || !w.holdsRoot(dir)) {
			return true
		}
	}
	return false
}

// holdsRoot reports whether a workspace root lies at or below dir.
func (w *reading) holdsRoot(dir string) bool {
	for _, r := range w.Roots {
		if r == dir || strings.HasPrefix(r, dir+"/") || dir == "/" {
			return true
		}
	}
	return false
}

// inRoots reports whether a path lies in the workspace.
func (w *reading) inRoots(p string) bool {
	return slices.ContainsFunc(w.Roots, func(r string) bool { return p == r || strings.HasPrefix(p, r+"/") })
}

// wrote remembers what a path holds from now on.
func (w *reading) wrote(p place, t text, add, maybe bool) {
	if !p.exact || p.wild || device(p.path) {
		return
	}
	if w.files == nil {
		w.files = map[string]file{}
	}
	old, had := w.files[p.path]
	if add && !had && w.view.Stat(p.path).Type != disk.Absent {
		old.of = p.path // it is read only where it matters
	}
	of := ""
	switch {
	case maybe:
		t = unknown(t.from.with(old.from))
	case add && old.class == exact && t.class == exact && len(old.s)+len(t.s) <= w.limits.Bytes:
		t, of = text{s: old.s + t.s, from: old.from.with(t.from)}, old.of
	case add:
		t = unknown(t.from.with(old.from))
	}
	w.files[p.path] = file{text: t, of: of}
	delete(w.links, p.path)
}

// brought remembers that a tree came to be at a path.
func (w *reading) brought(p place, from taint) {
	if p.wild {
		return
	}
	if w.files == nil {
		w.files = map[string]file{}
	}
	w.files[p.path] = file{text: unknown(from), deep: true}
}

// content returns what a file will hold when this call reads it. ok is false
// where it will not be there or cannot be read; then t says what is known.
func (w *reading) content(p string) (t text, ok bool) {
	if f, had := w.files[p]; had {
		if f.of == "" || f.class != exact {
			return f.text, f.class == exact
		}
		b, err := w.view.ReadFile(f.of, w.limits.Bytes)
		if err != nil {
			return unknown(f.from), false
		}
		w.record(f.of, b)
		return text{s: string(b) + f.s, from: f.from}, true
	}
	if w.replaced(p, true) {
		return unknown(nil), false
	}
	b, err := w.view.ReadFile(p, w.limits.Bytes)
	if err != nil {
		return unknown(nil), false
	}
	return known(string(b)), true
}
