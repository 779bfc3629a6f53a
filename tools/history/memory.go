//go:build linux || darwin

package history

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
)

// most names are remembered; then it begins anew.
const mostRemembered = 500_000

// head says how a directory was last looked at, for the next process.
type head struct {
	Path Name  `json:"path"` // absolute
	Top  Entry `json:"top"`
}

// remembered returns the directory path as it was last looked at; old is the
// entry that it had then, or nil. It is nil where it is not known.
func (s *Store) remembered(path string, old *Entry) *folder {
	if f := s.seen[path]; f != nil {
		return f
	}
	if !old.isDir() || old.Hash == "" {
		return nil
	}
	entries, err := s.listing(old.Hash)
	if err != nil {
		return nil
	}
	f := &folder{entries, old.Hash}
	s.remember(path, f)
	return f
}

func (s *Store) remember(path string, f *folder) {
	if old := s.seen[path]; old != nil {
		s.names -= len(old.entries)
	}
	if s.names+len(f.entries) > mostRemembered {
		s.seen, s.names = map[string]*folder{}, 0
	}
	s.seen[path] = f
	s.names += len(f.entries)
}

func (s *Store) headFile(path string) string {
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(s.dir, "heads", hex.EncodeToString(sum[:16]))
}

// headOf returns the entry under which the directory path was last kept, by
// whatever process; nil where it was not.
func (s *Store) headOf(path string) *Entry {
	if f := s.seen[path]; f != nil {
		return nil // remembered
	}
	b, err := os.ReadFile(s.headFile(path))
	var h head
	if err != nil || json.Unmarshal(b, &h) != nil || string(h.Path) != path {
		return nil
	}
	return &h.Top
}

// setHead leaves word for the next process.
func (s *Store) setHead(path string, top *Entry) error {
	return s.write(s.headFile(path), head{Name(path), *top})
}

// write puts v as JSON at path, in one step.
func (s *Store) write(path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	temp, err := s.temp()
	if err != nil {
		return err
	}
	_, err = temp.Write(b)
	if e := temp.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		os.Remove(temp.Name())
	}
	return err
}
