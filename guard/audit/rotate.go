package audit

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Rotation says when a log goes on in a new file. The old one keeps the name of
// the log with the number of its last record: audit.jsonl, audit.00000000000000001042.jsonl.
// The chain goes on over the files. Zero fields are no reason.
type Rotation struct {
	Size int64 // bytes
	Age  time.Duration
}

// errMoved says that another file stands at the path of the log, or none.
var errMoved = errors.New("the log was moved or replaced while it was open; restart the server")

// rotations bounds how often a log can have been rotated between two records of
// one process.
const rotations = 1000

// lock takes the lock of all processes on the log's file, after another process
// rotated it on that of the new one, and reads what they wrote; see catchUp.
func (l *Log) lock() (torn []byte, err error) {
	for range rotations {
		if err := flock(int(l.file.Fd()), unix.LOCK_EX); err != nil {
			return nil, fmt.Errorf("lock %s: %w", l.path, err)
		}
		torn, err = l.catchUp()
		if !errors.Is(err, errMoved) {
			return torn, err
		}
		if !l.isRotated() {
			return nil, fmt.Errorf("%s: %w", l.path, errMoved)
		}
		old := l.file
		if err := l.open(); err != nil {
			l.file = old
			return nil, err
		}
		old.Close()
		l.last = link{} // catchUp finds it
	}
	return nil, fmt.Errorf("%s: %w", l.path, errMoved)
}

// isRotated reports whether the open file is one that was rotated away.
func (l *Log) isRotated() bool {
	here, err := l.file.Stat()
	if err != nil {
		return false
	}
	old, err := rotated(l.path)
	return err == nil && slices.ContainsFunc(old, func(path string) bool {
		there, err := os.Lstat(path)
		return err == nil && os.SameFile(here, there)
	})
}

// due reports whether the log is to go on in a new file.
func (l *Log) due() bool {
	if l.size == 0 {
		return false
	}
	if l.Rotate.Size > 0 && l.size >= l.Rotate.Size {
		return true
	}
	if l.Rotate.Age <= 0 {
		return false
	}
	if l.began.IsZero() {
		l.began = time.Now()
		var first struct{ Time time.Time }
		line, err := bufio.NewReader(io.NewSectionReader(l.file, 0, l.size)).ReadBytes('\n')
		if err == nil && json.Unmarshal(line, &first) == nil {
			l.began = first.Time
		}
	}
	return time.Since(l.began) >= l.Rotate.Age
}

// rotate puts the file away and opens a new one. The lock on the old one is held,
// and on the new one when it returns; see lock. Others may have written to the new
// one before, and may even have put it away in their turn.
func (l *Log) rotate() (torn []byte, err error) {
	old, last := l.file, l.last
	if err := old.Sync(); err != nil {
		return nil, err
	}
	away := rotatedName(l.path, last.seq)
	if _, err := os.Lstat(away); err == nil {
		return nil, fmt.Errorf("%s is there already; look into it (handrail audit verify)", away)
	}
	if err := os.Rename(l.path, away); err != nil {
		return nil, err
	}
	if err := l.open(); err != nil {
		l.file = old
		return nil, errors.Join(err, os.Rename(away, l.path))
	}
	l.last = link{}
	old.Close() // gives its lock back
	return l.lock()
}

// rotatedName is where a log with the last record seq is put away.
func rotatedName(path string, seq uint64) string {
	ext := filepath.Ext(path)
	return fmt.Sprintf("%s.%020d%s", strings.TrimSuffix(path, ext), seq, ext)
}

// rotated lists the files of the log at path that were put away, oldest first.
func rotated(path string) ([]string, error) {
	ext := filepath.Ext(path)
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	stem := strings.TrimSuffix(filepath.Base(path), ext) + "."
	var list []string
	for _, e := range entries {
		number, ok := strings.CutPrefix(strings.TrimSuffix(e.Name(), ext), stem)
		if _, err := strconv.ParseUint(number, 10, 64); ok && err == nil && len(number) == 20 && strings.HasSuffix(e.Name(), ext) {
			list = append(list, filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	slices.Sort(list)
	return list, nil
}

// Files lists the files of the log at path in the order of their records: those
// that were put away, then path itself.
func Files(path string) ([]string, error) {
	list, err := rotated(path)
	return append(list, path), err
}

// lastOf returns the last record of the newest file that was put away; the zero
// value where there is none.
func lastOf(path string) (link, error) {
	old, err := rotated(path)
	if err != nil || len(old) == 0 {
		return link{}, err
	}
	f, err := os.Open(old[len(old)-1])
	if err != nil {
		return link{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return link{}, err
	}
	l := &Log{path: f.Name(), file: f}
	err = l.advance(info.Size())
	if err == nil && l.last.seq == 0 {
		err = fmt.Errorf("%s has no record; look into it (handrail audit verify)", f.Name())
	}
	return l.last, err
}

// Writable says by an error why nothing could be recorded now.
func (l *Log) Writable() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return errors.New("audit: the log is not open")
	}
	if _, err := l.lock(); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	defer func() { flock(int(l.file.Fd()), unix.LOCK_UN) }()
	var fs unix.Statfs_t
	if err := unix.Fstatfs(int(l.file.Fd()), &fs); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	if free := uint64(fs.Bavail) * uint64(fs.Bsize); free < leastFree {
		return fmt.Errorf("audit: %d KiB are left on the disk of %s", free>>10, l.path)
	}
	return nil
}

// leastFree is what a disk must have left for records, in bytes.
const leastFree = 1 << 20
