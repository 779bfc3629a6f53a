package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// projectFile is the configuration of a project, below its root.
const projectFile = ".handrail/config.yaml"

// maxProjectFile bounds a file of a project, in bytes.
const maxProjectFile = 64 << 10

// project is the configuration of one workspace root as it was read: once, and
// what was read is what was hashed.
type project struct {
	path    string // absolute
	sum     string // SHA-256 in hexadecimal, or what kept it from being read
	layer   *layer
	trusted bool
	err     error // with file:line where the file has them
}

// readProjects reads the configuration of each root that has one. Made-up
// places have none.
func (c *Config) readProjects(roots []string, trust *Trust) (all []*project) {
	if !c.own {
		return nil
	}
	for _, root := range roots {
		data, err := readBelow(root, projectFile, maxProjectFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		p := &project{path: filepath.Join(root, projectFile)}
		if err != nil {
			p.err, p.sum = fmt.Errorf("%s: %w", p.path, err), err.Error()
		} else {
			p.sum = sumOf(data)
			p.layer, p.err = c.parseInto(&layer{name: p.path, project: true}, data)
			p.trusted = p.err == nil && trust.Has(p.path, p.sum)
		}
		all = append(all, p)
	}
	return all
}

// withProjects is c for calls in roots: as strict as the projects say, and
// looser only where the user trusts them. While a project's file has a fault,
// every call asks.
func (c *Config) withProjects(projects []*project) *Config {
	own := *c
	for _, p := range projects {
		if p.err != nil {
			own.broken = append(own.broken[:len(own.broken):len(own.broken)], p.err.Error())
			continue
		}
		own.tighten(p.layer, p.trusted)
	}
	own.bind()
	return &own
}

// readBelow reads a regular file of at most max bytes below root (absolute).
// Links that lead out of the root are errors; a file that is not there is
// fs.ErrNotExist.
func readBelow(root, rel string, max int64) ([]byte, error) {
	first, _, _ := strings.Cut(rel, "/")
	if _, err := os.Lstat(filepath.Join(root, first)); errors.Is(err, fs.ErrNotExist) { // nearly always
		return nil, err
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	f, err := dir.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not hold us
	if errors.Is(err, syscall.ENOTDIR) {
		return nil, fs.ErrNotExist
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, max+1))
	if err == nil && int64(len(data)) > max {
		err = fmt.Errorf("longer than %d bytes", max)
	}
	return data, err
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// InProject is c as it holds for calls in roots, with what is wrong with files of
// the projects.
func (c *Config) InProject(roots []string) (*Config, []string) {
	own := c.withProjects(c.readProjects(roots, OpenTrust(c.State)))
	return own, own.broken
}
