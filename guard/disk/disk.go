// Package disk is the guard's cheap and bounded look at the disk: links,
// kinds, globs, scripts. It reads and never writes.
package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// defaultBudget is the number of system calls that a View may make.
const defaultBudget = 2000

// View looks at the disk on behalf of one call. It remembers what it saw, and
// stops looking after Budget questions: from then on everything is unknown.
// The zero value looks at the real disk with the default budget. It is not safe
// for concurrent use.
type View struct {
	// Budget is the number of system calls allowed; zero means 2000.
	Budget int
	// Created reports whether a file (absolute, resolved; what lstat said of it)
	// is still as this session made it; nil: none is.
	Created func(path string, info fs.FileInfo) bool

	used   int
	nodes  map[string]node // by path whose directory is resolved
	memo   map[string]real // by path as asked
	works  map[string]*work
	looked int // names that were counted
	hashed int // files that were compared by content
}

// Type is what stands at a path. The zero value is not known.
type Type uint8

const (
	Unknown Type = iota // the budget is spent, or access was refused
	Absent
	File
	Dir
	Other // device, FIFO, socket
)

// Info is what is known of a path, symbolic links followed.
type Info struct {
	Type       Type
	Executable bool
	Size       int64 // bytes
	// Links is the number of names (hard links) that a file has.
	Links int
}

// node is what lstat said of one name.
type node struct {
	info   Info
	link   bool
	target string // of the link
}

// spend takes one system call from the budget.
func (v *View) spend() bool {
	limit := v.Budget
	if limit == 0 {
		limit = defaultBudget
	}
	v.used++
	return v.used <= limit
}

// lstat looks at one name in a resolved directory.
func (v *View) lstat(path string) node {
	if n, ok := v.nodes[path]; ok {
		return n
	}
	if !v.spend() {
		return node{}
	}
	n := look(path)
	if n.link {
		if !v.spend() {
			return node{}
		}
		target, err := os.Readlink(path)
		if err != nil {
			n = node{} // it changed under our eyes
		}
		n.target = target
	}
	if v.nodes == nil {
		v.nodes = map[string]node{}
	}
	v.nodes[path] = n
	return n
}

func look(path string) node {
	fi, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return node{info: Info{Type: Absent}}
	case err != nil:
		return node{}
	}
	n := node{info: Info{Type: Other, Size: fi.Size(), Links: 1}}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		n.info.Links = int(st.Nlink)
	}
	switch mode := fi.Mode(); {
	case mode.IsRegular():
		n.info.Type = File
		n.info.Executable = mode&0o111 != 0
	case mode.IsDir():
		n.info.Type = Dir
	case mode&fs.ModeSymlink != 0:
		n.link = true
	}
	return n
}

// Stat says what stands at path (absolute), links followed.
func (v *View) Stat(path string) Info {
	resolved, ok := v.Resolve(path)
	if !ok {
		return Info{}
	}
	if stream(resolved) {
		return Info{Type: Other}
	}
	return v.lstat(resolved).info
}

// ReadFile reads a regular file of at most max bytes; a larger one, or one that
// is not regular, is an error. It never waits for a FIFO or a device.
func (v *View) ReadFile(path string, max int) ([]byte, error) {
	resolved, ok := v.Resolve(path)
	if !ok {
		return nil, fmt.Errorf("read %s: not resolvable", path)
	}
	switch info := v.Stat(resolved); {
	case info.Type == Absent:
		return nil, fmt.Errorf("read %s: %w", path, fs.ErrNotExist)
	case info.Type != File:
		return nil, fmt.Errorf("read %s: not a regular file", path)
	case info.Size > int64(max):
		return nil, fmt.Errorf("read %s: %d bytes are more than %d", path, info.Size, max)
	}
	if opened := v.spend(); !v.spend() || !opened {
		return nil, fmt.Errorf("read %s: the budget is spent", path)
	}
	f, err := os.OpenFile(resolved, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		return nil, fmt.Errorf("read %s: not a regular file", path)
	}
	b, err := io.ReadAll(io.LimitReader(f, int64(max)+1))
	if err == nil && len(b) > max {
		err = fmt.Errorf("read %s: more than %d bytes", path, max)
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}
