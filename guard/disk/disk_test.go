package disk_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"handrail/guard/disk"
	"handrail/internal/testkit"
)

// tree makes a directory with files ("dir/", "file", "link -> target",
// "fifo|") and returns its resolved path.
func tree(t testing.TB, entries ...string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name, target, link := strings.Cut(e, " -> ")
		path := filepath.Join(root, strings.TrimSuffix(name, "|"))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		switch {
		case link:
			err = os.Symlink(strings.ReplaceAll(target, "ROOT", root), path)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		case strings.HasSuffix(name, "|"):
			err = syscall.Mkfifo(path, 0o600)
		default:
			err = os.WriteFile(path, []byte("content of "+name), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestResolve(t *testing.T) {
	root := tree(t, "a/b/file", "out/secret", "in -> a/b", "abs -> ROOT/out", "a/up -> ../out", "chain -> chain2", "chain2 -> in",
		"loop -> loop2", "loop2 -> loop", "self -> self/x", "dangling -> nowhere/new", "filelink -> a/b/file", "a/dotted -> ./../a/b/..")
	for _, c := range []struct {
		path, want string // below root; "!" for not told
	}{
		{"a/b/file", "a/b/file"},
		{"a//b/./file", "a/b/file"},
		{"a/b/../b/file", "a/b/file"},
		{"in/file", "a/b/file"},
		{"in/../file", "a/file"}, // the parent of what the link leads to
		{"abs/secret", "out/secret"},
		{"abs/../a", "a"},
		{"a/up/secret", "out/secret"},
		{"a/up/../a/b", "a/b"},
		{"chain/file", "a/b/file"},
		{"filelink", "a/b/file"},
		{"a/dotted/b/file", "a/b/file"},
		{"dangling", "nowhere/new"},
		{"dangling/x", "nowhere/new/x"},
		{"none/x/../y", "none/y"},
		{"in/new", "a/b/new"},
		{"in/", "a/b"},
		{"loop", "!"},
		{"loop/x", "!"},
		{"self", "!"},
		{strings.Repeat("../", 50) + strings.TrimPrefix(root, "/") + "/in", "a/b"},
	} {
		var v disk.View
		for range 2 { // the second time from memory
			got, ok := v.Resolve(root + "/" + c.path)
			if want := filepath.Join(root, c.want); ok != (c.want != "!") || ok && got != want {
				t.Errorf("Resolve(%s) = %s, %t; want %s", c.path, got, ok, want)
			}
		}
	}
}

// Where a path exists, the kernel's answer is the right one.
func TestResolveAgreesWithTheKernel(t *testing.T) {
	root := tree(t, "a/b/c/", "l -> a/b", "a/m -> ../l/c", "a/b/n -> ROOT/l/../m", "x -> a/b/n", "y -> x/../../../l/.")
	var v disk.View
	for _, p := range []string{"l", "a/m", "a/b/n", "x", "x/..", "y", "y/n/..", "l/n/../..", "x/../../../a/m/../n"} {
		want, err := filepath.EvalSymlinks(root + "/" + p)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := v.Resolve(root + "/" + p); !ok || got != want {
			t.Errorf("Resolve(%s) = %s, %t; want %s", p, got, ok, want)
		}
	}
}

func TestResolveLink(t *testing.T) {
	root := tree(t, "a/b/file", "in -> a", "in2 -> in/b", "loop -> loop")
	for path, want := range map[string]string{
		"in": "in", "in/b": "a/b", "in2": "in2", "in2/": "a/b", "in/.": "a", "in2/..": "a", "in2/file": "a/b/file", "loop": "loop", "new": "new",
	} {
		var v disk.View
		if got, ok := v.ResolveLink(root + "/" + path); !ok || got != filepath.Join(root, want) {
			t.Errorf("ResolveLink(%s) = %s, %t; want %s", path, got, ok, want)
		}
	}
}

func TestResolveRefuses(t *testing.T) {
	var v disk.View
	for _, p := range []string{"", "relative", "/a\x00b", "/" + strings.Repeat("a/", 5000), "/proc/self/cwd/x", "/proc/self/exe", "/proc/1/cwd", "/proc/self/fd/3/x", "/proc/1/fd/3"} {
		if got, ok := v.Resolve(p); ok {
			t.Errorf("Resolve(%.40q) = %s, true", p, got)
		}
	}
	for p, want := range map[string]string{"/dev/stdout": "/dev/stdout", "/dev/fd/1": "/dev/fd/1", "/proc/self/fd/1": "/dev/fd/1", "/proc/self/root/etc/../usr": "/usr",
		"/proc/self/environ": "/proc/self/environ", "/proc/1/root/": "/", "/proc/self/task/1/root/usr": "/usr"} {
		if got, ok := v.Resolve(p); !ok || got != want {
			t.Errorf("Resolve(%s) = %s, %t; want %s", p, got, ok, want)
		}
	}
}

func TestBudget(t *testing.T) {
	root := tree(t, "a/b/c/d/e")
	v := disk.View{Budget: 3}
	if got, ok := v.Resolve(root + "/a/b/c/d/e"); ok || got != root+"/a/b/c/d/e" {
		t.Errorf("past the budget: %s, %t", got, ok)
	}
	if info := v.Stat(root + "/a"); info.Type != disk.Unknown {
		t.Errorf("past the budget: %v", info)
	}
	if _, err := v.ReadFile(root+"/a/b/c/d/e", 100); err == nil {
		t.Error("read past the budget")
	}
	if _, ok := v.Glob(root+"/*", 10); ok {
		t.Error("glob past the budget")
	}
	// What was seen is remembered and costs nothing.
	v = disk.View{Budget: 2 * strings.Count(root, "/")}
	for range 100 {
		if _, ok := v.Resolve(root); !ok {
			t.Fatal("the budget was spent on what is known")
		}
	}
}

func TestStatAndReadFile(t *testing.T) {
	root := tree(t, "file", "run.sh", "link -> file", "fifo|", "dir/", "device -> /dev/zero", "loop -> loop")
	if err := os.Chmod(root+"/run.sh", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(root+"/file", root+"/dir/second"); err != nil {
		t.Fatal(err)
	}
	var v disk.View
	for name, want := range map[string]disk.Info{
		"file": {Type: disk.File, Size: 15, Links: 2}, "link": {Type: disk.File, Size: 15, Links: 2}, "none": {Type: disk.Absent}, "none/x": {Type: disk.Absent},
		"run.sh": {Type: disk.File, Executable: true, Size: 17, Links: 1}, "loop": {}, "file/x": {Type: disk.Absent},
	} {
		if got := v.Stat(root + "/" + name); got != want {
			t.Errorf("Stat(%s) = %+v, want %+v", name, got, want)
		}
	}
	for name, want := range map[string]disk.Type{"dir": disk.Dir, "fifo": disk.Other, "device": disk.Other} {
		if got := v.Stat(root + "/" + name); got.Type != want {
			t.Errorf("Stat(%s) = %+v, want type %d", name, got, want)
		}
	}
	if b, err := v.ReadFile(root+"/link", 15); err != nil || string(b) != "content of file" {
		t.Errorf("ReadFile(link) = %q, %v", b, err)
	}
	for _, name := range []string{"fifo", "dir", "device", "loop", "none"} { // none of them may hang
		if b, err := v.ReadFile(root+"/"+name, 100); err == nil {
			t.Errorf("ReadFile(%s) = %q", name, b)
		}
	}
	if _, err := v.ReadFile(root+"/file", 14); err == nil {
		t.Error("a file over the limit was read")
	}
	if _, err := v.ReadFile(root+"/none", 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent file: %v", err)
	}
}

var globTree = []string{"a.txt", "b.txt", ".hidden", "sub/one.go", "sub/two.go", "sub/.dot.go", "other/one.go", "link -> sub", "we[i]rd", "sp ace", "-dash", "é.txt",
	"Upper", "deep/x/y/z.go", "dead -> nowhere", "star*name", "q?", `back\slash`, "fifo|"}

// bash is the judge of what its patterns mean.
func TestGlobAgreesWithBash(t *testing.T) {
	bash := testkit.Require(t, "bash", "apt-get install bash")
	root := tree(t, globTree...)
	for _, p := range []string{"*", "*.txt", "?.txt", ".*", ".h*", "*/", "*/*.go", "sub/*", "sub/.*", "link/*.go", "*/one.go", "[ab].txt", "[!a].txt", "[^a].txt", "[a-c]*",
		"[[:upper:]]*", "we[[]i]rd", `we\[i\]rd`, `star\**`, `q\?`, "q?", "none*", "none/*", "deep/*/*/z.go", "*/../a.txt", "dead*", "dead/*", "a.txt/*", "[", "a[", "[]a].txt", "**/*.go",
		"./*", "sub//*.go", "s*b/o*e.g*", "sp*", "-*", `back\\*`, "*e*", "fifo/*", "*[!t]", "[[:]*", "[[:alpha:]*", "[[:nope:]]*"} {
		cmd := exec.Command(bash, "--noprofile", "--norc", "-c", `shopt -s nullglob; LC_ALL=C.UTF-8; for f in "$1"/`+p+`; do printf '%s\0' "$f"; done`, "bash", root)
		cmd.Env = []string{"LC_ALL=C.UTF-8", "PATH=" + os.Getenv("PATH")}
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Split(string(out), "\x00")
		want = want[:len(want)-1]
		if !strings.ContainsAny(p, "*?") && !strings.Contains(p, "]") { // no pattern: bash keeps the word
			continue
		}
		want = slices.DeleteFunc(want, func(s string) bool { return strings.HasSuffix(s, "/.") || strings.HasSuffix(s, "/..") }) // bash before 5.2
		slices.Sort(want)
		var v disk.View
		got, ok := v.Glob(root+"/"+p, 100)
		slices.Sort(got)
		if !ok || !slices.Equal(got, want) {
			t.Errorf("%s:\n got %q %t\nbash %q", p, got, ok, want)
		}
	}
}

func TestGlobIsBounded(t *testing.T) {
	root := tree(t, globTree...)
	var v disk.View
	if paths, ok := v.Glob(root+"/*", 3); ok {
		t.Errorf("more than 3: %q", paths)
	}
	if paths, ok := v.Glob(root+"/*.txt", 3); !ok || len(paths) != 3 {
		t.Errorf("exactly 3: %q, %t", paths, ok)
	}
	if paths, ok := v.Glob("relative/*", 3); ok {
		t.Errorf("relative: %q", paths)
	}
	// A pattern that backtracks costs no more than pattern times name.
	if disk.Match(strings.Repeat("*a", 200)+"b", strings.Repeat("a", 255)) {
		t.Error("matched")
	}
}

func FuzzMatchNeverPanics(f *testing.F) {
	f.Add("[a-", "a")
	f.Add("[[:x:]]*\\", "é")
	f.Add("[!]-a]?", "\xff")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		disk.Match(pattern, name)
		if name != "" && !strings.Contains(name, "/") && !disk.Match("*", name) {
			t.Error("* does not match", name)
		}
	})
}

func BenchmarkResolveRemembered(b *testing.B) {
	root := tree(b, "a/b/c/file")
	var v disk.View
	for b.Loop() {
		v.Resolve(root + "/a/b/c/file")
	}
}

func BenchmarkResolveFresh(b *testing.B) {
	root := tree(b, "a/b/c/file")
	for b.Loop() {
		var v disk.View
		v.Resolve(root + "/a/b/c/file")
	}
}
