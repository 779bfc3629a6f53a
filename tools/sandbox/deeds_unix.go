//go:build linux || darwin

package sandbox

import (
	"crypto/rand"
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Deeds are the changes of protected paths that a verdict let through, so that no
// comparison takes them back. All sandboxes with the same state directory share
// them, of every session and every server of the user. The zero value keeps none.
type Deeds struct {
	dir string
}

// DeedsOf returns those of the sandboxes whose Settings.State is state.
func DeedsOf(state string) Deeds { return Deeds{filepath.Join(state, "deeds")} }

// deed is one of them, in a file of its own, whose name begins with how far it is.
type deed struct {
	// Allowed, of one that runs, is what a command may change.
	Allowed []string
	// Path is what was changed, else; to nothing, where Gone is set.
	Path string
	Gone bool
	Mode fs.FileMode // 0: of a file, as it was before
	Link string
	Data []byte

	name string
}

// How far a deed is. The file of one that is not done is locked as long as its
// server lives.
const (
	runs = "run-"  // a command may do it
	will = "will-" // a file tool is about to do it
	did  = "did-"  // done; then comes when
)

// How long deeds are kept, for runs that began before them, and how many.
const (
	deedsKept = 7 * 24 * time.Hour
	deedsMost = 200
)

// Write calls write, which makes data the content of path. Where that cannot be
// noted nothing is written.
func (d Deeds) Write(path string, data []byte, write func() error) error {
	if d.dir == "" || len(data) > maxHeld {
		return write()
	}
	e := &deed{Path: path, Data: data}
	name, f, err := d.put(will, e)
	if err != nil {
		return fmt.Errorf("note what is written to a protected path: %w", err)
	}
	defer f.Close()
	defer os.Remove(filepath.Join(d.dir, name))
	defer d.alone()()
	if err := write(); err != nil {
		return err
	}
	_ = d.done(e) // else it may be taken back, with a copy
	return nil
}

// done notes what was done.
func (d Deeds) done(e *deed) error {
	d.prune()
	name, f, err := d.put(fmt.Sprintf("%s%020d-", did, time.Now().UnixNano()), e)
	if err != nil {
		return err
	}
	e.name = name
	return f.Close()
}

// run notes that a command may change the paths allowed, until its end is called.
func (d Deeds) run(allowed []string) (end func(), err error) {
	if d.dir == "" || len(allowed) == 0 {
		return func() {}, nil
	}
	name, f, err := d.put(runs, &deed{Allowed: allowed})
	if err != nil {
		return nil, fmt.Errorf("note what the command may change: %w", err)
	}
	return func() { os.Remove(filepath.Join(d.dir, name)); f.Close() }, nil
}

// put writes e to a new file, whole and locked before it has its name.
func (d Deeds) put(kind string, e *deed) (name string, f *os.File, err error) {
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return "", nil, err
	}
	at := rand.Text()
	temp := filepath.Join(d.dir, "new-"+at)
	if f, err = os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return "", nil, err
	}
	err = errors.Join(gob.NewEncoder(f).Encode(e), syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB))
	if err == nil {
		err = os.Rename(temp, filepath.Join(d.dir, kind+at))
	}
	if err != nil {
		f.Close()
		os.Remove(temp)
		return "", nil, err
	}
	return kind + at, f, nil
}

// read returns the deed of that name. One that was not done when its server ended
// is removed, and an error.
func (d Deeds) read(name string) (*deed, error) {
	path := filepath.Join(d.dir, name)
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if !strings.HasPrefix(name, did) && syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil {
		return nil, errors.Join(errors.New("its server has ended"), os.Remove(path))
	}
	e := &deed{name: name}
	return e, gob.NewDecoder(f).Decode(e)
}

// names lists what is there; the oldest of did first.
func (d Deeds) names() []string {
	if d.dir == "" {
		return nil
	}
	var all []string
	entries, _ := os.ReadDir(d.dir)
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// allowed returns what the commands that run now may change.
func (d Deeds) allowed() (all []string) {
	for _, name := range d.names() {
		if !strings.HasPrefix(name, runs) {
			continue
		}
		if e, err := d.read(name); err == nil {
			all = append(all, e.Allowed...)
		}
	}
	return all
}

// since returns the deeds that are not among seen, the oldest first; those that
// are about to be done come last.
func (d Deeds) since(seen map[string]bool) []*deed {
	var all []*deed
	for range 100 {
		// One that moves on while names are read may be in neither place; then it is
		// in its new one.
		names := slices.Concat(d.names(), d.names())
		slices.Sort(names)
		gone := false
		all = nil
		for _, name := range slices.Compact(names) {
			if seen[name] || !strings.HasPrefix(name, will) && !strings.HasPrefix(name, did) {
				continue
			}
			e, err := d.read(name)
			gone = gone || errors.Is(err, fs.ErrNotExist)
			if err == nil {
				all = append(all, e)
			}
		}
		if !gone {
			break
		}
	}
	return all
}

// alone waits until nobody else takes something back or writes, of whatever server,
// though not for long, and keeps others from it until free is called.
func (d Deeds) alone() (free func()) {
	f, err := os.OpenFile(d.dir+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return func() {}
	}
	for end := time.Now().Add(5 * time.Second); syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil && time.Now().Before(end); {
		time.Sleep(2 * time.Millisecond)
	}
	return func() { f.Close() }
}

// prune removes what no run needs any more, and what a server left behind.
func (d Deeds) prune() {
	names := slices.DeleteFunc(d.names(), func(name string) bool { return strings.HasPrefix(name, runs) })
	for i, name := range names {
		path := filepath.Join(d.dir, name)
		if fi, err := os.Lstat(path); i < len(names)-deedsMost || err == nil && time.Since(fi.ModTime()) > deedsKept {
			_ = os.Remove(path)
		}
	}
}
