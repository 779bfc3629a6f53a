package disk

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// work is a git work tree as far as it was read.
type work struct {
	root    string
	git     string    // its own git directory
	common  string    // the git directory that it shares with other work trees
	indexed time.Time // when the index was written
	index   map[string]indexEntry
	dirs    map[string]bool         // directories that hold something tracked
	ignore  map[string][]ignoreRule // by directory relative to root, "" first
	broken  bool                    // the index could not be read
}

// work finds the work tree that dir belongs to and reads its index; nil where
// there is none.
func (v *View) work(dir string) *work {
	for ; ; dir = filepath.Dir(dir) {
		git := filepath.Join(dir, ".git")
		if n := v.lstat(git); n.info.Type == Dir || n.info.Type == File {
			w, ok := v.works[dir]
			if !ok {
				w = readWork(dir, git, n.info.Type == File)
				if v.works == nil {
					v.works = map[string]*work{}
				}
				v.works[dir] = w
			}
			return w
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

func readWork(root, git string, isFile bool) *work {
	w := &work{root: root, dirs: map[string]bool{}, ignore: map[string][]ignoreRule{}}
	common := git
	if isFile { // a linked work tree or submodule
		var ok bool
		if git, ok = gitDir(root, git); !ok {
			w.broken = true
			return w
		}
		common = git
		if b := readBounded(filepath.Join(git, "commondir"), 4096); b != nil {
			common = absolute(git, strings.TrimSpace(string(b)))
		}
	}
	w.git, w.common = git, common
	name := filepath.Join(git, "index")
	if fi, err := os.Lstat(name); err == nil {
		w.indexed = fi.ModTime()
	}
	b := readBounded(name, maxIndex)
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

// gitDir follows a file .git of the work tree root: "gitdir: PATH".
func gitDir(root, file string) (dir string, ok bool) {
	target, ok := strings.CutPrefix(strings.TrimSpace(string(readBounded(file, 4096))), "gitdir: ")
	if !ok || target == "" {
		return "", false
	}
	return absolute(root, target), true
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
