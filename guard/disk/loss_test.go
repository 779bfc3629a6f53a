package disk_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"handrail/guard"
	"handrail/guard/disk"
	"handrail/internal/testkit"
)

// repository makes a git work tree with tracked, changed, untracked and
// ignored files, by git itself.
func repository(t testing.TB, indexVersion string) string {
	t.Helper()
	git := testkit.Require(t, "git", "apt-get install git")
	root := tree(t, "src/a.go", "src/b.go", "src/changed.go", "docs/x.md", "deep/er/still.txt")
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command(git, append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)...)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "HOME="+root, "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	write(".gitignore", "dist/\n*.o\n!keep.o\n/top.log\nnode_modules\na/**/z\n")
	write("sub/.gitignore", "local\n")
	run("init", "-q")
	run("add", ".")
	run("commit", "-qm", "first")
	run("update-index", "--index-version", indexVersion)
	write("src/changed.go", "something else entirely")
	write("src/new.go", "new")
	write("dist/app.js", "x")
	write("dist/deep/app.css", "x")
	write("src/x.o", "x")
	write("src/keep.o", "x")
	write("top.log", "x")
	write("sub/top.log", "x")
	write("sub/local/file", "x")
	write("node_modules/p/index.js", "x")
	write("a/b/c/z", "x")
	write("vendor/.git/HEAD", "x")
	write("vendor/code", "x")
	return root
}

func TestLoss(t *testing.T) {
	for _, version := range []string{"2", "4"} {
		root := repository(t, version)
		for path, want := range map[string]guard.Loss{
			"src/a.go":       {Files: 1, Clean: 1},
			"src/changed.go": {Files: 1, Changed: 1},
			"src/new.go":     {Files: 1, Untracked: 1},
			"src/x.o":        {Files: 1, Ignored: 1, Products: 1},
			"src/keep.o":     {Files: 1, Untracked: 1},
			"src":            {Files: 6, Clean: 2, Changed: 1, Untracked: 2, Ignored: 1, Products: 1},
			"dist":           {Files: 2, Ignored: 2, Products: 2},
			"dist/deep":      {Files: 1, Ignored: 1, Products: 1},
			"docs":           {Files: 1, Clean: 1},
			"deep":           {Files: 1, Clean: 1},
			"top.log":        {Files: 1, Ignored: 1, Products: 1},
			"sub/top.log":    {Files: 1, Untracked: 1},
			"sub/local":      {Files: 1, Ignored: 1},
			"node_modules":   {Files: 1, Ignored: 1, Products: 1},
			"a":              {Files: 1, Ignored: 1},
			"vendor":         {Files: 2, Untracked: 2},
			"none":           {},
		} {
			var v disk.View
			got := v.Loss(filepath.Join(root, path))
			if got == nil || *got != want {
				t.Errorf("index %s: Loss(%s) = %+v, want %+v", version, path, got, want)
			}
		}
	}
}

// git is the oracle: what it lists as ignored or untracked is what Loss counts.
func TestLossAgreesWithGit(t *testing.T) {
	root := repository(t, "2")
	list := func(args ...string) int {
		cmd := exec.Command("git", append([]string{"-C", root, "ls-files", "-z"}, args...)...)
		cmd.Env = append(os.Environ(), "HOME="+root, "GIT_CONFIG_NOSYSTEM=1")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(out), "\x00")
	}
	if err := os.RemoveAll(filepath.Join(root, "vendor")); err != nil {
		t.Fatal(err)
	}
	var v disk.View
	all := guard.Loss{}
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == ".git" {
			continue
		}
		l := v.Loss(filepath.Join(root, e.Name()))
		all.Clean += l.Clean
		all.Changed += l.Changed
		all.Untracked += l.Untracked
		all.Ignored += l.Ignored
		all.Products += l.Products
	}
	want := guard.Loss{
		Changed:   list("--modified"),
		Untracked: list("--others", "--exclude-standard"),
		Ignored:   list("--others", "--ignored", "--exclude-standard"),
	}
	want.Clean = list("--cached") - want.Changed
	want.Products = want.Ignored - 2 // sub/local/file, a/b/c/z
	if all != want {
		t.Errorf("counted %+v, git says %+v", all, want)
	}
}

func TestLossWithoutGit(t *testing.T) {
	root := tree(t, "d/a", "d/b/c")
	if err := os.WriteFile(root+"/.git", []byte("nonsense"), 0o644); err != nil {
		t.Fatal(err) // a broken .git must not make anything recoverable
	}
	var v disk.View
	if got := v.Loss(root + "/d"); got == nil || got.Untracked != 2 || got.Recoverable() {
		t.Errorf("Loss = %+v", got)
	}
}

func FuzzIndex(f *testing.F) {
	root := repository(f, "4")
	b, err := os.ReadFile(filepath.Join(root, ".git", "index"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.MkdirAll(filepath.Join(root, ".git"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, ".git", "index"), b, 0o644); err != nil {
			t.Fatal(err)
		}
		var v disk.View
		if l := v.Loss(filepath.Join(root, "src")); l == nil || l.Clean+l.Changed+l.Untracked+l.Ignored != l.Files {
			t.Errorf("counts do not add up: %+v", l)
		}
	})
}
