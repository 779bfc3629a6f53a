package disk

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// maxIndex is the largest git index that is read, in bytes.
const maxIndex = 16 << 20

// indexEntry is what git's index remembers of a file's state on disk.
type indexEntry struct {
	mtimeSec, mtimeNsec uint32
	size                uint32
	object              [20]byte // the SHA-1 name of the content
}

var errIndex = errors.New("git index not readable")

// parseIndex reads a git index of version 2, 3 or 4 with SHA-1 object names
// (gitformat-index(5)) into entries by path relative to the work tree.
func parseIndex(b []byte) (map[string]indexEntry, error) {
	if len(b) < 12 || !bytes.Equal(b[:4], []byte("DIRC")) {
		return nil, errIndex
	}
	version, count := binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
	if version < 2 || version > 4 || uint64(count) > uint64(len(b))/62 {
		return nil, errIndex
	}
	entries := make(map[string]indexEntry, count)
	var name []byte
	for at := 12; count > 0; count-- {
		const fixed = 62 // ten words, 20 bytes of object name, two of flags
		if at+fixed > len(b) {
			return nil, errIndex
		}
		e := indexEntry{
			mtimeSec:  binary.BigEndian.Uint32(b[at+8:]),
			mtimeNsec: binary.BigEndian.Uint32(b[at+12:]),
			size:      binary.BigEndian.Uint32(b[at+36:]),
			object:    [20]byte(b[at+40 : at+60]),
		}
		start := at
		extended := b[at+60]&0x40 != 0
		at += fixed
		if extended {
			at += 2
		}
		keep := 0
		if version == 4 {
			strip, n := offsetVarint(b[min(at, len(b)):])
			if n == 0 || strip > len(name) {
				return nil, errIndex
			}
			keep, at = len(name)-strip, at+n
		}
		if at > len(b) {
			return nil, errIndex
		}
		end := bytes.IndexByte(b[at:], 0)
		if end < 0 {
			return nil, errIndex
		}
		name = append(name[:keep], b[at:at+end]...)
		at += end + 1
		if version < 4 { // entries are padded to a multiple of eight
			at = start + (at-start+7)/8*8
		}
		entries[string(name)] = e
	}
	return entries, nil
}

// offsetVarint reads git's offset encoding; n is 0 where it is not valid.
func offsetVarint(b []byte) (value, n int) {
	for i, c := range b {
		if i > 4 {
			return 0, 0
		}
		if i > 0 {
			value++
		}
		value = value<<7 | int(c&0x7f)
		if c&0x80 == 0 {
			return value, i + 1
		}
	}
	return 0, 0
}
