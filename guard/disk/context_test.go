package disk_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"handrail/guard"
	"handrail/guard/disk"
)

func put(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, what string, got *guard.Loss, want guard.Loss) {
	t.Helper()
	if got == nil || *got != want {
		t.Errorf("%s = %+v, want %+v", what, got, want)
	}
}

// A file that was only touched, or written with the same size in the same
// moment, is told by its content.
func TestLossLooksIntoContent(t *testing.T) {
	root := repository(t, "2")
	file := root + "/src/a.go"
	now := time.Now().Add(time.Hour)
	if err := os.Chtimes(file, now, now); err != nil {
		t.Fatal(err)
	}
	var v disk.View
	want(t, "a touched file", v.Loss(file), guard.Loss{Files: 1, Clean: 1})

	// The same size and, as far as the index can tell, the same time: racy git.
	file = root + "/src/b.go"
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.Lstat(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := make([]byte, len(old))
	for i := range changed {
		changed[i] = 'X'
	}
	put(t, file, string(changed))
	for _, name := range []string{file, root + "/.git/index"} {
		if err := os.Chtimes(name, before.ModTime(), before.ModTime()); err != nil {
			t.Fatal(err)
		}
	}
	v = disk.View{}
	want(t, "a changed file of the same time and size", v.Loss(file), guard.Loss{Files: 1, Changed: 1})
}

// Names alone do not make a build product, nor does git's ignoring alone, and a
// repository in an ignored directory is none.
func TestLossOfIgnored(t *testing.T) {
	root := repository(t, "2")
	put(t, root+"/.gitignore", "dist/\ndata/\n.env\n*.sqlite\n")
	put(t, root+"/data/rows.csv", "x")
	put(t, root+"/.env", "x")
	put(t, root+"/local.sqlite", "x")
	put(t, root+"/build/app.js", "x")
	put(t, root+"/dist/clone/.git/HEAD", "ref: refs/heads/main")
	put(t, root+"/dist/clone/code", "x")
	var v disk.View
	for _, name := range []string{"data", ".env", "local.sqlite"} {
		want(t, name, v.Loss(root+"/"+name), guard.Loss{Files: 1, Ignored: 1})
	}
	want(t, "build, not ignored", v.Loss(root+"/build"), guard.Loss{Files: 1, Untracked: 1})
	want(t, "dist", v.Loss(root+"/dist"), guard.Loss{Files: 4, Ignored: 2, Products: 2, Untracked: 2})
	want(t, "a clone in dist", v.Loss(root+"/dist/clone"), guard.Loss{Files: 2, Untracked: 2})
	want(t, "git's own files", v.Loss(root+"/.git/HEAD"), guard.Loss{Files: 1, Untracked: 1})
}

func TestLossStops(t *testing.T) {
	root := repository(t, "2")
	put(t, root+"/.gitignore", "node_modules/\nmixed/a/\n")
	for i := range 4100 {
		for _, dir := range []string{"node_modules", "mixed/a"} {
			put(t, fmt.Sprintf("%s/%s/%d/x.js", root, dir, i%50)+fmt.Sprint(i), "x")
		}
	}
	var v disk.View
	l := v.Loss(root + "/node_modules")
	if !l.More || !l.Alike || !l.Recoverable() {
		t.Errorf("a large ignored directory of build products: %+v", l)
	}
	if l := v.Loss(root + "/mixed"); !l.More || l.Alike || l.Recoverable() {
		t.Errorf("what was not counted is taken for ignored: %+v", l)
	}
	for range 5 { // the bounds hold for all targets together
		l = v.Loss(root + "/node_modules")
	}
	if l != nil {
		t.Errorf("a View that looked at too much still counts: %+v", l)
	}
}

func TestLossOfCreated(t *testing.T) {
	root := repository(t, "2")
	made := map[string]bool{root + "/src/new.go": true, root + "/src/a.go": true, root + "/src/changed.go": true}
	v := disk.View{Created: func(path string, info fs.FileInfo) bool { return made[path] && info.Mode().IsRegular() }}
	l := v.Loss(root + "/src")
	want(t, "src", l, guard.Loss{Files: 6, Clean: 2, Created: 2, Untracked: 1, Ignored: 1, Products: 1})
	if l.Lost() != 1 || l.Recoverable() {
		t.Errorf("Lost %d, Recoverable %v", l.Lost(), l.Recoverable())
	}
}

func TestStrayAndUncommitted(t *testing.T) {
	root := repository(t, "2")
	put(t, root+"/docs/x.md", "changed")
	var v disk.View
	want(t, "Stray(root)", v.Stray(root, false), guard.Loss{Files: 3, Untracked: 3}) // new.go, keep.o, sub/top.log
	all := v.Stray(root+"/src", true)
	want(t, "Stray(src, ignored)", all, guard.Loss{Files: 3, Untracked: 2, Ignored: 1, Products: 1})
	want(t, "Uncommitted(src)", v.Uncommitted(root+"/src", false), guard.Loss{Files: 1, Changed: 1})
	want(t, "Uncommitted(src, whole)", v.Uncommitted(root+"/src", true), guard.Loss{Files: 2, Changed: 2})
	want(t, "Uncommitted(root)", v.Uncommitted(root, false), guard.Loss{Files: 2, Changed: 2})
	if l := v.Uncommitted(tree(t, "x"), true); l != nil {
		t.Errorf("outside of any work tree: %+v", l)
	}
}

func TestBranch(t *testing.T) {
	root := repository(t, "2")
	git := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("git", append([]string{"-C", root}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	branch := func(dir, want string) {
		t.Helper()
		var v disk.View
		if got, ok := v.Branch(dir); got != want || ok != (want != "") {
			t.Errorf("Branch(%s) = %q %v, want %q", dir, got, ok, want)
		}
	}
	git("switch", "-qc", "release/1.2")
	branch(root, "release/1.2")
	branch(root+"/src", "release/1.2")
	linked := filepath.Join(t.TempDir(), "linked")
	git("worktree", "add", "-q", "-b", "side", linked)
	branch(linked, "side")
	git("checkout", "-q", "--detach")
	branch(root, "")
	branch(tree(t, "x"), "")
}

func BenchmarkLoss(b *testing.B) {
	root := repository(b, "2")
	for i := range 1000 {
		put(b, fmt.Sprintf("%s/dist/%d/x%d.js", root, i%20, i), "x")
	}
	for _, name := range []string{"src/a.go", "src", "dist"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				var v disk.View
				v.Loss(root + "/" + name)
			}
		})
	}
}
