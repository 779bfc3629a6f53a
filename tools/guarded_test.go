package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestGuarded: files of secrets are found at any depth, also those that came
// after a directory was looked at, and whatever time it was given.
func TestGuarded(t *testing.T) {
	root := resolved(t.TempDir())
	write := func(name string) string {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	want := []string{write(".env"), write("a/b/c/d/e/f/.ENV.local")}
	write("a/.env.example")
	write("node_modules/x/.env")
	write("a/main.go")
	if err := os.Symlink(root, root+"/a/loop"); err != nil {
		t.Fatal(err)
	}
	var g guarded
	check := func(when string) {
		t.Helper()
		got := g.of([]string{root})
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	check("at first")
	for len(g.dirs) < 7 { // until what changed has settled
		time.Sleep(unsettled)
		check("again")
	}
	old, err := os.Stat(root + "/a/b/c")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, write("a/b/c/.env"))
	if err := os.Chtimes(root+"/a/b/c", old.ModTime(), old.ModTime()); err != nil {
		t.Fatal(err)
	}
	check("one more, with the time set back")
	if err := os.Rename(root+"/a/b/c/.env", root+"/a/b/c/env"); err != nil {
		t.Fatal(err)
	}
	want = slices.DeleteFunc(want, func(p string) bool { return p == root+"/a/b/c/.env" })
	check("renamed")
}

func BenchmarkGuarded(b *testing.B) {
	root := resolved(b.TempDir())
	for i := range 2000 {
		if err := os.MkdirAll(fmt.Sprintf("%s/d%d/e%d/f", root, i%20, i), 0o755); err != nil {
			b.Fatal(err)
		}
	}
	for name, g := range map[string]*guarded{"new": nil, "known": {}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				g.of([]string{root})
			}
		})
	}
}
