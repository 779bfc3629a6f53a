package config

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// quota bounds what the directories of a principal take of the disk. What is
// measured is old for a moment, so that calls need not wait for it: what grows
// meanwhile is bounded by the limit of each call.
type quota struct {
	dirs []string
	most int64 // bytes

	mu   sync.Mutex
	used int64
	next time.Time // of the next look
}

// How often directories are measured: those with room, and those without, where
// something may have been removed.
const (
	measureEvery = 30 * time.Second
	measureFull  = 2 * time.Second
)

// check says by an error that nothing more can be written.
func (q *quota) check() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if now := time.Now(); now.After(q.next) {
		q.used = taken(q.dirs)
		pause := measureEvery
		if q.used >= q.most {
			pause = measureFull
		}
		q.next = time.Now().Add(max(pause, 10*time.Since(now)))
	}
	if q.used < q.most {
		return nil
	}
	const mib = 1 << 20
	return fmt.Errorf("%s take %d MiB of the disk, and %d are allowed", strings.Join(q.dirs, " and "), q.used/mib, q.most/mib)
}

// taken is what lies at or below directories, in bytes of the disk. What cannot
// be looked at counts nothing: the server's user made it.
func taken(dirs []string) (bytes int64) {
	for _, dir := range dirs {
		_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			if info, err := d.Info(); err == nil {
				if st, ok := info.Sys().(*syscall.Stat_t); ok {
					bytes += st.Blocks * 512
				}
			}
			return nil
		})
	}
	return bytes
}

// quota is the bound of c's principal; nil where there is none.
func (c *Config) quota() func() error {
	p := c.Principals[c.Principal]
	if p == nil || p.Disk == 0 {
		return nil
	}
	return (&quota{dirs: append([]string{c.Home}, c.Roots...), most: int64(p.Disk) << 20}).check
}
