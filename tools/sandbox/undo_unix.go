//go:build linux || darwin

package sandbox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// undoing moves paths of one root. Everything is done below the root, so that a
// link put in the way by another command of the session leads nowhere else.
type undoing struct {
	root, dir string
}

// away moves rel to the quarantine.
func (u undoing) away(rel string) error {
	root, err := os.OpenRoot(u.root)
	if err != nil {
		return err
	}
	defer root.Close()
	if _, err := root.Lstat(rel); errors.Is(err, fs.ErrNotExist) {
		return nil // with a directory above it
	}
	to := filepath.Join(u.dir, strings.ReplaceAll(rel, "/", "%"))
	if err := os.MkdirAll(u.dir, 0o700); err != nil {
		return err
	}
	if err := copyOut(root, rel, to); err != nil {
		return err
	}
	return root.RemoveAll(rel)
}

// copyOut copies what stands at rel for a person to look at: files, and links
// as files that say whereto; without their modes.
func copyOut(root *os.Root, rel, to string) error {
	fi, err := root.Lstat(rel)
	if err != nil {
		return err
	}
	switch mode := fi.Mode(); {
	case mode.IsDir():
		_ = root.Chmod(rel, mode.Perm()|0o700)
		if err := os.Mkdir(to, 0o700); err != nil {
			return err
		}
		names, err := fs.ReadDir(root.FS(), filepath.ToSlash(rel))
		for _, n := range names {
			err = errors.Join(err, copyOut(root, filepath.Join(rel, n.Name()), filepath.Join(to, n.Name())))
		}
		return err
	case mode&fs.ModeSymlink != 0:
		target, err := root.Readlink(rel)
		return errors.Join(err, os.WriteFile(to, []byte("link to "+target+"\n"), 0o600))
	case mode.IsRegular():
		if fi.Size() > maxQuarantined {
			return os.WriteFile(to, fmt.Appendf(nil, "%d bytes, too large to keep\n", fi.Size()), 0o600)
		}
		in, err := root.OpenFile(rel, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if err != nil {
			return os.WriteFile(to, []byte("unreadable\n"), 0o600)
		}
		defer in.Close()
		out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, io.LimitReader(in, maxQuarantined))
		return errors.Join(err, out.Close())
	}
	return nil // a socket, a FIFO: nothing to keep
}

// maxQuarantined is the largest file that the quarantine keeps, in bytes.
const maxQuarantined = 16 << 20

// back makes rel again as it was.
func (u undoing) back(rel string, was *entry) error {
	root, err := os.OpenRoot(u.root)
	if err != nil {
		return err
	}
	defer root.Close()
	mode := was.stamp.mode
	switch {
	case mode.IsDir():
		if err := root.Mkdir(rel, mode.Perm()); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		return root.Chmod(rel, mode.Perm())
	case !was.held:
		return errors.New("its content was too large to be kept")
	case mode&fs.ModeSymlink != 0:
		return root.Symlink(was.link, rel)
	case !mode.IsRegular():
		return fmt.Errorf("it was a %s", mode.Type())
	}
	f, err := root.OpenFile(rel, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(was.data)
	return errors.Join(err, f.Chmod(mode.Perm()), f.Close())
}

// alone makes rel a file of its own that is as e, so that its other names lead to
// another.
func (u undoing) alone(rel string, e *entry) error {
	root, err := os.OpenRoot(u.root)
	if err != nil {
		return err
	}
	defer root.Close()
	temp := filepath.Join(filepath.Dir(rel), ".handrail-"+rand.Text())
	if err := u.back(temp, e); err != nil {
		return err
	}
	if err := root.Rename(temp, rel); err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	return nil
}
