package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Trust is which files of projects the user trusts, by path and content: a plain
// file of the state directory, since it is small, read often and written by
// hand only. The zero value trusts nothing. It is safe for concurrent use, by
// many processes too.
type Trust struct {
	dir string

	mu    sync.Mutex
	next  time.Time // when to look again
	files []TrustedFile
	err   error
}

// TrustedFile is one file that the user trusts while it has this content.
type TrustedFile struct {
	Root   string    `json:"root"` // absolute, resolved
	Path   string    `json:"path"` // below Root
	SHA256 string    `json:"sha256"`
	At     time.Time `json:"at"`
}

// Full is the absolute path.
func (f TrustedFile) Full() string { return filepath.Join(f.Root, f.Path) }

// trustEvery is how often the file is looked at.
const trustEvery = 100 * time.Millisecond

// OpenTrust returns what is trusted according to a state directory.
func OpenTrust(state string) *Trust { return &Trust{dir: resolved(state)} }

func (t *Trust) file() string { return filepath.Join(t.dir, "trust.json") }

// Has reports whether the user trusts the file at an absolute path with this
// content (SHA-256 in hexadecimal). What cannot be read trusts nothing.
func (t *Trust) Has(path, sum string) bool {
	if t == nil || t.dir == "" || sum == "" {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := time.Now(); now.After(t.next) {
		t.files, t.err = t.read()
		t.next = now.Add(trustEvery)
	}
	return t.err == nil && slices.ContainsFunc(t.files, func(f TrustedFile) bool { return f.SHA256 == sum && f.Full() == path })
}

// Files are all files that are trusted.
func (t *Trust) Files() ([]TrustedFile, error) { return t.read() }

func (t *Trust) read() ([]TrustedFile, error) {
	data, _, err := readOwn(t.file())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var all struct{ Files []TrustedFile }
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("%s: %w; nothing is trusted: remove the file and trust again", t.file(), err)
	}
	return all.Files, nil
}

// Replace makes files all that is trusted of root; none takes the trust back.
func (t *Trust) Replace(root string, files []TrustedFile) error {
	if err := os.MkdirAll(t.dir, 0o700); err != nil {
		return err
	}
	lock, err := os.OpenFile(t.file()+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close() // and with it the lock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	all, err := t.read()
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(f TrustedFile) bool { return f.Root == root })
	data, err := json.MarshalIndent(struct{ Files []TrustedFile }{append(all, files...)}, "", "  ")
	if err != nil {
		return err
	}
	return replaceFile(t.file(), append(data, '\n'))
}

// replaceFile writes a file of the user alone in one step.
func replaceFile(file string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(file), ".new-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}
