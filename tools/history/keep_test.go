package history

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"handrail/guard"
)

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

func TestRacyChange(t *testing.T) {
	w := newWorld(t, Limits{})
	for i := range 200 {
		w.write("f", fmt.Sprintf("%04d", i))
		r := w.call(code, "true")
		e, _, err := w.store.states().at(r, w.root+"/f", before)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := w.store.content(e.Hash); err != nil || string(b) != fmt.Sprintf("%04d", i) {
			t.Fatalf("kept %q in round %d, %v", b, i, err)
		}
		os.WriteFile(filepath.Join(w.root, "f"), []byte("xxxx"), 0o644)
	}
}

func TestUnchangedIsNotRead(t *testing.T) {
	w := newWorld(t, Limits{}).project()
	time.Sleep(2 * still) // so that the times tell every change
	r := w.call(code, "true")
	top, err := w.store.states().find(r.Places[0].Before, "/src/a")
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
