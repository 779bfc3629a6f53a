//go:build linux || darwin

package sandbox

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// difference is what happened to protected paths during a run.
type difference struct {
	before, now map[string]*entry
	known, gits []string // git directories, before and now
	roots       []string
	allowed     []string // what a person let be written
	written     []string // what the runs may write outside the roots
	// byOthers reports whether no command that ran could write the path as it
	// stood.
	byOthers func(path string) bool

	accepted []string // changes that stay
	linked   []string // what stays as it is, but got a further name meanwhile
}

// changes returns the paths that must be taken back, outermost first, each once
// as a whole: below a directory that appeared nothing else is listed.
func (d *difference) changes() []string {
	var paths, changed []string
	for p := range d.now {
		paths = append(paths, p)
	}
	for p := range d.before {
		if d.now[p] == nil {
			paths = append(paths, p)
		}
	}
	slices.SortFunc(paths, func(a, b string) int { return cmp.Compare(a, b) })
	for _, p := range paths {
		was, now := d.before[p], d.now[p]
		switch {
		case was != nil && now != nil && was.equal(now):
			if now.linkedSince(was) && !below(d.allowed, p) {
				d.linked = append(d.linked, p)
			}
		case now != nil && now.opaque && !below(d.allowed, p):
			changed = append(changed, p)
		case below(d.allowed, p), was == nil && d.mayAppear(p, now), now == nil && d.mayGo(p), was != nil && now != nil && (d.mayChange(p, was, now) || d.edited(p, was, now)):
			d.accepted = append(d.accepted, p)
			if now != nil && now.linkedSince(was) && !below(d.allowed, p) {
				d.linked = append(d.linked, p)
			}
		default:
			changed = append(changed, p)
		}
	}
	return changed
}

// part splits a path in a git directory; ok is false for others.
func part(gits []string, path string) (git, name string, ok bool) {
	for _, g := range gits { // the longest counts
		if rest, in := strings.CutPrefix(path, g+"/"); in && len(g) > len(git) {
			git, name, ok = g, rest, true
		}
	}
	if ok {
		top, _, _ := strings.Cut(name, "/")
		ok = slices.ContainsFunc(gitParts, func(p string) bool { return p == name || p == top })
	}
	return git, name, ok
}

// mayAppear reports whether path, which was not there, makes nothing run: what
// git init, clone, worktree add and submodule update make, and what was moved
// together with the directory that holds it.
func (d *difference) mayAppear(path string, e *entry) bool {
	if fold(filepath.Base(path)) == ".git" { // a file that leads to a repository
		return e.held && slices.Contains(d.gits, once.leadsTo(path, "gitdir: "))
	}
	if harmlessFile(path, e) {
		return true
	}
	if git, name, ok := part(d.gits, path); ok {
		switch {
		case name == "config" || name == "config.worktree":
			return e.held && e.stamp.mode.IsRegular() && harmlessConfig(string(e.data), git, d.roots)
		case name == "hooks":
			return e.stamp.mode.IsDir()
		case strings.HasPrefix(name, "hooks/"):
			return strings.HasSuffix(name, ".sample") && e.stamp.mode.IsRegular()
		case name == "gitdir": // of a work tree: where it stands
			tree := strings.TrimSpace(string(e.data))
			if !filepath.IsAbs(tree) {
				tree = filepath.Join(filepath.Dir(path), tree)
			}
			tree = filepath.Clean(tree)
			return e.held && (below(d.roots, tree) || below(d.written, tree))
		case name == "commondir":
			return slices.Contains(d.gits, once.leadsTo(path, ""))
		case name == "info/exclude":
			return e.held && onlyComments(string(e.data))
		case name == "objects/info/alternates":
			return !slices.Contains(d.known, git)
		}
		return false
	}
	for old, was := range d.before { // moved with its directory
		if d.now[old] == nil && was.parent == e.parent && was.parent != 0 && filepath.Base(old) == filepath.Base(path) && was.equal(e) {
			return true
		}
	}
	return false
}

// harmlessFile reports whether path is a file of git's that belongs to the work
// tree and makes nothing run.
func harmlessFile(path string, e *entry) bool {
	if !e.held || !e.stamp.mode.IsRegular() {
		return false
	}
	switch fold(filepath.Base(path)) {
	case ".gitmodules":
		return harmlessModules(string(e.data))
	case ".gitattributes":
		return harmlessAttributes(string(e.data))
	}
	return false
}

// mayGo reports whether path went together with the directory that holds it, or
// made nothing run.
func (d *difference) mayGo(path string) bool {
	if harmlessFile(path, d.before[path]) {
		return true
	}
	if git, _, ok := part(d.known, path); ok {
		return !slices.Contains(d.gits, git)
	}
	if up := d.before[filepath.Dir(path)]; up != nil {
		return d.now[filepath.Dir(path)] == nil && d.mayGo(filepath.Dir(path))
	}
	_, err := os.Lstat(filepath.Dir(path))
	return err != nil
}

// mayChange reports whether git's own commands change path like that.
func (d *difference) mayChange(path string, was, now *entry) bool {
	if was.stamp.mode == now.stamp.mode && harmlessFile(path, was) && harmlessFile(path, now) {
		return true
	}
	git, name, ok := part(d.known, path)
	return ok && name == "config" && was.held && now.held && was.stamp.mode == now.stamp.mode &&
		harmlessChange(string(was.data), string(now.data), git, d.roots)
}

// linkedSince reports whether the file e has more names than was, or than one
// where was is nil or another file: under the others a command can write it that
// cannot write it where it stands.
func (e *entry) linkedSince(was *entry) bool {
	names := uint64(1)
	if was != nil && was.inode() == e.inode() {
		names = max(names, was.stamp.names)
	}
	return e.stamp.mode.IsRegular() && e.stamp.names > names
}

// edited reports whether a person, or a program outside, wrote the file: it is
// still the one that was mounted read-only for all commands that ran since it was
// looked at, and neither had nor has another name by which they could have written
// it. A file that came in its place is not told apart: it had a name of its own
// before, under which a command could open it, and the mount went with the old
// one. What makes git run programs is never taken for edited: commands of git may
// write it, and what it says is judged.
func (d *difference) edited(path string, was, now *entry) bool {
	if !now.stamp.mode.IsRegular() || was.stamp.mode != now.stamp.mode || was.inode() != now.inode() || now.born == 0 || was.stamp.names != 1 || now.stamp.names != 1 {
		return false
	}
	if _, name, ok := part(d.known, path); ok && (name == "config" || name == "config.worktree" || strings.HasPrefix(name, "hooks/")) {
		return false
	}
	return d.byOthers != nil && d.byOthers(path)
}

func onlyComments(text string) bool {
	return !slices.ContainsFunc(strings.Split(text, "\n"), func(l string) bool { return l != "" && l[0] != '#' })
}
