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
	"syscall"
	"testing"
	"time"

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

func TestUndoOfAnything(t *testing.T) {
	for _, kind := range []string{"git", "plain"} {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t, Limits{}).project()
			if kind == "git" {
				w.git()
			}
			before := w.state()
			r := w.call(code, havoc)
			after := w.state()
			u := w.undone(r)
			w.mustBe(before)
			if a, b := inode(t, w.root+"/twin1"), inode(t, w.root+"/twin2"); a != b {
				t.Error("the two names are no longer one file")
			}
			// The undoing is undone: what the call did stands again.
			redo, err := w.store.Find(u.ID)
			if err != nil {
				t.Fatal(err)
			}
			w.undone(redo)
			w.mustBe(after)
			if again, _ := w.store.Find(r.Call); again.Undone != "" {
				t.Error("the call counts as undone")
			}
			w.undone(r)
			w.mustBe(before)
		})
	}
}

func inode(t *testing.T, path string) uint64 {
	t.Helper()
	fi, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return fi.Sys().(*syscall.Stat_t).Ino
}

// What only reads costs nothing and leaves nothing.
func TestReads(t *testing.T) {
	w := newWorld(t, Limits{})
	k, err := w.store.Keep(context.Background(), Call{ID: "call-1", Roots: []string{w.root}}, effects(
		guard.Effect{Kind: guard.Exec, Target: "ls"}, guard.Effect{Kind: guard.Read, Target: w.root, Deep: true},
		guard.Effect{Kind: guard.Network, Target: "example.org"}, guard.Effect{Kind: guard.Write, Target: "/dev/null"}))
	if k != nil || err != nil || k.Whole() || k.Done(context.Background()) != nil || k.Untold() != "" {
		t.Fatal(k, err)
	}
	if err := w.store.Records(func(*Record) bool { t.Error("a record"); return false }); err != nil {
		t.Fatal(err)
	}
}

