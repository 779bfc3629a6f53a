//go:build linux || darwin

package history

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Sweep throws away what is too old, or the oldest where the store is too
// large, or with hard everything but the newest states; and what a killed
// process left. It does nothing (errBusy) while another process keeps or
// sweeps.
func (s *Store) Sweep(hard bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	unlock, err := s.lock(ctx, unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer unlock()
	if err := empty(filepath.Join(s.dir, "temp")); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	old, err := s.aged()
	if err != nil {
		return err
	}
	if !hard && !old && s.size() <= s.limits.Store {
		return nil
	}
	m := &marks{s: s, live: map[string]bool{}, room: s.limits.Store * 7 / 10}
	if hard {
		m.room = 0
	}
	if err := m.heads(); err != nil {
		return err
	}
	if err := m.records(); err != nil {
		return err
	}
	// From now on what others remember may be gone.
	if err := s.write(filepath.Join(s.dir, "epoch"), time.Now().UnixNano()); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	left, err := s.clear(m.live)
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "grown"), []byte(strconv.FormatInt(left, 10)+"\n"), 0o600); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	return nil
}

// empty removes the files in dir.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e := os.Remove(filepath.Join(dir, e.Name())); e != nil && err == nil {
			err = e
		}
	}
	return err
}

// aged reports whether the oldest record is too old.
func (s *Store) aged() (bool, error) {
	files, err := s.files()
	if err != nil || len(files) == 0 {
		return false, err
	}
	return s.tooOld(files[0]), nil
}

// tooOld tells by the name of a record, which begins with its time.
func (s *Store) tooOld(file string) bool {
	ns, err := strconv.ParseInt(file[:min(16, len(file))], 16, 64)
	return err != nil || time.Since(time.Unix(0, ns)) > s.limits.Age
}

// marks is what stays.
type marks struct {
	s    *Store
	live map[string]bool // by hash
	used int64           // bytes of what is live
	room int64           // bytes that may stay
}

// heads marks the newest state of each workspace, so that the next snapshot is
// cheap; those that do not fit, or whose directory is gone, go.
func (m *marks) heads() error {
	dir := filepath.Join(m.s.dir, "heads")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	age := map[string]time.Time{}
	for _, e := range entries {
		if fi, err := e.Info(); err == nil {
			age[e.Name()] = fi.ModTime()
		}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return age[b.Name()].Compare(age[a.Name()]) })
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		var h head
		b, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(b, &h)
		}
		stays := err == nil && time.Since(age[e.Name()]) < m.s.limits.Age && m.used < m.room
		if stays {
			_, err := os.Lstat(string(h.Path))
			stays = err == nil
		}
		if !stays {
			os.Remove(path)
			continue
		}
		m.mark(&h.Top)
	}
	return nil
}

// records marks what the records need, newest first, until there is no room.
func (m *marks) records() error {
	files, err := m.s.files()
	if err != nil {
		return err
	}
	for _, file := range slices.Backward(files) {
		r, err := m.s.load(file)
		if err == nil && !m.s.tooOld(file) && m.used < m.room {
			for _, spot := range r.Places {
				m.mark(spot.Before)
				m.mark(spot.After)
			}
			continue
		}
		if err := os.Remove(filepath.Join(m.s.dir, "calls", file)); err != nil {
			return fmt.Errorf("history: %w", err)
		}
	}
	return nil
}

// mark marks what an entry needs, all below a directory included.
func (m *marks) mark(e *Entry) {
	if e == nil || e.Hash == "" || m.live[e.Hash] {
		return
	}
	m.live[e.Hash] = true
	if !e.isDir() {
		m.used += e.Size
		return
	}
	entries, err := m.s.listing(e.Hash)
	if err != nil {
		return // damaged: undo says so
	}
	m.used += int64(len(entries)) * 150
	for i := range entries {
		m.mark(&entries[i])
	}
}

// clear removes what is not live and returns how many bytes stay.
func (s *Store) clear(live map[string]bool) (left int64, err error) {
	blobs := filepath.Join(s.dir, "blobs")
	dirs, err := os.ReadDir(blobs)
	if err != nil {
		return 0, err
	}
	for _, d := range dirs {
		files, err := os.ReadDir(filepath.Join(blobs, d.Name()))
		if err != nil {
			return 0, err
		}
		for _, f := range files {
			if !live[d.Name()+f.Name()] {
				if err := os.Remove(filepath.Join(blobs, d.Name(), f.Name())); err != nil {
					return 0, err
				}
			} else if fi, err := f.Info(); err == nil {
				left += fi.Size()
			}
		}
	}
	return left, nil
}
