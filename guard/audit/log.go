package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"handrail/guard/owner"
)

// maxTorn is how much of an unfinished end is taken for a crash, in bytes.
const maxTorn = 16 << 20

// Log is an open audit log. It is safe for concurrent use, and several
// processes may write to one file. The zero value records nothing: every Append
// is an error.
type Log struct {
	// Rotate says when the log goes on in a new file, Redact takes secrets out of
	// what is recorded, beside those that are known by their shape. Both are to be
	// set before the first Append; the zero values never and none.
	Rotate Rotation
	Redact func(string) string

	path           string
	dirty, syncing atomic.Bool // see soon

	mu   sync.Mutex
	file *os.File
	size int64 // of the file up to which last is known
	// began is the time of the file's first record, as far as known.
	began time.Time
	last  link  // the last whole line
	lost  error // of the disk, which tells each only once
}

// Open opens or creates the log at path (mode 0600 in a directory of mode
// 0700). It refuses a path that is a symbolic link, no regular file, of another
// owner, or writable by others.
func Open(path string) (*Log, error) {
	dir := filepath.Dir(path)
	if err := private(dir); err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	l := &Log{path: path}
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	return l, nil
}

// open opens the file at the log's path, or makes it.
func (l *Log) open() error {
	fd, err := unix.Open(l.path, unix.O_RDWR|unix.O_APPEND|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
	if errors.Is(err, unix.ELOOP) {
		return fmt.Errorf("%s is a symbolic link; the log must be a file of its own", l.path)
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", l.path, err)
	}
	l.file, l.size, l.began = os.NewFile(uintptr(fd), l.path), 0, time.Time{}
	if err := l.check(); err != nil {
		l.file.Close()
		return err
	}
	if d, err := os.Open(filepath.Dir(l.path)); err == nil { // the new name must outlive a crash
		d.Sync()
		d.Close()
	}
	return nil
}

// private makes dir and sees to it that it is the user's alone.
func private(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return fmt.Errorf("stat %s: %w", dir, err)
	}
	if int(st.Uid) != os.Geteuid() {
		return owner.Foreign(dir, int(st.Uid))
	}
	if st.Mode&0o077 != 0 {
		if err := os.Chmod(dir, 0o700); err != nil {
			return err
		}
	}
	return nil
}

// check refuses a file that others could have prepared.
func (l *Log) check() error {
	var st unix.Stat_t
	if err := unix.Fstat(int(l.file.Fd()), &st); err != nil {
		return fmt.Errorf("stat %s: %w", l.path, err)
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return fmt.Errorf("%s is not a regular file", l.path)
	case int(st.Uid) != os.Geteuid():
		return owner.Foreign(l.path, int(st.Uid))
	case st.Mode&0o022 != 0:
		return fmt.Errorf("%s is writable by others (mode %o); look at it, then chmod 600 it", l.path, st.Mode&0o777)
	case st.Nlink > 1:
		return fmt.Errorf("%s has another name (a hard link)", l.path)
	}
	return nil
}

// Append writes r as the next line. An answer, and a decision after which
// something may change, is durable when it returns; another decision soon after,
// so that it waits for no disk. Seq, Time, Prev and Hash of r are set. On an error
// nothing may run.
func (l *Log) Append(r *Record) error {
	durable, err := l.Begin(r)
	if err != nil {
		return err
	}
	return durable()
}

// Begin is Append for who has something to do while the disk works: durable waits
// for that. Before it has returned without an error nothing may run.
func (l *Log) Begin(r *Record) (durable func() error, err error) {
	// What takes its time is done before the lock, for which all calls wait.
	next := l.shorten(r)
	rest, err := content(&next)
	l.mu.Lock()
	switch {
	case l.file == nil:
		err = errors.New("the log is not open")
	case l.lost != nil:
		err = l.lost
	case err == nil:
		err = l.write(r, &next, rest)
	}
	file := l.file
	l.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	switch {
	case r.Event == Decision && r.changesNothing():
		l.soon(file)
	case r.Event == Decision || r.Event == Answer:
		return l.begun(file), nil
	}
	return func() error { return nil }, nil
}

