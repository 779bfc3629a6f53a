package disk

import (
	"os"
	"path/filepath"
	"strings"

	"handrail/guard"
)

// maxLoss is the number of files after which Loss stops counting.
const maxLoss = 4000

// work is a git work tree as far as it was read.
type work struct {
	root   string
	index  map[string]indexEntry
	dirs   map[string]bool         // directories that hold something tracked
	ignore map[string][]ignoreRule // by directory relative to root, "" first
	broken bool                    // the index could not be read
}

// Loss counts what stands at or below path (absolute, resolved), by what could
// bring it back. It asks git's files, never git. It is nil where path could not
// be looked at; an absent path is an empty loss.
func (v *View) Loss(path string) *guard.Loss {
	n := v.lstat(path)
	switch {
	case n.info.Type == Absent:
		return &guard.Loss{}
	case n.info.Type == Unknown:
		return nil
	}
	l := &guard.Loss{}
	w := v.work(filepath.Dir(path))
	rel := ""
	ignoredAbove := false
	if w != nil {
		rel, _ = filepath.Rel(w.root, path)
		ignoredAbove = w.ignoredAbove(rel)
	}
	if n.info.Type != Dir || n.link {
		w.count(l, path, rel, ignoredAbove || w.ignores(rel, false))
		return l
	}
	countBelow(l, w, path, rel, ignoredAbove || w.ignores(rel, true))
	return l
}

// countBelow counts below dir until the limit.
func countBelow(l *guard.Loss, w *work, dir, rel string, ignored bool) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		l.More = true
		return
	}
	for _, e := range entries {
		if l.Files >= maxLoss {
			l.More = true
			return
		}
		path, sub := filepath.Join(dir, e.Name()), filepath.Join(rel, e.Name())
		switch {
		case e.IsDir() && (e.Name() == ".git" || nested(path)):
			countBelow(l, nil, path, sub, false) // a repository: nothing outside it has it
		case e.IsDir():
			countBelow(l, w, path, sub, ignored || w.ignores(sub, true))
		default:
			w.count(l, path, sub, ignored || w.ignores(sub, false))
		}
	}
}

// nested reports whether dir is the top of another repository.
func nested(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}

// count adds one file to l.
func (w *work) count(l *guard.Loss, path, rel string, ignored bool) {
	l.Files++
	if w == nil || w.broken {
		l.Untracked++
		return
	}
	e, tracked := w.index[rel]
	switch {
	case tracked && unchanged(path, e):
		l.Clean++
	case tracked:
		l.Changed++
	case ignored:
		l.Ignored++
	default:
		l.Untracked++
	}
}

// unchanged compares size and time of modification, as git does before it
// reads the content. Doubt counts as changed.
func unchanged(path string, e indexEntry) bool {
	fi, err := os.Lstat(path)
	if err != nil || uint32(fi.Size()) != e.size {
		return false
	}
	t := fi.ModTime()
	return uint32(t.Unix()) == e.mtimeSec && (e.mtimeNsec == 0 || uint32(t.Nanosecond()) == e.mtimeNsec)
}

// work finds the work tree that dir belongs to and reads its index; nil where
// there is none.
func (v *View) work(dir string) *work {
	for ; ; dir = filepath.Dir(dir) {
		git := filepath.Join(dir, ".git")
		if n := v.lstat(git); n.info.Type == Dir || n.info.Type == File {
			return readWork(dir, git, n.info.Type == File)
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

func readWork(root, git string, isFile bool) *work {
	w := &work{root: root, dirs: map[string]bool{}, ignore: map[string][]ignoreRule{}}
	common := git
	if isFile { // a linked work tree or submodule: "gitdir: PATH"
		b := readBounded(git, 4096)
		target, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "gitdir: ")
		if !ok {
			w.broken = true
			return w
		}
		git = absolute(root, target)
		common = git
		if b := readBounded(filepath.Join(git, "commondir"), 4096); b != nil {
			common = absolute(git, strings.TrimSpace(string(b)))
		}
	}
	b := readBounded(filepath.Join(git, "index"), maxIndex)
	index, err := parseIndex(b)
	if b != nil && err != nil {
		w.broken = true
	}
	w.index = index
	for name := range index {
		for d := parent(name); d != "" && !w.dirs[d]; d = parent(d) {
			w.dirs[d] = true
		}
	}
	w.ignore["\x00exclude"] = parseIgnore(string(readBounded(filepath.Join(common, "info", "exclude"), 1<<20)))
	return w
}

// ignores reports whether git ignores rel (relative to the work tree), judged
// by the rules of every directory above it. Its parents are not looked at.
func (w *work) ignores(rel string, dir bool) bool {
	if w == nil || w.broken || rel == "." || rel == "" {
		return false
	}
	if dir && w.dirs[rel] {
		return false // something below it is tracked: go and look
	}
	verdict := ignored(w.ignore["\x00exclude"], rel, dir)
	for d := ""; ; {
		sub := strings.TrimPrefix(strings.TrimPrefix(rel, d), "/")
		if v := ignored(w.rules(d), sub, dir); v != 0 {
			verdict = v
		}
		next, _, found := strings.Cut(sub, "/")
		if !found {
			return verdict > 0
		}
		d = filepath.Join(d, next)
	}
}

// ignoredAbove reports whether a directory above rel is ignored.
func (w *work) ignoredAbove(rel string) bool {
	for d := parent(rel); d != ""; d = parent(d) {
		if w.ignores(d, true) {
			return true
		}
	}
	return false
}

// rules returns the rules of the gitignore file in directory d of the work tree.
func (w *work) rules(d string) []ignoreRule {
	r, ok := w.ignore[d]
	if !ok {
		r = parseIgnore(string(readBounded(filepath.Join(w.root, d, ".gitignore"), 1<<20)))
		w.ignore[d] = r
	}
	return r
}

// readBounded reads a regular file of at most limit bytes; nil where it is not one.
func readBounded(path string, limit int) []byte {
	var v View
	b, err := v.ReadFile(path, limit)
	if err != nil {
		return nil
	}
	return b
}

func absolute(base, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}

func parent(rel string) string {
	i := strings.LastIndexByte(rel, filepath.Separator)
	if i < 0 {
		return ""
	}
	return rel[:i]
}