// The zero store keeps nothing, and says so where that matters.
func TestZeroStore(t *testing.T) {
	var s Store
	k, err := s.Keep(context.Background(), Call{ID: "call-1", Roots: []string{t.TempDir()}}, code)
	if err == nil || !k.Whole() {
		t.Fatal(k, err)
	}
	if err := k.Done(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// Only what the facts name is kept, and brought back.
func TestNamed(t *testing.T) {
	w := newWorld(t, Limits{}).project()
	outside := filepath.Dir(w.root) + "/outside"
	w.sh("mkdir " + outside + "; echo old > " + outside + "/f")
	write := func(path string) guard.Effect { return guard.Effect{Kind: guard.Write, Target: path} }
	remove := func(path string) guard.Effect { return guard.Effect{Kind: guard.Delete, Target: path} }
	deep := remove(w.root + "/src")
	deep.Deep = true
	for _, c := range []struct {
		name   string
		facts  *guard.Facts
		script string
	}{
		{"replace", effects(write(w.root + "/bin.dat")), "echo x > bin.dat"},
		{"make in new directories", effects(write(w.root + "/x/y/z")), "mkdir -p x/y; echo z > x/y/z"},
		{"remove", effects(remove(w.root + "/link")), "rm link"},
		{"remove a tree", effects(deep), "rm -r src"},
		{"move a directory", effects(remove(w.root+"/src"), write(w.root+"/moved")), "mv src moved"},
		{"outside", effects(write(outside + "/f")), "echo new > " + outside + "/f"},
		{"mode", effects(guard.Effect{Kind: guard.Write, Action: "metadata", Target: w.root + "/.hidden"}), "chmod 777 .hidden"},
		{"directory", effects(guard.Effect{Kind: guard.Write, Action: "create", Target: w.root + "/made"}), "mkdir made"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.TB = t
			before := w.state()
			r := w.call(c.facts, c.script)
			if w.state() == before && c.name != "outside" {
				t.Fatal("nothing was changed")
			}
			w.sh("date > beside") // none of the call's business
			w.undone(r)
			w.sh("rm beside; grep -qx old " + outside + "/f")
			w.mustBe(before)
		})
	}
}

func TestLaterWork(t *testing.T) {
	w := newWorld(t, Limits{}).project().git()
	first := w.call(code, "echo 1 > src/a; echo new > made; rm bin.dat; mkdir dir")
	w.write("src/a", "by hand")
	w.write("dir/by hand", "mine")
	w.write("bin.dat", "again")
	w.sh("chmod 600 made")
	before := w.state()
	u := w.undo(first, Options{})
	if u.Done || len(u.Refused) != 4 {
		t.Fatalf("%v", u.Refused)
	}
	w.mustBe(before)
	if u = w.undo(first, Options{Force: true, DryRun: true}); u.Done || len(u.Todo) == 0 {
		t.Fatal("a dry run does nothing")
	}
	w.mustBe(before)
	// By force the later work goes, but into the history; a file in a new
	// directory stays.
	if u = w.undo(first, Options{Force: true}); !u.Done || len(u.Failed) != 1 {
		t.Fatalf("%v", u.Failed)
	}
	if w.read("dir/by hand") != "mine" || w.read("src/a") != "one\n" {
		t.Errorf("%q", w.read("src/a"))
	}
	redo, err := w.store.Find(u.ID)
	if err != nil {
		t.Fatal(err)
	}
	w.undone(redo)
	w.mustBe(before)

	// A later call in the way is named; undone first, all is well.
	w.sh("git checkout -q -- . ; rm -rf made dir")
	w.untimed = true
	begin := w.state()
	one := w.call(code, "echo 1 > src/a")
	two := w.call(code, "echo 2 > src/a; touch two")
	if u = w.undo(one, Options{}); u.Done || !strings.Contains(fmt.Sprint(u.Refused), two.Call) {
		t.Fatalf("%v", u.Refused)
	}
	w.undone(two)
	w.undone(one)
	w.mustBe(begin)
	if u = w.undo(one, Options{}); u.Done {
		t.Error("undone twice")
	}
	if last, err := w.store.Last(w.root); err != nil || last.Call != first.Call {
		t.Errorf("the last call is %v, %v", last, err)
	}
	if _, err := w.store.Last("/nowhere"); err != ErrNone {
		t.Error(err)
	}
}

// Two calls at the same time cannot be told apart where they changed the same.
func TestAtTheSameTime(t *testing.T) {
	w := newWorld(t, Limits{}).project().git()
	a, b := w.keep(code), w.keep(code)
	w.sh("echo x > src/a")
	for _, k := range []*Kept{a, b} {
		if err := k.Done(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if u := w.undo(a.r, Options{}); u.Done || !strings.Contains(fmt.Sprint(u.Refused), b.r.Call) {
		t.Errorf("%v", u.Refused)
	}
}

// A change that leaves size and times as they were within a tick of the clock is
// seen; git's index would call that racy.
func TestRacyChange(t *testing.T) {
	w := newWorld(t, Limits{})
	for i := range 200 {
		w.write("f", fmt.Sprintf("%04d", i))
		r := w.call(code, "true")
		e, _, err := w.store.at(r, w.root+"/f", func(p Spot) *Entry { return p.Before })
		if err != nil {
			t.Fatal(err)
		}
		if b, err := w.store.content(e.Hash); err != nil || string(b) != fmt.Sprintf("%04d", i) {
			t.Fatalf("kept %q in round %d, %v", b, i, err)
		}
		os.WriteFile(filepath.Join(w.root, "f"), []byte("xxxx"), 0o644)
	}
}

// An unchanged file is not read again, by the same process nor by the next.
func TestUnchangedIsNotRead(t *testing.T) {
	w := newWorld(t, Limits{}).project()
	time.Sleep(2 * still) // so that the times tell every change
	r := w.call(code, "true")
	top, err := w.store.find(r.Places[0].Before, "/src/a")
	if err != nil {
		t.Fatal(err)
	}
	// Without its content in the store, a second reading would put it there.
	if err := os.Remove(w.store.blob(top.Hash)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		w.call(code, "true")
		if w.store.has(top.Hash, top.Size) {
			t.Fatal("it was read again")
		}
		if w.store, err = Open(w.store.dir, Limits{}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestProducts(t *testing.T) {
	w := newWorld(t, Limits{}).project()
	w.sh("echo node_modules >> .gitignore; mkdir -p node_modules/p src/node_modules; echo x > node_modules/p/x; echo y > src/node_modules/y; mkdir build; echo b > build/b")
	w.git()
	r := w.call(code, "rm -rf node_modules build")
	u := w.undo(r, Options{})
	if u.Done || !strings.Contains(fmt.Sprint(u.Refused), "node_modules") || len(u.Refused) != 1 {
		t.Fatalf("%v", u.Refused)
	}
	if u = w.undo(r, Options{Force: true}); !u.Done || w.read("build/b") != "b\n" {
		t.Errorf("%v", u)
	}
}

// The oldest goes first, and what stays is whole.
func TestBounded(t *testing.T) {
	limits := DefaultLimits()
	limits.Store, limits.Call = 3<<20, 2<<20
	w := newWorld(t, limits)
	var calls []*Record
	for i := range 30 {
		w.sh(fmt.Sprintf("head -c 300000 /dev/urandom > f%d", i%3))
		calls = append(calls, w.call(code, fmt.Sprintf("echo %d > g", i)))
	}
	var bytes int64
	filepath.WalkDir(w.store.dir, func(path string, d fs.DirEntry, err error) error {
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
		return nil
	})
	if bytes > 2*limits.Store {
		t.Errorf("the store has %d bytes", bytes)
	}
	if _, err := w.store.Find(calls[0].Call); err != ErrNone {
		t.Error("the oldest is still there", err)
	}
	last, err := w.store.Find(calls[29].Call)
	if err != nil {
		t.Fatal(err)
	}
	w.undone(last)
	w.sound()
	limits.Age = 1
	if w.store, err = Open(w.store.dir, limits); err != nil {
		t.Fatal(err)
	}
	_ = w.store.Records(func(r *Record) bool { t.Error("older than its age: ", r.Call); return true })
	// What one call may keep is bounded too, and told.
	w.sh("head -c 3000000 /dev/urandom > large")
	if k := w.keep(code); !strings.Contains(k.Untold(), "large") || k.Untold() != "" {
		t.Errorf("%+v", k.r.Lost)
	}
	limits.Free = 1 << 60
	w.store.limits = limits
	if _, err := w.store.Keep(context.Background(), Call{ID: "x", Roots: []string{w.root}}, code); err == nil {
		t.Error("kept on a full disk")
	}
}

func TestDamagedStore(t *testing.T) {
	w := newWorld(t, Limits{}).project()
	r := w.call(code, "rm bin.dat")
	e, err := w.store.find(r.Places[0].Before, "/bin.dat")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(w.store.blob(e.Hash), []byte("x\x01y"), 0o600); err != nil {
		t.Fatal(err)
	}
	u := w.undo(r, Options{})
	if _, err := os.Lstat(w.root + "/bin.dat"); err == nil || len(u.Failed) != 1 {
		t.Errorf("a damaged content was brought back: %v", u.Failed)
	}
	if left, _ := filepath.Glob(w.root + "/.handrail-*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// What is done while a long job runs belongs to the short call, and undoing the
// job would take it along.
func TestDuringLongJob(t *testing.T) {
	w := newWorld(t, Limits{}).project().git()
	w.untimed = true
	job := w.keep(code)
	before := w.state()
	short := w.call(code, "echo short > src/a")
	w.undone(short)
	w.mustBe(before)
	short = w.call(code, "echo short > src/a")
	w.sh("echo job > made")
	if err := job.Done(context.Background()); err != nil {
		t.Fatal(err)
	}
	if u := w.undo(job.r, Options{}); u.Done || !strings.Contains(fmt.Sprint(u.Refused), short.Call) {
		t.Errorf("%v", u.Refused)
	}
	w.undone(short)
	w.undone(job.r)
	w.mustBe(before)
}
