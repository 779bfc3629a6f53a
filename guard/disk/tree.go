package disk

import (
	"os"
	"path/filepath"
)

// WorkTree is a git work tree as its files tell, for one walk over it. What it
// is not asked it does not read. It is not safe for concurrent use.
type WorkTree struct {
	Root string // absolute, resolved
	work *work
}

// FindWorkTree returns the work tree that path (absolute, resolved) lies in, or
// is the top of; nil where there is none.
func FindWorkTree(path string) *WorkTree {
	for dir := path; ; dir = filepath.Dir(dir) {
		if fi, err := os.Lstat(filepath.Join(dir, ".git")); err == nil && (fi.IsDir() || fi.Mode().IsRegular()) {
			return &WorkTree{Root: dir}
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

func (t *WorkTree) read() *work {
	if t.work == nil {
		if t.work = new(View).work(t.Root); t.work == nil { // it went meanwhile
			t.work = &work{root: t.Root, broken: true}
		}
	}
	return t.work
}

// Git returns its own git directory, and the one that it shares with other work
// trees (the same where it shares none), absolute; empty where these cannot be
// told.
func (t *WorkTree) Git() (own, common string) {
	w := t.read()
	return w.git, w.common
}

// Ignored reports whether git ignores path (absolute): not tracked, and named
// by a rule, itself or a directory above it.
func (t *WorkTree) Ignored(path string, dir bool) bool {
	rel, err := filepath.Rel(t.Root, path)
	w := t.read()
	if err != nil || !filepath.IsLocal(rel) || w.broken {
		return false
	}
	if _, tracked := w.index[rel]; tracked {
		return false
	}
	return w.ignores(rel, dir) || w.ignoredAbove(rel)
}

// Product reports whether the directory path (absolute) is ignored and named
// like what a build, a test or a package manager makes again.
func (t *WorkTree) Product(path string) bool {
	return productNamed(filepath.Base(path)) && t.Ignored(path, true)
}
