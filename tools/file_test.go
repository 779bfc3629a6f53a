package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func (b *bench) content(t testing.TB, name string) string {
	t.Helper()
	c, err := os.ReadFile(filepath.Join(b.root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(c)
}

func TestReadPages(t *testing.T) {
	b := newBench(t)
	var all strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&all, "line %d\n", i+1)
	}
	b.write(t, "many", all.String())
	b.write(t, "wide", strings.Repeat("é", 3000)+"\nshort\n"+strings.Repeat("x", 1<<20)+"\nend")
	b.write(t, "crlf", "a\r\nb\r\n")
	b.write(t, "bom", "\ufeffa\n")
	b.write(t, "utf16", "\xff\xfea\x00\n\x00=\xd8\x00\xde")
	b.write(t, "latin1", "caf\xe9\n")
	b.write(t, "empty", "")
	b.write(t, "binary", "\x7fELF\x00\x01")
	b.write(t, "escape", "a\x1b[31mb\n")
	for _, c := range []struct {
		args  map[string]any
		start string
		notes []string
	}{
		{map[string]any{"path": "many"}, "     1\tline 1\n     2\tline 2\n", []string{"  2000\tline 2000\n[", "lines 1 to 2000 of 5000; go on with offset 2001", "sha256 " + sum([]byte(all.String()))}},
		{map[string]any{"path": "many", "offset": 4999}, "  4999\tline 4999\n  5000\tline 5000\n[", []string{"lines 4999 to 5000, the end"}},
		{map[string]any{"path": "many", "offset": 10, "limit": 1}, "    10\tline 10\n[", []string{"lines 10 to 10 of 5000; go on with offset 11"}},
		{map[string]any{"path": "wide"}, "     1\t" + strings.Repeat("é", 2000) + "[… about 2000 bytes of this line cut …]\n     2\tshort\n     3\txxx", []string{"\n     4\tend\n", "cut …]\n     4"}},
		{map[string]any{"path": "crlf"}, "     1\ta\n     2\tb\n[", []string{"CRLF"}},
		{map[string]any{"path": "bom"}, "     1\ta\n[", []string{"BOM"}},
		{map[string]any{"path": "utf16"}, "     1\ta\n     2\t😀\n[", []string{"UTF-16 (little endian)"}},
		{map[string]any{"path": "latin1"}, "     1\tcafé\n[", []string{"Latin-1"}},
		{map[string]any{"path": "empty"}, "[the file is empty", nil},
		{map[string]any{"path": "binary"}, b.root + "/binary is a binary file of 6 bytes", []string{sum([]byte("\x7fELF\x00\x01"))}},
		{map[string]any{"path": "escape"}, "     1\ta␛[31mb\n", nil},
		{map[string]any{"path": "~/bom"}, "     1\ta\n[", nil},
		{map[string]any{"path": b.root + "/./many", "limit": 1}, "     1\tline 1\n[", nil},
	} {
		res := b.call(t, Read, c.args, nil)
		if res.IsError || !strings.HasPrefix(res.Text, c.start) {
			t.Errorf("%v: error %v, text %.200q, want start %.200q", c.args, res.IsError, res.Text, c.start)
		}
		for _, n := range c.notes {
			if !strings.Contains(res.Text, n) {
				t.Errorf("%v: text lacks %q: … %q", c.args, n, res.Text[max(0, len(res.Text)-200):])
			}
		}
	}
	if res := b.call(t, Read, map[string]any{"path": "crlf", "offset": 9}, nil); !res.IsError || !strings.Contains(res.Text, "has 2 lines") {
		t.Errorf("past the end: %+v", res)
	}
}

