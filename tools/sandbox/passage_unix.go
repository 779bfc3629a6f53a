//go:build linux || darwin

package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// passage lets the server into directories of its own user that a command has
// closed to it by their modes, until close is called. The zero value opens none
// above the paths it is asked for.
type passage struct {
	held   []string // above these nothing is opened
	opened []opening
}

// opening is one directory and the mode that it had, with all bits of chmod(2).
type opening struct {
	path     string
	dev, ino uint64
	mode     uint32
}

// Which bits of its owner a directory needs.
const (
	toRead  = 0o500
	toWrite = 0o700
)

// open gives the directory path the bits that it needs, and reports whether it
// had not all of them and has them now.
func (p *passage) open(path string, bits uint32) bool {
	fi, err := os.Lstat(path)
	if err != nil || !fi.IsDir() || !own(fi) {
		return false
	}
	st := fi.Sys().(*syscall.Stat_t)
	mode := uint32(st.Mode) & 0o7777
	o := opening{path, uint64(st.Dev), st.Ino, mode}
	if mode&bits == bits || o.set(mode|0o700) != nil {
		return false
	}
	p.opened = append(p.opened, o)
	return true
}

// reach opens path and the directories above it, outermost first.
func (p *passage) reach(path string, bits uint32) {
	for _, dir := range p.held {
		rest, in := strings.CutPrefix(path, dir)
		if !in || rest != "" && rest[0] != '/' {
			continue
		}
		p.open(dir, bits)
		for name := range strings.SplitSeq(strings.TrimPrefix(rest, "/"), "/") {
			if name != "" {
				dir = filepath.Join(dir, name)
				p.open(dir, bits)
			}
		}
	}
}

// lstat is os.Lstat, also where a directory above is closed.
func (p *passage) lstat(path string) (fs.FileInfo, error) {
	fi, err := os.Lstat(path)
	if errors.Is(err, fs.ErrPermission) {
		p.reach(filepath.Dir(path), toRead)
		fi, err = os.Lstat(path)
	}
	return fi, err
}

// list reads the directory path, also where it is closed. What is closed by
// another user is to the commands too, and empty here.
func (p *passage) list(path string) ([]fs.DirEntry, error) {
	p.open(path, toRead)
	entries, err := readDir(path)
	if !errors.Is(err, fs.ErrPermission) {
		return entries, err
	}
	if fi, at := os.Lstat(path); at == nil && !own(fi) {
		return nil, nil
	}
	return entries, err
}

// close gives what was opened the modes that it had.
func (p *passage) close() {
	for _, o := range slices.Backward(p.opened) {
		_ = o.set(o.mode) // gone, or taken back
	}
	p.opened = nil
}

func own(fi fs.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
