//go:build linux || darwin

// Package history keeps what a call could destroy, and brings it back: a store
// of contents by their hash, snapshots of trees, one record for each call, and
// the undoing of a call.
//
// A killed server leaves a store that can be used. After a power failure what
// is damaged is noticed by its hash and not brought back.
package history

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"handrail/guard/owner"
)

// Limits bound what is kept. The zero value means DefaultLimits.
type Limits struct {
	File    int64         // bytes of one file
	Ignored int64         // bytes of one file that git ignores
	Hidden  int64         // bytes of all files that git ignores and one snapshot newly keeps
	Call    int64         // bytes that one snapshot newly keeps
	Names   int           // names in one snapshot
	Outside int           // names in one snapshot outside git work trees
	Store   int64         // bytes of the whole store; the oldest goes first
	Age     time.Duration // after which a call can no longer be undone
	Free    int64         // bytes that stay free on the disk
}

// DefaultLimits are the limits where none are set.
func DefaultLimits() Limits {
	return Limits{File: 64 << 20, Ignored: 4 << 20, Hidden: 64 << 20, Call: 512 << 20, Names: 200_000, Outside: 50_000,
		Store: 2 << 30, Age: 30 * 24 * time.Hour, Free: 256 << 20}
}

// Store is the history of one user. It is safe for concurrent use, and several
// processes may use one directory. The zero value keeps nothing: every Keep of
// a call that writes is an error.
type Store struct {
	limits Limits
	dir    string

	mu    sync.Mutex
	seen  map[string]*folder // by path: directories as last looked at
	names int                // in seen
	tops  map[string]string  // by path: the hash in its head
	epoch string             // of the store when seen was right
	told  map[string]bool    // paths of which it was said that they are not kept
}

// folder is a directory as last looked at.
type folder struct {
	entries []Entry // by name
	hash    string
}

// Open opens or makes the store in dir, which must belong to the user alone.
func Open(dir string, limits Limits) (*Store, error) {
	if limits == (Limits{}) {
		limits = DefaultLimits()
	}
	for _, d := range []string{dir, filepath.Join(dir, "blobs"), filepath.Join(dir, "calls"), filepath.Join(dir, "heads"), filepath.Join(dir, "temp")} {
		if err := private(d); err != nil {
			return nil, fmt.Errorf("history: %w", err)
		}
	}
	s := &Store{limits: limits, dir: dir, seen: map[string]*folder{}, tops: map[string]string{}, told: map[string]bool{}}
	// Temporary files of a killed server, and what is too old. Another process
	// at work does it as well.
	if err := s.Sweep(false); err != nil && !errors.Is(err, errBusy) {
		return nil, err
	}
	return s, nil
}

// private makes dir and sees to it that it is the user's alone.
func private(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return fmt.Errorf("stat %s: %w", dir, err)
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFDIR:
		return fmt.Errorf("%s is no directory", dir)
	case int(st.Uid) != os.Geteuid():
		return owner.Foreign(dir, int(st.Uid))
	case st.Mode&0o077 != 0:
		return os.Chmod(dir, 0o700)
	}
	return nil
}

// errBusy says that another process uses the store.
var errBusy = errors.New("the store is in use")

// lock takes the lock of all processes: shared to keep, exclusive to throw
// away. It waits until ctx ends. The lock ends with the process.
func (s *Store) lock(ctx context.Context, how int) (unlock func(), err error) {
	if s.dir == "" {
		return nil, errors.New("history: the store is not open")
	}
	path := filepath.Join(s.dir, "lock")
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("history: open %s: %w", path, err)
	}
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		switch err := unix.Flock(fd, how|unix.LOCK_NB); {
		case err == nil:
			return func() { unix.Close(fd) }, nil
		case errors.Is(err, unix.EINTR):
			continue
		case !errors.Is(err, unix.EWOULDBLOCK):
			unix.Close(fd)
			return nil, fmt.Errorf("history: lock %s: %w", path, err)
		}
		select {
		case <-ctx.Done():
			unix.Close(fd)
			return nil, fmt.Errorf("history: %w", errBusy)
		case <-time.After(wait):
		}
	}
}

// begin takes the shared lock and forgets what was seen if contents were thrown
// away since. The caller holds mu.
func (s *Store) begin(ctx context.Context) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if unlock, err = s.lock(ctx, unix.LOCK_SH); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(filepath.Join(s.dir, "epoch"))
	if err != nil && !os.IsNotExist(err) {
		unlock()
		return nil, fmt.Errorf("history: %w", err)
	}
	if string(b) != s.epoch {
		s.epoch, s.seen, s.tops, s.names = string(b), map[string]*folder{}, map[string]string{}, 0
	}
	return unlock, nil
}

// grow notes that the store grew; the sum tells when to sweep.
func (s *Store) grow(bytes int64) {
	if bytes == 0 {
		return
	}
	f, err := os.OpenFile(filepath.Join(s.dir, "grown"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return // the next sweep counts what is there
	}
	fmt.Fprintln(f, bytes)
	f.Close()
}

// size is how many bytes the store has, by the notes of grow.
func (s *Store) size() (sum int64) {
	b, err := os.ReadFile(filepath.Join(s.dir, "grown"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		n, _ := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
		sum += n
	}
	return sum
}

// free is how much room is left on the disk of the store for the user, in
// bytes.
func (s *Store) free() (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(s.dir, &st); err != nil {
		return 0, fmt.Errorf("history: statfs %s: %w", s.dir, err)
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}
