package audit

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"handrail/guard"
)

// begun has the disk write what stands in file.
func (l *Log) begun(file *os.File) (done func() error) {
	ended := make(chan error, 1)
	go func() { ended <- l.sync(file) }()
	return sync.OnceValue(func() error {
		if err := <-ended; err != nil {
			return fmt.Errorf("audit: %w", err)
		}
		return nil
	})
}

// sync waits until the disk has what stands in file. After an error what it has is
// not known, and nothing is appended any more.
func (l *Log) sync(file *os.File) error {
	err := file.Sync()
	if err == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if errors.Is(err, os.ErrClosed) && l.file != nil { // rotated meanwhile, which syncs
		return nil
	}
	if l.lost == nil {
		l.lost = fmt.Errorf("%w: look at the disk and at the end of the log (handrail audit verify), then restart the server", err)
	}
	return l.lost
}

// changesNothing reports whether nothing runs after the decision, or only what
// reads: that cannot end the machine before its record is on the disk, and what
// can waits until all lines up to its own are.
func (r *Record) changesNothing() bool {
	return r.Verdict == guard.VerdictDeny.String() || len(r.Effects) > 0 && !slices.ContainsFunc(r.Effects, func(e guard.Effect) bool {
		return e.Kind != guard.Read && (e.Kind != guard.Exec || e.Action != "")
	})
}

// lull is how long soon leaves the disk to others between two times: commits of a
// file system are waited for by all who write to it.
const lull = 100 * time.Millisecond

// soon makes durable what was written, without waiting for it.
func (l *Log) soon(file *os.File) {
	l.dirty.Store(true)
	if !l.syncing.CompareAndSwap(false, true) {
		return // who syncs looks again
	}
	go func() {
		for l.dirty.Swap(false) {
			_ = l.sync(file) // after one that fails nothing is appended
			time.Sleep(lull)
		}
		if l.syncing.Store(false); l.dirty.Load() {
			l.soon(file)
		}
	}()
}
