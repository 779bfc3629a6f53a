package history

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"handrail/guard"
	"handrail/internal/testkit"
)

// world is a workspace and a store.
type world struct {
	testing.TB
	root    string
	store   *Store
	calls   int
	untimed bool // state leaves out the times
}

func newWorld(t testing.TB, limits Limits) *world {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{TB: t, root: filepath.Join(base, "ws")}
	if err := os.Mkdir(w.root, 0o755); err != nil {
		t.Fatal(err)
	}
	if w.store, err = Open(filepath.Join(base, "state", "history"), limits); err != nil {
		t.Fatal(err)
	}
	return w
}

// git makes the workspace a repository with one commit of what is there.
func (w *world) git() *world {
	w.Helper()
	testkit.Require(w, "git", "apt-get install git")
	w.sh("git init -q -b main . && git add -A && git commit -q --allow-empty -m first")
	return w
}

// sh runs a script in the workspace with real bash.
func (w *world) sh(script string) {
	w.Helper()
	cmd := exec.Command("bash", "-euc", script)
	cmd.Dir = w.root
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		w.Fatalf("%s: %v\n%s", script, err, out)
	}
}

func (w *world) write(name, content string) {
	w.Helper()
	path := filepath.Join(w.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		w.Fatal(err)
	}
}

func (w *world) read(name string) string {
	w.Helper()
	b, err := os.ReadFile(filepath.Join(w.root, name))
	if err != nil {
		w.Fatal(err)
	}
	return string(b)
}

var code = &guard.Facts{Effects: []guard.Effect{{Kind: guard.Code, Target: "project"}}}

func effects(list ...guard.Effect) *guard.Facts {
	for i := range list {
		list[i].Exact = true
	}
	return &guard.Facts{Effects: list}
}

// call does script as a call with the facts: it is kept before, and looked at
// after.
func (w *world) call(facts *guard.Facts, script string) *Record {
	w.Helper()
	k := w.keep(facts)
	w.sh(script)
	if err := k.Done(context.Background()); err != nil {
		w.Fatal(err)
	}
	return k.r
}

func (w *world) keep(facts *guard.Facts) *Kept {
	w.Helper()
	w.calls++
	k, err := w.store.Keep(context.Background(), Call{ID: fmt.Sprintf("call-%c%d", 'a'+w.calls, w.calls), Tool: "safe_bash", Roots: []string{w.root}}, facts)
	if err != nil {
		w.Fatal(err)
	}
	return k
}

func (w *world) undo(r *Record, o Options) *Undoing {
	w.Helper()
	w.calls++
	o.ID = fmt.Sprintf("undo-%d", w.calls)
	fresh, err := w.store.Find(r.Call)
	if err != nil {
		w.Fatal(err)
	}
	u, err := w.store.Undo(context.Background(), fresh, o)
	if err != nil {
		w.Fatal(err)
	}
	return u
}

// undone undoes r, which must work.
func (w *world) undone(r *Record) *Undoing {
	w.Helper()
	u := w.undo(r, Options{})
	if !u.Done || len(u.Refused)+len(u.Failed) > 0 {
		w.Fatalf("not undone: refused %.2000v, failed %.2000v", u.Refused, u.Failed)
	}
	return u
}

// state describes everything below dir: names, kinds, modes, contents, targets,
// and the times of files.
func (w *world) state() string {
	w.Helper()
	var b strings.Builder
	err := filepath.WalkDir(w.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasSuffix(path, "/.git/objects") {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%q %v", strings.TrimPrefix(path, w.root), info.Mode())
		switch {
		case info.Mode().IsRegular():
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %x", sha256.Sum256(content))
			if !w.untimed {
				fmt.Fprintf(&b, " %d", info.ModTime().UnixNano())
			}
		case info.Mode()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			fmt.Fprintf(&b, " -> %q", target)
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		w.Fatal(err)
	}
	return b.String()
}

func (w *world) mustBe(want string) {
	w.Helper()
	if got := w.state(); got != want {
		a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
		for _, l := range a {
			if !slices.Contains(b, l) {
				w.Errorf("missing: %s", l)
			}
		}
		for _, l := range b {
			if !slices.Contains(a, l) {
				w.Errorf("extra:   %s", l)
			}
		}
		w.FailNow()
	}
}

// project fills the workspace with every kind of thing that undo must bring back.
func (w *world) project() *world {
	w.sh(`mkdir -p src/deep empty 'odd
name' .hidden
echo one > src/a; echo two > src/deep/b; printf 'x\0y' > bin.dat; : > nothing
ln -s src/a link; ln -s nowhere dangling; ln -s src dirlink
echo nl > 'odd
name/f
g'; printf latin > $'lat\xe9n'; echo Case > CASE; echo case > case
echo secret > .hidden/env; chmod 600 .hidden/env; chmod 755 bin.dat; chmod 700 .hidden
echo same > twin1; ln twin1 twin2
echo '*.log' > .gitignore; echo log > my.log
find . -type f -exec touch -d '2020-01-02 03:04:05.678' {} +`)
	return w
}

const havoc = `rm -rf src empty 'odd
name' link $'lat\xe9n'; mkdir link; echo inside > link/new; echo changed > bin.dat; chmod 644 bin.dat; mv case moved; rm CASE dangling; mkdir dangling
echo more >> twin1; chmod 777 .hidden; rm .hidden/env my.log; ln -sfn / dirlink; mkdir -p fresh/deep; echo f > fresh/deep/f; ln -s /etc fresh/etc; : > src`

// What only reads costs nothing and leaves nothing.
// The zero store keeps nothing, and says so where that matters.
// Only what the facts name is kept, and brought back.
// Two calls at the same time cannot be told apart where they changed the same.
// A change that leaves size and times as they were within a tick of the clock is
// seen; git's index would call that racy.
// An unchanged file is not read again, by the same process nor by the next.
// The oldest goes first, and what stays is whole.
// What is done while a long job runs belongs to the short call, and undoing the
// job would take it along.
