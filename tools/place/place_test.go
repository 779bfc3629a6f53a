//go:build linux || darwin

package place

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestOpenDir: a directory is opened in one step exactly where walking to it opens
// it, and it is the same one.
func TestOpenDir(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(os.MkdirAll(top+"/a/b", 0o755), os.WriteFile(top+"/file", nil, 0o644), os.Symlink("a", top+"/link"),
		os.Symlink(top+"/a/b", top+"/a/far"), os.Symlink("nowhere", top+"/broken"), os.Symlink("loop", top+"/loop"))
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]error{
		"/": nil, top: nil, top + "/a/b": nil, top + "/a//b/": nil, top + "/link/../a": nil,
		top + "/link": ErrMoved, top + "/link/": ErrMoved, top + "/link/b": ErrMoved, top + "/a/far": ErrMoved, top + "/loop": ErrMoved, top + "/broken": ErrMoved,
		top + "/file": errAny, top + "/missing": errAny, "a": errAny, "": errAny, top + "/a\x00": errAny,
	}
	if _, err := os.Lstat("/proc/self/root"); err == nil {
		cases["/proc/self/root"] = ErrMoved
	}
	for path, want := range cases {
		dir, err := OpenDir(path, false)
		if want == nil && err != nil || want != nil && err == nil || want == ErrMoved && !errors.Is(err, ErrMoved) {
			t.Errorf("%q: %v, want %v", path, err, want)
		}
		if !filepath.IsAbs(path) {
			continue
		}
		walked, werr := walk(path, false)
		if (err == nil) != (werr == nil) {
			t.Errorf("%q: %v, but by walking %v", path, err, werr)
		}
		if err != nil || werr != nil {
			continue
		}
		if a, b := stat(t, dir), stat(t, walked); !os.SameFile(a, b) || dir.Name() != path || walked.Name() != path {
			t.Errorf("%q: %v is not %v", path, a, b)
		}
		dir.Close()
		walked.Close()
	}
	dir, err := OpenDir(top+"/new/one", true)
	if err != nil || dir.Close() != nil {
		t.Errorf("nothing was made: %v", err)
	}
}

var errAny = errors.New("any error")

func stat(t *testing.T, f *os.File) os.FileInfo {
	t.Helper()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func BenchmarkOpenDir(b *testing.B) {
	top := b.TempDir()
	for _, way := range []struct {
		name string
		open func(string, bool) (*os.File, error)
	}{{"open", OpenDir}, {"walk", walk}} {
		b.Run(way.name, func(b *testing.B) {
			for b.Loop() {
				dir, err := way.open(top, false)
				if err != nil {
					b.Fatal(err)
				}
				dir.Close()
			}
		})
	}
}
