package history

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"handrail/guard"
)

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

func TestDamagedStore(t *testing.T) {
	w := newWorld(t, Limits{}).project()
	r := w.call(code, "rm bin.dat")
	e, err := w.store.states().find(r.Places[0].Before, "/bin.dat")
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
