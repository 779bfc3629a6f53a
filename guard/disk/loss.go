package disk

import (
	"crypto/sha1"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"handrail/guard"
)

// Bounds of counting.
const (
	maxLoss   = 4000    // files of one target, after which counting stops
	maxLook   = 12000   // names that one View looks at, over all targets
	maxHashed = 1 << 20 // bytes of a file that is compared by content
	maxHashes = 100     // such files of one View
)

// count is one counting of a loss.
type count struct {
	*View
	loss *guard.Loss
	// stray counts nothing that git has; ignored says whether what it ignores
	// counts then.
	stray, ignored bool
}

// Loss counts what stands at or below path (absolute, resolved), by what could
// bring it back. It asks git's files, never git. It is nil where path could not
// be looked at; an absent path is an empty loss.
func (v *View) Loss(path string) *guard.Loss {
	return v.lose(&count{View: v, loss: &guard.Loss{}}, path)
}

// Stray counts the files at or below path that git does not have; with ignored
// also those that it ignores. It is what git clean takes.
func (v *View) Stray(path string, ignored bool) *guard.Loss {
	return v.lose(&count{View: v, loss: &guard.Loss{}, stray: true, ignored: ignored}, path)
}

func (v *View) lose(c *count, path string) *guard.Loss {
	n := v.lstat(path)
	switch {
	case n.info.Type == Absent:
		return c.loss
	case n.info.Type == Unknown, v.looked >= maxLook:
		return nil
	}
	w, rel, above := c.stands(path, n.info.Type == Dir && !n.link)
	if n.info.Type != Dir || n.link {
		c.add(w, path, rel, above || w.ignores(rel, false))
		return c.loss
	}
	ignored := above || w.ignores(rel, true)
	if c.below(w, path, rel, ignored); c.loss.More {
		c.loss.Alike = ignored && product(rel)
	}
	return c.loss
}

// stands finds the work tree that path belongs to, its place there, and whether
// a directory above it is ignored. What is a work tree itself has no other copy
// outside, but its own index says what is stray in it.
func (c *count) stands(path string, dir bool) (w *work, rel string, above bool) {
	from := filepath.Dir(path)
	if dir && nested(path) {
		if !c.stray {
			return nil, "", false
		}
		from = path
	}
	if w = c.work(from); w == nil {
		return nil, "", false
	}
	rel, err := filepath.Rel(w.root, path)
	if err != nil || rel == ".git" || strings.HasPrefix(rel, ".git/") {
		return nil, "", false
	}
	return w, rel, w.ignoredAbove(rel)
}

// maxQuick is the largest git index, in bytes, that is read to say what a write
// replaces.
const maxQuick = 512 << 10

// Replaced counts one regular file that would be replaced, as Loss does; nil
// where it is none, or where asking git's index would take long.
func (v *View) Replaced(path string) *guard.Loss {
	if v.lstat(path).info.Type != File {
		return nil
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if v.lstat(dir+"/.git").info.Type != Absent {
			if v.lstat(dir+"/.git/index").info.Size > maxQuick {
				return nil
			}
			break
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return v.Loss(path)
}

// below counts below dir until the bounds.
func (c *count) below(w *work, dir, rel string, ignored bool) {
	if ignored && c.stray && !c.ignored {
		return
	}
	f, err := os.Open(dir)
	if err != nil {
		c.loss.More = true
		return
	}
	defer f.Close()
	for {
		entries, err := f.ReadDir(256)
		for _, e := range entries {
			if c.looked++; c.loss.Files >= maxLoss || c.looked > maxLook {
				c.loss.More = true
				return
			}
			path, sub := filepath.Join(dir, e.Name()), filepath.Join(rel, e.Name())
			switch {
			case e.IsDir() && (e.Name() == ".git" || nested(path)):
				if !c.stray { // git clean leaves them alone
					c.below(nil, path, sub, false) // nothing outside it has it
				}
			case e.IsDir():
				c.below(w, path, sub, ignored || w.ignores(sub, true))
			default:
				c.add(w, path, sub, ignored || w.ignores(sub, false))
			}
			if c.loss.More {
				return
			}
		}
		switch {
		case err == io.EOF:
			return
		case err != nil:
			c.loss.More = true
			return
		}
	}
}

// nested reports whether dir is the top of another repository.
func nested(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}

// add counts one file.
func (c *count) add(w *work, path, rel string, ignored bool) {
	e, tracked := indexEntry{}, false
	if w != nil && !w.broken {
		e, tracked = w.index[rel]
	}
	if c.stray && (tracked || ignored && !c.ignored) {
		return
	}
	fi, err := os.Lstat(path)
	c.loss.Files++
	switch {
	case tracked && err == nil && c.unchanged(w, path, fi, e):
		c.loss.Clean++
	case err == nil && c.Created != nil && c.Created(path, fi):
		c.loss.Created++
	case tracked:
		c.loss.Changed++
	case ignored && w != nil && !w.broken:
		c.loss.Ignored++
		if product(rel) {
			c.loss.Products++
		}
	default:
		c.loss.Untracked++
	}
}

// Uncommitted counts the tracked files at or below path (absolute, resolved)
// that changed since git last had them; with whole those of the whole work
// tree. It is nil where there is no work tree that could be read.
func (v *View) Uncommitted(path string, whole bool) *guard.Loss {
	w := v.work(path)
	if w == nil || w.broken {
		return nil
	}
	rel, err := filepath.Rel(w.root, path)
	if err != nil {
		return nil
	}
	l := &guard.Loss{}
	for name, e := range w.index {
		if !whole && rel != "." && !within(rel, name) {
			continue
		}
		if v.looked++; v.looked > maxLook {
			l.More = true
			return l
		}
		file := filepath.Join(w.root, name)
		fi, err := os.Lstat(file)
		if err != nil || fi.IsDir() { // gone, or a submodule: nothing of it would be lost
			continue
		}
		if !v.unchanged(w, file, fi, e) {
			l.Files++
			l.Changed++
		}
	}
	return l
}

func within(dir, name string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }

// unchanged compares size and time of modification, as git does, and where
// these leave doubt the content. What stays in doubt counts as changed.
func (v *View) unchanged(w *work, path string, fi fs.FileInfo, e indexEntry) bool {
	if uint32(fi.Size()) != e.size {
		return false
	}
	t := fi.ModTime()
	same := uint32(t.Unix()) == e.mtimeSec && (e.mtimeNsec == 0 || uint32(t.Nanosecond()) == e.mtimeNsec)
	if same && t.Before(w.indexed) {
		return true
	}
	// Touched since, or written in the moment in which the index was.
	if v.hashed++; !fi.Mode().IsRegular() || v.hashed > maxHashes {
		return false
	}
	content := readBounded(path, maxHashed)
	if content == nil {
		return false
	}
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", len(content))
	h.Write(content)
	return [sha1.Size]byte(h.Sum(nil)) == e.object
}