// write appends next, which is r as it is kept, under the lock of all processes;
// rest is all of its line but the link.
func (l *Log) write(r, next *Record, rest []byte) error {
	torn, err := l.lock()
	if err == nil && len(torn) == 0 && l.due() {
		torn, err = l.rotate()
	}
	defer func() { flock(int(l.file.Fd()), unix.LOCK_UN) }()
	if err != nil {
		return err
	}
	next.Seq, next.Prev, next.Time = l.last.seq+1, l.last.hash, time.Now().UTC()
	var line []byte
	if len(torn) > 0 {
		if torn[len(torn)-1] != '\n' {
			line = []byte{'\n'}
		}
		if mended, err := read(torn); err == nil && l.follows(mended) {
			l.last = mended // only the newline is missing
			next.Seq, next.Prev = mended.seq+1, mended.hash
		} else {
			next.Torn = tear(torn)
			if rest, err = content(next); err != nil {
				return err
			}
		}
	}
	line = append(line, chain(next, rest)...)
	if n, err := l.file.Write(line); err != nil {
		if n > 0 { // a full disk: take the half line back
			l.file.Truncate(l.size + int64(len(torn)))
		}
		return fmt.Errorf("write %s: %w", l.path, err)
	}
	l.size += int64(len(torn) + len(line))
	l.last = link{seq: next.Seq, prev: next.Prev, hash: next.Hash}
	r.Seq, r.Time, r.Prev, r.Hash = next.Seq, next.Time, next.Prev, next.Hash
	return nil
}

func (l *Log) follows(next link) bool {
	return next.seq == l.last.seq+1 && next.prev == l.last.hash
}

// catchUp reads what other processes wrote since the last look and sets size
// and last to the end of the last whole line. It returns the bytes after it: a
// line that a crash left unfinished.
func (l *Log) catchUp() (torn []byte, err error) {
	var here, there unix.Stat_t
	if err := unix.Fstat(int(l.file.Fd()), &here); err != nil {
		return nil, fmt.Errorf("stat %s: %w", l.path, err)
	}
	if err := unix.Lstat(l.path, &there); err != nil || here.Ino != there.Ino || here.Dev != there.Dev {
		return nil, errMoved
	}
	if l.size == 0 && l.last.seq == 0 { // a new file may go on from one that was put away
		if l.last, err = lastOf(l.path); err != nil {
			return nil, err
		}
	}
	if here.Size == l.size {
		return nil, nil
	}
	if here.Size < l.size {
		return nil, fmt.Errorf("%s became shorter while the log was open; look into it (handrail audit verify), then restart the server", l.path)
	}
	if err := l.advance(here.Size); err != nil {
		return nil, err
	}
	if here.Size-l.size > maxTorn {
		return nil, fmt.Errorf("%s ends in %d bytes that are no record; look into it (handrail audit verify), then move the file away", l.path, here.Size-l.size)
	}
	torn = make([]byte, here.Size-l.size)
	_, err = l.file.ReadAt(torn, l.size)
	return torn, err
}

// advance moves size and last to the end of the last record in the first size
// bytes. A crash leaves at most two lines that are none: half a line, and half
// of the one that was to vouch for it.
func (l *Log) advance(size int64) error {
	for end, tries := size, 0; tries < 3; tries++ {
		start, err := l.lastNewline(end, l.size)
		if err != nil {
			return err
		}
		if start == l.size {
			return nil
		}
		line, err := l.lineBefore(start)
		if err != nil {
			return err
		}
		if last, err := read(line); !errors.Is(err, errForm) {
			l.last, l.size = last, start // a changed hash is Verify's to tell
			return nil
		}
		end = start - 1
	}
	return fmt.Errorf("the last lines of %s are no records; look into it (handrail audit verify), then move the file away", l.path)
}

// lineBefore returns the line that ends with the newline at end-1.
func (l *Log) lineBefore(end int64) ([]byte, error) {
	start, err := l.lastNewline(end-1, l.size)
	if err != nil {
		return nil, err
	}
	line := make([]byte, end-1-start)
	_, err = l.file.ReadAt(line, start)
	return line, err
}

// lastNewline returns the offset after the last newline in [from, to), or from
// where there is none.
func (l *Log) lastNewline(to, from int64) (int64, error) {
	buf := make([]byte, 64<<10)
	for to > from {
		n := min(int64(len(buf)), to-from)
		if _, err := l.file.ReadAt(buf[:n], to-n); err != nil && !errors.Is(err, io.EOF) {
			return 0, fmt.Errorf("read %s: %w", l.path, err)
		}
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			return to - n + int64(i) + 1, nil
		}
		to -= n
	}
	return from, nil
}

// flock locks or unlocks, whatever signals come.
func flock(fd, how int) error {
	for {
		if err := unix.Flock(fd, how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// Close closes the log; nothing can be appended afterwards.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}
