//go:build linux || darwin

package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// What the quarantine keeps: of one file, and of one comparison, in bytes. Each
// file or directory counts as a block beside what it holds.
const (
	maxQuarantined       = 16 << 20
	maxKept        int64 = 64 << 20
	keptBlock            = 4096
)

// errKept says that no more is kept.
var errKept = errors.New("more than the quarantine takes at once")

// shelf is what the quarantine keeps of one comparison.
type shelf struct {
	dir  string
	left int64 // bytes that it may still take
	kept int   // the last number in dir
}

// keep copies what stands at the name at to the quarantine, under a number, and
// writes to the index there where it stood, rel. An error says that not all of it
// is there.
func (u *undoing) keep(root *os.Root, at, rel string) error {
	if err := os.MkdirAll(u.shelf.dir, 0o700); err != nil {
		return err
	}
	index, err := os.OpenFile(filepath.Join(u.shelf.dir, "index"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer index.Close()
	u.shelf.kept++
	name := strconv.Itoa(u.shelf.kept)
	line := fmt.Sprintf("%s %q", name, filepath.Join(u.root, rel))
	err = u.shelf.copyOut(root, at, filepath.Join(u.shelf.dir, name), 0)
	if err != nil {
		line += " (not all of it)"
	}
	_, told := fmt.Fprintln(index, line)
	return errors.Join(err, told)
}

// copyOut copies what stands at rel for a person to look at: files, and links
// as files that say whereto; without their modes.
func (s *shelf) copyOut(root *os.Root, rel, to string, depth int) error {
	fi, err := root.Lstat(rel)
	if err != nil {
		return err
	}
	if s.left -= keptBlock; s.left < 0 || depth > maxDepth {
		return errKept
	}
	switch mode := fi.Mode(); {
	case mode.IsDir():
		_ = root.Chmod(rel, mode.Perm()|0o700)
		if err := os.Mkdir(to, 0o700); err != nil {
			return err
		}
		entries, first := fs.ReadDir(root.FS(), filepath.ToSlash(rel))
		for _, e := range entries {
			err := s.copyOut(root, filepath.Join(rel, e.Name()), filepath.Join(to, e.Name()), depth+1)
			if first == nil {
				first = err
			}
			if errors.Is(err, errKept) && s.left < 0 {
				break
			}
		}
		return first
	case mode&fs.ModeSymlink != 0:
		target, err := root.Readlink(rel)
		return errors.Join(err, os.WriteFile(to, []byte("link to "+target+"\n"), 0o600))
	case mode.IsRegular():
		return s.copyFile(root, rel, to, fi)
	}
	return nil // a socket, a FIFO: nothing to keep
}

// copyFile copies the regular file rel, or says in its place why not.
func (s *shelf) copyFile(root *os.Root, rel, to string, fi fs.FileInfo) error {
	st, ok := fi.Sys().(*syscall.Stat_t)
	sparse := ok && fi.Size() > maxHeld && st.Blocks*512 < fi.Size()/2
	if sparse || fi.Size() > maxQuarantined || fi.Size() > s.left {
		note := fmt.Sprintf("%d bytes, too large to keep", fi.Size())
		return errors.Join(errors.New(note), os.WriteFile(to, []byte(note+"\n"), 0o600))
	}
	in, err := root.OpenFile(rel, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return errors.Join(err, os.WriteFile(to, []byte("unreadable\n"), 0o600))
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(in, min(maxQuarantined, s.left)))
	s.left -= n
	return errors.Join(err, out.Close())
}
