package place

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
)

// Homes are the home directories of the user: what HOME says, and what the
// machine says, since HOME can be set to anything.
func Homes() []string {
	var homes []string
	if h, err := os.UserHomeDir(); err == nil && filepath.IsAbs(h) {
		homes = append(homes, h)
	}
	if u, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil && filepath.IsAbs(u.HomeDir) {
		homes = append(homes, u.HomeDir)
	}
	return homes
}

// Root resolves a directory that is to be a workspace root. What would make too
// much the workspace is refused: the root of the file system, one of the home
// directories and what lies above it, and where systems keep everybody's.
func Root(dir string, homes []string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("cannot be a workspace: %w", err)
	}
	resolved, err := Directory(abs)
	if err != nil {
		return "", err
	}
	if filepath.Dir(resolved) == resolved {
		return "", errors.New("is the root of the file system, which cannot be a workspace")
	}
	if resolved == "/home" || resolved == "/Users" {
		return "", errors.New("holds the home directories of this machine and cannot be a workspace")
	}
	for _, h := range homes {
		if r, err := filepath.EvalSymlinks(h); err == nil {
			homes = append(homes[:len(homes):len(homes)], r)
		}
	}
	for _, h := range homes {
		h = filepath.Clean(h)
		if h == resolved || sameFile(h, resolved) {
			return "", errors.New("is a home directory, which cannot be a workspace")
		}
		if Inside(h, resolved) && filepath.Dir(h) != h {
			return "", fmt.Errorf("holds the home directory %s and cannot be a workspace", h)
		}
	}
	return resolved, nil
}

// Directory resolves an absolute path, which must lead to a directory.
func Directory(path string) (string, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", fmt.Errorf("cannot be a workspace: %w", err)
	}
	info, err := os.Stat(resolved)
	if err != nil {
		return "", fmt.Errorf("cannot be a workspace: %w", err)
	}
	if !info.IsDir() {
		return "", errors.New("is not a directory")
	}
	return resolved, nil
}

func sameFile(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// Inside reports whether path is dir or lies below it; both are clean.
func Inside(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}
