//go:build linux || darwin

package history

import (
	"encoding/binary"
	"errors"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Entry is one name in a directory as it was at one moment.
type Entry struct {
	Name     Name   `json:"name"`
	Mode     uint32 `json:"mode"` // type and permissions, as st_mode
	Uid      uint32 `json:"uid"`
	Gid      uint32 `json:"gid"`
	Dev      uint64 `json:"dev"`
	Inode    uint64 `json:"inode"`
	Links    uint64 `json:"links"` // names that the file has
	Size     int64  `json:"size"`
	Modified int64  `json:"modified"` // ns since 1970
	Changed  int64  `json:"changed"`  // the inode, ns since 1970
	// Hash names the content in the store, hexadecimal SHA-256: of a file its
	// bytes, of a directory its listing. Empty where nothing is kept.
	Hash string `json:"hash,omitempty"`
	// Target is where a symbolic link leads.
	Target Name `json:"target,omitempty"`
	// Lost says why nothing is kept; empty where it is.
	Lost string `json:"lost,omitempty"`
	// Sure says that the content is that of this moment: the file was not
	// changed so shortly before that its times could not tell a later change.
	Sure bool `json:"sure,omitempty"`
}

func (e *Entry) kind() uint32 { return e.Mode & unix.S_IFMT }

func (e *Entry) isDir() bool { return e != nil && e.kind() == unix.S_IFDIR }

func (e *Entry) isFile() bool { return e != nil && e.kind() == unix.S_IFREG }

// still is how long after a change the times of a file cannot tell another one.
const still = 30 * time.Millisecond

// entryOf makes an entry of what fstat said at the time now.
func entryOf(name string, st *unix.Stat_t, now time.Time) Entry {
	e := Entry{Name: Name(name), Mode: uint32(st.Mode), Uid: st.Uid, Gid: st.Gid, Dev: uint64(st.Dev), Inode: st.Ino, Links: uint64(st.Nlink),
		Size: st.Size, Modified: st.Mtim.Nano(), Changed: st.Ctim.Nano()}
	e.Sure = max(e.Modified, e.Changed) < now.Add(-still).UnixNano()
	if e.isDir() {
		e.Size, e.Links = 0, 0 // as the file system likes
	}
	return e
}

// untouched reports that e, just looked at, is what old was: its content need
// not be read again. git compares the same (racy git: Documentation/technical).
func (e *Entry) untouched(old *Entry) bool {
	return old != nil && old.Sure && e.twin(old)
}

// twin compares what the file system says, and not the content.
func (e *Entry) twin(o *Entry) bool {
	return e.Dev == o.Dev && e.Inode == o.Inode && e.Mode == o.Mode && e.Size == o.Size && e.Modified == o.Modified && e.Changed == o.Changed &&
		e.Uid == o.Uid && e.Gid == o.Gid && e.Links == o.Links
}

// same reports whether two entries stand for the same thing: kind, permissions
// and content. What is below a directory is not compared. A nil entry is
// nothing.
func same(a, b *Entry) bool {
	switch {
	case a == nil || b == nil:
		return a == b
	case a.Mode != b.Mode:
		return false
	case a.isFile() && (a.Hash == "" || b.Hash == ""):
		return a.twin(b)
	case a.isFile():
		return a.Hash == b.Hash
	}
	return a.Target == b.Target
}

var errListing = errors.New("a listing in the store is damaged")

// encode writes a listing: each entry its numbers, then its texts.
func encode(entries []Entry) []byte {
	b := make([]byte, 0, 32+len(entries)*110)
	b = append(b, listing...)
	for i := range entries {
		e := &entries[i]
		sure := uint64(0)
		if e.Sure {
			sure = 1
		}
		for _, n := range [...]uint64{uint64(e.Mode), uint64(e.Uid), uint64(e.Gid), e.Dev, e.Inode, e.Links, uint64(e.Size), uint64(e.Modified), uint64(e.Changed), sure} {
			b = binary.AppendUvarint(b, n)
		}
		for _, s := range [...]string{string(e.Name), e.Hash, string(e.Target), e.Lost} {
			b = binary.AppendUvarint(b, uint64(len(s)))
			b = append(b, s...)
		}
	}
	return b
}

// listing begins every listing, and says its form.
const listing = "handrail listing 1\n"

// decode reads what encode wrote.
func decode(b []byte) ([]Entry, error) {
	rest, ok := strings.CutPrefix(string(b), listing)
	if !ok {
		return nil, errListing
	}
	b = b[len(listing):]
	var entries []Entry
	for at := 0; at < len(b); {
		var n [10]uint64
		for i := range n {
			v, size := binary.Uvarint(b[at:])
			if size <= 0 {
				return nil, errListing
			}
			n[i], at = v, at+size
		}
		var s [4]string
		for i := range s {
			v, size := binary.Uvarint(b[at:])
			if size <= 0 || v > uint64(len(b)-at-size) {
				return nil, errListing
			}
			at += size
			s[i], at = rest[at:at+int(v)], at+int(v)
		}
		if name := s[0]; name == "" || name == "." || name == ".." || strings.ContainsRune(name, '/') {
			return nil, errListing
		}
		entries = append(entries, Entry{Mode: uint32(n[0]), Uid: uint32(n[1]), Gid: uint32(n[2]), Dev: n[3], Inode: n[4], Links: n[5], Size: int64(n[6]),
			Modified: int64(n[7]), Changed: int64(n[8]), Sure: n[9] == 1, Name: Name(s[0]), Hash: s[1], Target: Name(s[2]), Lost: s[3]})
	}
	return entries, nil
}
