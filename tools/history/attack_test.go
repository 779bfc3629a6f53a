package history

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"handrail/guard"
	"handrail/tools/place"
)

// TestMain lets the test binary be a second server: with HISTORY_KEEPER set to
// a workspace it keeps that again and again, and says each time that it did.
func TestMain(m *testing.M) {
	root := os.Getenv("HISTORY_KEEPER")
	if root == "" {
		os.Exit(m.Run())
	}
	store, err := Open(os.Getenv("HISTORY_STORE"), Limits{})
	var n int
	fmt.Sscan(os.Getenv("HISTORY_TIMES"), &n)
	for i := 0; err == nil && i < n; i++ {
		own := fmt.Sprintf("%s/own-%d", root, os.Getpid())
		err = os.WriteFile(own, fmt.Appendln(nil, os.Getpid(), i), 0o644)
		var k *Kept
		if err == nil {
			k, err = store.Keep(context.Background(), Call{ID: fmt.Sprintf("call-%d-%d", os.Getpid(), i), Tool: "safe_bash", Roots: []string{root}},
				effects(guard.Effect{Kind: guard.Write, Target: own}, guard.Effect{Kind: guard.Code}))
		}
		if err == nil {
			err = k.Done(context.Background())
		}
		if err == nil {
			fmt.Println(k.r.Call)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (w *world) keeper(times int) *exec.Cmd {
	w.Helper()
	self, err := os.Executable()
	if err != nil {
		w.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "HISTORY_KEEPER="+w.root, "HISTORY_STORE="+w.store.dir, fmt.Sprint("HISTORY_TIMES=", times))
	cmd.Stderr = os.Stderr
	return cmd
}

func TestEightProcesses(t *testing.T) {
	w := newWorld(t, Limits{}).project().git()
	var all sync.WaitGroup
	for range 8 {
		cmd := w.keeper(15)
		all.Go(func() {
			if err := cmd.Run(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	n := 0
	if err := w.store.Records(func(r *Record) bool { n++; return true }); err != nil || n != 8*15 {
		t.Fatalf("%d records, %v", n, err)
	}
	w.sound()
	if left, _ := os.ReadDir(filepath.Join(w.store.dir, "temp")); len(left) > 0 {
		t.Errorf("%d temporary files are left", len(left))
	}
	before := w.state()
	w.undone(w.call(code, havoc))
	w.mustBe(before)
}

// sound reads everything that the records need.
func (w *world) sound() {
	w.Helper()
	err := w.store.Records(func(r *Record) bool {
		for _, spot := range r.Places {
			for _, e := range []*Entry{spot.Before, spot.After} {
				if err := w.store.states().diff("", nil, e, func(c Change) {
					if c.After.isFile() && c.After.Hash != "" {
						if _, err := w.store.content(c.After.Hash); err != nil {
							w.Errorf("%s: %s: %v", r.Call, c.Path, err)
						}
					}
				}); err != nil {
					w.Errorf("%s: %v", r.Call, err)
				}
			}
		}
		return true
	})
	if err != nil {
		w.Fatal(err)
	}
}

// A server that is killed while it keeps leaves a store that can be used.
func TestKilled(t *testing.T) {
	w := newWorld(t, Limits{}).project().git()
	w.sh("for i in $(seq 300); do mkdir -p many/$((i%20)); head -c 20000 /dev/urandom > many/$((i%20))/$i; done")
	for i := range 6 {
		cmd := w.keeper(1000)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 { // after some; else in the midst of the first
			for lines, n := bufio.NewScanner(out), 0; n < 3 && lines.Scan(); n++ {
			}
		} else {
			for cut := time.Now().Add(5 * time.Second); time.Now().Before(cut); time.Sleep(time.Millisecond) {
				if left, _ := os.ReadDir(filepath.Join(w.store.dir, "temp")); len(left) > 0 {
					break
				}
			}
		}
		cmd.Process.Kill()
		cmd.Wait()
		w.sh("rm -f own-*; for i in $(seq 20); do head -c 20000 /dev/urandom > many/0/more$i; done")
		var err2 error
		if w.store, err2 = Open(w.store.dir, Limits{}); err2 != nil {
			t.Fatal(err2)
		}
		if left, _ := os.ReadDir(filepath.Join(w.store.dir, "temp")); len(left) > 0 {
			t.Fatalf("%d temporary files are left", len(left))
		}
		w.sound()
		before := w.state()
		w.undone(w.call(code, havoc))
		w.mustBe(before)
	}
}

// A call whose end nobody saw is undone only by force.
func TestServerDiedDuringCall(t *testing.T) {
	w := newWorld(t, Limits{}).project().git()
	before := w.state()
	k := w.keep(code)
	w.sh(havoc)
	u := w.undo(k.r, Options{})
	if u.Done || len(u.Refused) == 0 {
		t.Fatal("undone without force")
	}
	if u = w.undo(k.r, Options{Force: true}); !u.Done || len(u.Failed) > 0 {
		t.Fatalf("%v", u.Failed)
	}
	w.mustBe(before)
}

func TestHostileTree(t *testing.T) {
	w := newWorld(t, Limits{File: 1 << 20, Ignored: 1 << 20, Hidden: 1 << 20, Call: 64 << 20, Names: 200_000, Outside: 200_000, Store: 1 << 30, Age: time.Hour, Free: 1}).project().git()
	w.sh(`mkfifo fifo; truncate -s 5T huge; truncate -s 500K sparse; mkdir closed; echo c > closed/c; chmod 000 closed
mkdir nest; cd nest; git init -q; echo n > n; git add n; git commit -qm n; cd ..
mkdir loop; ln -s .. loop/up; ln -s loop loop/loop; ln -s /proc/self/root out
d=deepest; for i in $(seq 60); do d=$d/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done; mkdir -p $d; echo deep > $d/f; python3 -c 'import socket,os; socket.socket(socket.AF_UNIX).bind("sock")'`)
	if os.Geteuid() == 0 {
		if err := unix.Mknod(w.root+"/zero", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5))); err != nil {
			t.Log(err)
		}
	}
	r := w.call(code, "rm -rf nest loop sparse deepest; echo x > out2")
	// git's objects are not kept: undo says so, and by force brings back the rest.
	u := w.undo(r, Options{})
	if u.Done || len(u.Refused) != 1 || !strings.HasSuffix(string(u.Refused[0].Path), "nest/.git/objects") {
		t.Fatalf("%v", u.Refused)
	}
	if u = w.undo(r, Options{Force: true}); !u.Done || len(u.Failed) > 0 {
		t.Fatalf("%v %v", u.Refused, u.Failed)
	}
	if got := w.read("nest/n"); got != "n\n" {
		t.Errorf("nest/n is %q", got)
	}
	if !strings.HasSuffix(w.read("deepest/"+strings.Repeat(strings.Repeat("a", 40)+"/", 60)+"f"), "deep\n") {
		t.Error("the deepest file is not back")
	}
	if fi, err := os.Stat(w.root + "/sparse"); err != nil || fi.Size() != 500<<10 {
		t.Error("the sparse file is not back", err)
	}
	if got := w.read("nest/.git/HEAD"); !strings.HasPrefix(got, "ref: ") {
		t.Errorf("HEAD of the repository inside is %q", got)
	}
	if r.LostCount < 3 || !strings.Contains(fmt.Sprint(r.Lost), "huge") {
		t.Errorf("what is not kept is not told: %+v", r.Lost)
	}
	// What was not kept and then is lost stops undo, with its name.
	r = w.call(code, "rm huge; echo changed > sparse")
	if u = w.undo(r, Options{}); u.Done || !strings.Contains(fmt.Sprint(u.Refused), "huge") {
		t.Errorf("%v", u.Refused)
	}
	if w.read("sparse") != "changed\n" {
		t.Error("half of an undoing was done")
	}
}

// Directories that cannot be read stay as they are, and stop nothing.
func TestUnreadable(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to become somebody who may not read")
	}
	w := newWorld(t, Limits{}).project()
	w.sh("mkdir closed; echo c > closed/c; echo k > key; chmod 000 closed key; mkdir listed; echo l > listed/l; chmod 444 listed")
	base := filepath.Dir(w.root)
	w.sh("chown -R 65534:65534 " + base + "; chmod 755 " + base + " " + filepath.Dir(base))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(base, "keeper")
	w.sh("cp " + self + " " + exe + "; chmod 755 " + exe + "; d=" + base + `; while [ $d != / ]; do chmod o+x $d; d=$(dirname $d); done`)
	cmd := w.keeper(2)
	cmd.Path = exe
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.Output(); err != nil || strings.Count(string(out), "\n") != 2 {
		t.Fatalf("%v %s", err, out)
	}
	var r *Record
	_ = w.store.Records(func(o *Record) bool { r = o; return false })
	if lost := fmt.Sprint(r.Lost); !strings.Contains(lost, "closed") || !strings.Contains(lost, "key") || !strings.Contains(lost, "/listed") {
		t.Errorf("%v", r.Lost)
	}
	// What is seen once the directory opens was there before: no undo takes it away.
	w.sh("chmod 755 listed")
	opened := w.keep(effects(guard.Effect{Kind: guard.Delete, Target: w.root, Exact: true, Deep: true}))
	err = w.store.states().diff(w.root, r.Places[0].Before, opened.r.Places[0].Before, func(c Change) {
		if strings.HasSuffix(c.Path, "/l") {
			t.Errorf("%s counts as made", c.Path)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	e, err := w.store.states().find(r.Places[0].Before, "/listed")
	if err != nil || e == nil || e.Lost != lostDenied {
		t.Errorf("%+v, %v", e, err)
	}
}

// Nothing outside is touched, whatever is swapped in while undo works.
func TestUndoRace(t *testing.T) {
	w := newWorld(t, Limits{})
	outside := filepath.Join(filepath.Dir(w.root), "outside")
	w.sh("mkdir -p d " + outside + "; ln -s " + outside + " evil; for i in $(seq 40); do echo old > d/$i; done")
	plant := func() {
		for i := 1; i <= 40; i++ {
			os.WriteFile(fmt.Sprintf("%s/%d", outside, i), []byte("outside"), 0o644)
		}
	}
	plant()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				_ = place.Exchange(unix.AT_FDCWD, w.root+"/d", w.root+"/evil")
			}
		}
	}()
	did := 0
	facts := effects()
	for i := 1; i <= 40; i++ {
		facts.Effects = append(facts.Effects, guard.Effect{Kind: guard.Write, Target: fmt.Sprintf("%s/d/%d", w.root, i), Exact: true})
	}
	for range 60 {
		w.calls++
		k, err := w.store.Keep(context.Background(), Call{ID: fmt.Sprint("call-", w.calls), Roots: []string{w.root}}, facts)
		if err != nil {
			continue // the link was there: nothing is kept through it
		}
		for i := 1; i <= 40; i++ {
			if s, err := place.OpenNode(fmt.Sprintf("%s/d/%d", w.root, i)); err == nil {
				_ = s.Put([]byte(fmt.Sprint("new", w.calls)))
				s.Close()
			}
		}
		_ = k.Done(context.Background())
		if u, err := w.store.Undo(context.Background(), k.r, Options{Force: true, ID: fmt.Sprint("undo-", w.calls)}); err == nil && u.Done {
			did++
		}
	}
	close(stop)
	<-done
	if did == 0 {
		t.Skip("the race let no undoing through")
	}
	for i := 1; i <= 40; i++ {
		if b, err := os.ReadFile(fmt.Sprintf("%s/%d", outside, i)); err != nil || string(b) != "outside" {
			t.Fatalf("outside/%d is %q, %v", i, b, err)
		}
	}
	if left, _ := os.ReadDir(outside); len(left) != 40 {
		t.Errorf("%d names outside", len(left))
	}
}

// A symbolic link that stands in the way later is not followed.
func TestUndoThroughNewLink(t *testing.T) {
	w := newWorld(t, Limits{})
	outside := filepath.Join(filepath.Dir(w.root), "outside")
	w.sh("mkdir -p d " + outside + "; echo precious > " + outside + "/f; echo old > d/f; echo gone > d/g")
	r := w.call(effects(guard.Effect{Kind: guard.Write, Target: w.root + "/d/f"}, guard.Effect{Kind: guard.Delete, Target: w.root + "/d/g"}), "echo new > d/f; rm d/g")
	w.sh("rm -r d; ln -s " + outside + " d")
	fresh, err := w.store.Find(r.Call)
	if err != nil {
		t.Fatal(err)
	}
	if u, err := w.store.Undo(context.Background(), fresh, Options{Force: true, ID: "undo-x"}); err == nil {
		t.Fatalf("undone through a link: %+v", u)
	}
	if b, _ := os.ReadFile(outside + "/f"); string(b) != "precious\n" {
		t.Errorf("outside/f is %q", b)
	}
	if _, err := os.Lstat(outside + "/g"); err == nil {
		t.Error("g was made outside")
	}
}

// A linked work tree and a submodule have their git directories elsewhere.