func TestReadHugeInConstantMemory(t *testing.T) {
	b := newBench(t)
	path := b.write(t, "huge", "first\nsecond\n")
	if err := os.Truncate(path, 8<<30); err != nil { // sparse: one line of zeros
		t.Skip(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	res := b.Do(ctx, Call{Tool: Read, Input: json.RawMessage(`{"path":"huge","limit":2}`), Roots: []string{b.root}})
	if res.IsError || !strings.Contains(res.Text, "binary file of 8589934592 bytes") || res.SHA256 != "" {
		t.Errorf("%+v", res)
	}
	big := b.write(t, "big", strings.Repeat(strings.Repeat("y", 99)+"\n", 700_000)) // above hashMax
	allocs := testing.Benchmark(func(bm *testing.B) {
		bm.ReportAllocs()
		for range bm.N {
			if res := b.call(t, Read, map[string]any{"path": big, "offset": 600_000, "limit": 3}, nil); !strings.HasPrefix(res.Text, "600000\tyyy") || !strings.Contains(res.Text, "of a file of 70000000 bytes; go on with offset 600003") {
				t.Fatalf("%.300s", res.Text)
			}
		}
	})
	if n := allocs.AllocedBytesPerOp(); n > 4<<20 {
		t.Errorf("%d bytes for a page of a 70 MB file", n)
	}
}

func TestWrite(t *testing.T) {
	b := newBench(t)
	res := b.call(t, Write, map[string]any{"path": "a/b/new", "content": "one\r\n"}, nil)
	if res.IsError || b.content(t, "a/b/new") != "one\r\n" || res.SHA256 != sum([]byte("one\r\n")) || res.Path != b.root+"/a/b/new" {
		t.Fatalf("%+v", res)
	}
	old := syscall.Umask(0o022)
	syscall.Umask(old)
	if st, _ := os.Stat(res.Path); st.Mode().Perm() != os.FileMode(0o644&^old) {
		t.Errorf("mode of a new file: %v", st.Mode())
	}
	script := b.write(t, "script", "#!/bin/sh\n")
	attrs := unix.Setxattr(script, "user.note", []byte("kept"), 0)
	if err := errors.Join(os.Chmod(script, 0o751)); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		if err := os.Chown(script, 1234, 5678); err != nil {
			t.Fatal(err)
		}
	}
	if res := b.call(t, Write, map[string]any{"path": "script", "content": "new", "expected_sha256": sum([]byte("#!/bin/sh\n"))}, nil); res.IsError {
		t.Fatalf("%+v", res)
	}
	st, err := os.Stat(script)
	if err != nil || st.Mode().Perm() != 0o751 || os.Getuid() == 0 && (st.Sys().(*syscall.Stat_t).Uid != 1234 || st.Sys().(*syscall.Stat_t).Gid != 5678) {
		t.Errorf("mode %v, owner %+v", st.Mode(), st.Sys())
	}
	value := make([]byte, 10)
	if n, err := unix.Getxattr(script, "user.note", value); attrs == nil && (err != nil || string(value[:n]) != "kept") {
		t.Errorf("attribute: %q %v", value[:max(n, 0)], err)
	}
	for _, c := range []struct{ path, sha, want string }{
		{"script", sum([]byte("stale")), "its sha256 is " + sum([]byte("new"))},
		{"missing", sum(nil), "does not exist"},
		{"script/below", "", "not a directory"},
	} {
		res := b.call(t, Write, map[string]any{"path": c.path, "content": "x", "expected_sha256": c.sha}, nil)
		if !res.IsError || !strings.Contains(res.Text, c.want) || b.content(t, "script") != "new" {
			t.Errorf("%s: %q lacks %q", c.path, res.Text, c.want)
		}
	}
	if res := b.call(t, Write, map[string]any{"path": "long", "content": strings.Repeat("x", maxText+1)}, nil); !res.IsError || exists(b.root+"/long") {
		t.Errorf("%.200s", res.Text)
	}
	leftovers(t, b.root)
}

// leftovers fails the test for temporary files at or below dir.
func leftovers(t *testing.T, dir string) {
	t.Helper()
	_ = filepath.WalkDir(dir, func(path string, _ os.DirEntry, _ error) error {
		if strings.HasPrefix(filepath.Base(path), ".handrail-") {
			t.Errorf("%s was left", path)
		}
		return nil
	})
}

func TestEdit(t *testing.T) {
	b := newBench(t)
	path := b.write(t, "f", "\ufeffone\r\ntwo\r\nthree")
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	res := b.call(t, Edit, map[string]any{"path": "f", "old_string": "one\ntwo", "new_string": "1\n2"}, nil)
	if want := "\ufeff1\r\n2\r\nthree"; res.IsError || b.content(t, "f") != want || res.SHA256 != sum([]byte(want)) || !strings.Contains(res.Text, "-two\n+\ufeff1\n+2\n") {
		t.Errorf("%q: %+v", b.content(t, "f"), res)
	}
	if st, _ := os.Stat(path); st.Mode().Perm() != 0o640 {
		t.Errorf("mode %v", st.Mode())
	}
	b.write(t, "bin", "a\x00b")
	b.write(t, "utf16", "\xff\xfea\x00")
	b.write(t, "latin1", "caf\xe9 a\n")
	for _, c := range []struct{ path, old, new, sha, want string }{
		{"f", "absent", "x", "", "0 times"},
		{"f", "e", "x", "", "2 times"},
		{"f", "2", "2", "", "nothing would change"},
		{"f", "2", "3", sum(nil), "changed since you read it"},
		{"bin", "a", "b", "", "binary"},
		{"utf16", "a", "b", "", "UTF-16"},
		{"latin1", "a\n", "é\n", "", "mix encodings"},
		{"missing", "a", "b", "", "does not exist"},
	} {
		res := b.call(t, Edit, map[string]any{"path": c.path, "old_string": c.old, "new_string": c.new, "expected_sha256": c.sha}, nil)
		if !res.IsError || !strings.Contains(res.Text, c.want) {
			t.Errorf("%+v: %q", c, res.Text)
		}
	}
	if res := b.call(t, Edit, map[string]any{"path": "latin1", "old_string": "a\n", "new_string": "b\n"}, nil); res.IsError || b.content(t, "latin1") != "caf\xe9 b\n" {
		t.Errorf("latin1: %+v", res)
	}
	leftovers(t, b.root)
}
