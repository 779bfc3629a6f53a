package oracle

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// link is a symbolic link: a path and where it leads.
type link struct{ from, to string }

// give makes a path belong to who runs the commands.
func give(path string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return os.Lchown(path, nobody, nobody)
}

// clone copies what is missing of a tree, with modes, links (hard ones too)
// and times.
func clone(from, to string) error {
	type mark struct {
		path string
		when time.Time
	}
	var dirs []mark
	first := map[uint64]string{} // of files with several names, by inode
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		dest := to + strings.TrimPrefix(path, from)
		if d.IsDir() {
			dirs = append(dirs, mark{dest, info.ModTime()})
		}
		if lies(dest) {
			return nil
		}
		if err := copyOne(path, dest, info, first); err != nil {
			return err
		}
		return give(dest)
	})
	for _, d := range dirs {
		if err == nil {
			err = os.Chtimes(d.path, time.Time{}, d.when)
		}
	}
	return err
}

// copyOne copies a file, a link, or a directory without what is in it.
func copyOne(path, dest string, info fs.FileInfo, first map[uint64]string) error {
	switch {
	case info.IsDir():
		return os.Mkdir(dest, info.Mode().Perm())
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err != nil {
			return err
		}
		return os.Symlink(target, dest)
	}
	if st := info.Sys().(*syscall.Stat_t); st.Nlink > 1 {
		if old := first[st.Ino]; old != "" {
			return os.Link(old, dest)
		}
		first[st.Ino] = dest
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := os.WriteFile(dest, content, info.Mode().Perm()); err != nil {
		return err
	}
	return os.Chtimes(dest, time.Time{}, info.ModTime())
}

// fresh makes project, home and scratch as the fixture left them: it removes
// what is not as the last fresh made it, and copies what is missing.
func (c *cell) fresh() {
	for path, is := range c.marks() {
		if was, ok := c.clean[path]; ok && (was == is || is.dir && was.dir && was.mode == is.mode) {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			panic(err)
		}
	}
	for name, dir := range c.kept() {
		if err := clone(filepath.Join(c.template, name), dir); err != nil {
			panic(err)
		}
	}
	c.clean = c.marks()
}

// kept are the directories of a cell that are compared and made anew, by name.
func (c *cell) kept() map[string]string {
	return map[string]string{"project": c.project, "home": c.dir("home"), "scratch": c.scratch}
}

// stamp changes whenever a file changes.
type stamp struct {
	dir   bool
	mode  fs.FileMode
	inode uint64
	ctime syscall.Timespec
}

// marks stamps everything in the cell.
func (c *cell) marks() map[string]stamp {
	all := map[string]stamp{}
	for _, dir := range c.kept() {
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			if info, err := d.Info(); err == nil {
				st := info.Sys().(*syscall.Stat_t)
				all[path] = stamp{d.IsDir(), info.Mode(), st.Ino, st.Ctim}
			}
			return nil
		})
	}
	return all
}

// linksIn returns the symbolic links of a tree, as if it stood at another place.
func linksIn(tree, place string) (all []link) {
	filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type()&fs.ModeSymlink != 0 {
			to, _ := os.Readlink(path)
			if !filepath.IsAbs(to) {
				to = filepath.Join(filepath.Dir(path), to)
			}
			all = append(all, link{place + strings.TrimPrefix(path, tree), place + strings.TrimPrefix(to, tree)})
		}
		return nil
	})
	return all
}

// snapshot says what there is in the cell: mode, and content.
// Times are left out, and git's index, which holds them.
func (c *cell) snapshot() map[string]string {
	all := map[string]string{}
	for _, dir := range c.kept() {
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			name := strings.TrimPrefix(path, c.base)
			if err != nil {
				all[name] = err.Error()
				return nil
			}
			info, err := d.Info()
			switch {
			case err != nil:
				all[name] = err.Error()
			case strings.HasSuffix(name, ".git/index"):
				all[name] = "an index"
			case d.Type()&fs.ModeSymlink != 0:
				to, _ := os.Readlink(path)
				all[name] = "-> " + to
			case d.Type().IsRegular():
				b, _ := os.ReadFile(path)
				all[name] = fmt.Sprintf("%v %x", info.Mode(), sha256.Sum256(b))
			default:
				all[name] = info.Mode().String()
			}
			return nil
		})
	}
	return all
}

// line is where bash complains: the script is printed on other lines.
var line = regexp.MustCompile(`line \d+: |BASH_EXECUTION_STRING=.*|(real|user|sys)\t.*`)

// complaints are lines of standard error in any order: of programs that run at
// the same time.
func complaints(s string) string {
	lines := strings.Split(line.ReplaceAllString(s, ""), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// apart leaves out the lines that two texts begin with alike.
func apart(a, b string) (string, string) {
	for {
		line, rest, more := strings.Cut(a, "\n")
		other, left, both := strings.Cut(b, "\n")
		if line != other || !more || !both {
			return a, b
		}
		a, b = rest, left
	}
}

// differs says in what two runs differ; empty if in nothing.
func (o *outcome) differs(p *outcome) string {
	switch {
	case o.err != nil || p.err != nil:
		return fmt.Sprintf("%v / %v", o.err, p.err)
	case o.timedOut || p.timedOut:
		return ""
	case o.code != p.code:
		return fmt.Sprintf("exit code %d, not %d", p.code, o.code)
	case line.ReplaceAllString(o.out, "") != line.ReplaceAllString(p.out, ""):
		is, was := apart(p.out, o.out)
		return fmt.Sprintf("prints %.300q, not %.300q", is, was)
	case complaints(o.errs) != complaints(p.errs):
		is, was := apart(p.errs, o.errs)
		return fmt.Sprintf("complains %.300q, not %.300q", is, was)
	}
	for name, was := range o.tree {
		if is := p.tree[name]; is != was {
			return fmt.Sprintf("leaves %s as %q, not %q", name, is, was)
		}
	}
	for name := range p.tree {
		if _, ok := o.tree[name]; !ok {
			return "makes " + name
		}
	}
	return ""
}
