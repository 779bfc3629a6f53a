//go:build linux || darwin

package sandbox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// undoing moves paths of one root. Everything is done below the root, so that a
// link put in the way by another command of the session leads nowhere else.
type undoing struct {
	root  string
	shelf *shelf
	whole bool // what is moved out of the way stays there
	// leftover says what was moved out of the way and not removed, and what was
	// removed and not kept.
	leftover error
}

// enter opens the directories above rel for writing, which a command may have
// closed.
func (u *undoing) enter(rel string) *passage {
	pass := &passage{held: []string{u.root}}
	pass.reach(filepath.Dir(filepath.Join(u.root, rel)), toWrite)
	return pass
}

// take makes rel as it was; nil is nothing. It is now as is.
func (u *undoing) take(rel string, was, is *entry) error {
	pass := u.enter(rel)
	defer pass.close()
	root, err := os.OpenRoot(u.root)
	if err != nil {
		return err
	}
	defer root.Close()
	stays := was != nil && is != nil && !is.opaque && was.stamp.mode.IsDir() && is.stamp.mode.IsDir()
	u.whole = was != nil && was.stamp.mode.IsRegular() && !was.held // which nobody else can put back
	if is != nil && !stays {
		if err := u.away(root, rel); err != nil {
			return err
		}
	}
	if was == nil {
		return nil
	}
	return u.back(root, rel, was)
}

// away takes what stands at rel from there: first to a name that nobody obeys,
// then, as far as it is kept, to the quarantine. That it cannot be kept does not
// stop that; that it cannot be removed is a leftover.
func (u *undoing) away(root *os.Root, rel string) error {
	if _, err := root.Lstat(rel); err != nil && absence(err) {
		return nil // with a directory above it
	}
	at := filepath.Join(filepath.Dir(rel), ".handrail-"+rand.Text())
	renamed := root.Rename(rel, at) == nil
	if !renamed {
		at = rel
	}
	if renamed && u.whole {
		u.leftover = errors.Join(u.leftover, fmt.Errorf("it is now at %s", filepath.Join(u.root, at)))
		return nil
	}
	if err := u.keep(root, at, rel); err != nil {
		u.leftover = errors.Join(u.leftover, fmt.Errorf("not all of it is in the quarantine: %w", err))
	}
	err := root.RemoveAll(at)
	if err != nil {
		loosen(root, at, 0)
		err = root.RemoveAll(at)
	}
	if err != nil && renamed {
		u.leftover = errors.Join(u.leftover, fmt.Errorf("it is now at %s and could not be removed: %w", filepath.Join(u.root, at), err))
		return nil
	}
	return err
}

// loosen lets the directories at and below rel be emptied.
func loosen(root *os.Root, rel string, depth int) {
	if fi, err := root.Lstat(rel); err != nil || !fi.IsDir() || depth > maxDepth {
		return
	}
	_ = root.Chmod(rel, 0o700)
	entries, _ := fs.ReadDir(root.FS(), filepath.ToSlash(rel))
	for _, e := range entries {
		if e.IsDir() {
			loosen(root, filepath.Join(rel, e.Name()), depth+1)
		}
	}
}

// back makes rel again as it was, and the directories above it.
func (u *undoing) back(root *os.Root, rel string, was *entry) error {
	if err := u.parents(root, filepath.Dir(rel)); err != nil {
		return err
	}
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

// parents makes sure that rel is a directory.
func (u *undoing) parents(root *os.Root, rel string) error {
	if fi, err := root.Stat(rel); err == nil && fi.IsDir() {
		return nil
	}
	if err := u.parents(root, filepath.Dir(rel)); err != nil {
		return err
	}
	if err := u.away(root, rel); err != nil {
		return err
	}
	return root.Mkdir(rel, 0o755)
}

// alone makes rel a file of its own that is as e, so that its other names lead to
// another.
func (u *undoing) alone(rel string, e *entry) error {
	pass := u.enter(rel)
	defer pass.close()
	root, err := os.OpenRoot(u.root)
	if err != nil {
		return err
	}
	defer root.Close()
	temp := filepath.Join(filepath.Dir(rel), ".handrail-"+rand.Text())
	if err := u.back(root, temp, e); err != nil {
		return err
	}
	if err := root.Rename(temp, rel); err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	return nil
}
