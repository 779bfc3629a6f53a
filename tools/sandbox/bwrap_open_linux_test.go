package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"handrail/internal/testkit"
)

// inner returns the bubble of p.
func (p *place) inner() *bubble { return p.sb.(*watched).Sandbox.(*bubble) }

// TestBwrapFake: a bubblewrap earlier in PATH is not used.
func TestBwrapFake(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/bwrap", []byte("#!/bin/sh\ntouch "+dir+"/ran\nwhile [ \"$1\" != -- ]; do shift; done; shift; exec \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	if out, err := exec.Command("bwrap", "--", "true").CombinedOutput(); err != nil {
		t.Fatalf("the control: %v %s", err, out)
	}
	if err := os.Remove(dir + "/ran"); err != nil {
		t.Fatal(err)
	}
	p := settle(t, Bwrap)
	p.run(t, p.base(), "true")
	if _, err := os.Stat(dir + "/ran"); err == nil {
		t.Error("the bubblewrap of PATH was started")
	}
}

func TestTrusted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bwrap")
	if err := trusted(path); err == nil || !strings.Contains(err.Error(), "apt-get install bubblewrap") {
		t.Errorf("missing: %v", err)
	}
	if err := os.WriteFile(path, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := trusted(path); err == nil {
		t.Error("writable by everybody")
	}
	if os.Getuid() == 0 {
		if err := errors.Join(os.Chmod(path, 0o755), os.Chown(path, 4242, 4242)); err != nil {
			t.Fatal(err)
		}
		if err := trusted(path); err == nil {
			t.Error("another user's")
		}
	}
}

// TestOpenByName: a tier that is asked for is that one or an error.
func TestOpenByName(t *testing.T) {
	dir := t.TempDir()
	for _, tier := range []Tier{"chroot", Seatbelt} {
		if sb, err := Open(Settings{Tier: tier, State: dir}); err == nil {
			t.Errorf("%s: %v", tier, sb.Enforcement())
		}
	}
	sb, err := Open(Settings{Tier: None, State: dir})
	if err != nil || sb.Enforcement().Contains() {
		t.Errorf("none: %v %v", sb, err)
	}
	if err := sb.Close(); err != nil {
		t.Error(err)
	}
}

// TestBwrapNoNamespaces: where the kernel refuses them the error says so, and
// how to get them.
func TestBwrapNoNamespaces(t *testing.T) {
	if os.Getenv("SANDBOX_REFUSED") == "" {
		cmd := exec.Command("unshare", "--user", "--map-root-user", "bash", "-c", "echo 0 > /proc/sys/user/max_user_namespaces && exec /proc/self/fd/3 -test.run='^"+t.Name()+"$' -test.v")
		self, err := os.Open("/proc/self/exe")
		if err != nil {
			t.Fatal(err)
		}
		defer self.Close()
		cmd.ExtraFiles, cmd.Env = []*os.File{self}, append(os.Environ(), "SANDBOX_REFUSED=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	dir := t.TempDir()
	sb, err := Open(Settings{Tier: Bwrap, Roots: []string{dir}, State: dir + "/state", Home: dir + "/home"})
	if err == nil {
		t.Fatalf("opened: %+v", sb.Enforcement())
	}
	if !strings.Contains(err.Error(), "max_user_namespaces") {
		t.Errorf("the error does not help: %v", err)
	}
}

// TestBwrapDescriptors: nothing that the server inherited reaches a command.
func TestBwrapDescriptors(t *testing.T) {
	both(t, func(t *testing.T) {
		fd, err := unix.MemfdCreate("inherited", 0) // not closed on exec
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		if out, _ := exec.Command("/bin/ls", "-l", "/proc/self/fd").Output(); !strings.Contains(string(out), "inherited") {
			t.Errorf("the control: %s", out)
		}
		p := settle(t, Bwrap)
		for _, pol := range []*Policy{p.base(), {Roots: p.Roots, Home: p.Home, Network: Full}, {Roots: p.Roots, Home: p.Home, Open: true}} {
			if r := p.run(t, pol, `cd /proc/self/fd && echo *`); r.out != "0 1 2 3\n" && r.out != "0 1 2\n" { // 3 is the reading of the directory
				t.Errorf("%+v", r)
			}
		}
	})
}

// TestBwrapParallel: calls of one session do not see each other's processes, and
// one's end leaves the others alone.
func TestBwrapParallel(t *testing.T) {
	both(t, func(t *testing.T) {
		p := settle(t, Bwrap)
		long, out := p.bash(t, p.base(), `sleep 7303 & echo up; wait; echo no`)
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				r := p.run(t, p.base(), fmt.Sprintf(`cat /proc/*/cmdline | tr '\0' ' ' | grep -c 'sleep 730[3]'; pkill sleep; kill -9 -1 2>/dev/null; echo %d`, i))
				if r.out != fmt.Sprintf("0\n%d\n", i) {
					t.Errorf("%+v", r)
				}
			})
		}
		wg.Wait()
		if n := long.End(time.Second); n != 1 {
			t.Errorf("%d others", n)
		}
		if s := out(); s != "up\n" {
			t.Errorf("%q", s)
		}
	})
}

// TestBwrapIdle: a session that is not used closes, and the next command opens
// another.
func TestBwrapIdle(t *testing.T) {
	p := settle(t, Bwrap)
	b := p.inner()
	p.run(t, p.base(), "echo > /tmp/session")
	b.mu.Lock()
	first := b.session
	b.Idle = 10 * time.Millisecond
	b.mu.Unlock()
	if r := p.run(t, p.base(), "ls /tmp/session"); r.Code != 0 {
		t.Errorf("not the same session: %+v", r)
	}
	<-first.w.gone
	if r := p.run(t, p.base(), "ls /tmp/session"); r.Code == 0 {
		t.Errorf("the same session: %+v", r)
	}
}

// TestBwrapChanged: a session sandbox whose files were replaced outside serves no
// more.
func TestBwrapChanged(t *testing.T) {
	p := settle(t, Bwrap)
	p.repository(t)
	p.run(t, p.base(), "true")
	p.git(t, "config", "user.name", "Other") // renames a new file over the mounted one
	if r := p.run(t, p.base(), `echo "[core] fsmonitor = evil" >> .git/config`); r.Code == 0 || len(r.Restored) > 0 {
		t.Errorf("%+v", r)
	}
}

// TestBwrapCancelled: what is cancelled before it began does not run.
func TestBwrapCancelled(t *testing.T) {
	p := settle(t, Bwrap)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.sb.Start(ctx, p.base(), p.command("touch ran", nil)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(p.root + "/ran"); err == nil {
		t.Error("it ran")
	}
	c := p.command("true", nil)
	c.Dir = p.outside
	if _, err := p.sb.Start(context.Background(), p.base(), c); err == nil {
		t.Error("started in a directory that is not there")
	}
	c = p.command("true", nil)
	c.Path = "/no/such"
	if _, err := p.sb.Start(context.Background(), p.base(), c); err == nil {
		t.Error("started what is not there")
	}
	if r := p.run(t, p.base(), "echo works"); r.out != "works\n" {
		t.Errorf("after errors: %+v", r)
	}
}

// TestBwrapSwapped: a sandbox in which something else lies at the place of a
// protected path, since a command put a link there meanwhile, runs nothing.
func TestBwrapSwapped(t *testing.T) {
	both(t, func(t *testing.T) {
		p := settle(t, Bwrap)
		b := p.inner()
		plant(t, p.root+"/pkg/.vscode/tasks.json", "{}")
		plant(t, p.root+"/sub/file", "")
		plant(t, p.outside+"/file", "")
		pol := p.base()
		pol.Protected, pol.Hidden = []string{p.root + "/pkg/.vscode"}, []string{p.root + "/sub/file"}
		start := func(args func([]string) []string) (session, alone error) {
			files, err := b.files(pol, b.caches, b.hidden, nil)
			if err != nil {
				t.Fatal(err)
			}
			files.args = args(files.args)
			s, session := b.openSession(files, sessionKey{files: "test"}, pol)
			if session == nil { // bubblewrap had not failed yet
				defer s.close()
				var k kept
				if k, session = s.cell(context.Background()); session == nil {
					k.discard()
				}
			}
			k, done, alone := b.alone(pol, files)
			if alone == nil {
				k.conn.Close()
				done()
			}
			return session, alone
		}
		if session, alone := start(func(a []string) []string { return a }); session != nil || alone != nil {
			t.Fatalf("the control: %v, %v", session, alone)
		}
		swap := func(path, by string) func([]string) []string {
			return func(args []string) []string {
				out := append([]string{}, args...)
				for i := range out {
					if i > 0 && out[i] == path && out[i-1] == path { // where it is mounted
						out[i] = by
					} else if i > 0 && i+1 < len(out) && out[i] == path && out[i+1] == path && by == p.outside {
						out[i] = by // what is mounted
					}
				}
				return out
			}
		}
		for name, f := range map[string]func([]string) []string{
			"what a pin shows":  swap(p.root+"/pkg", p.outside),
			"where a pin lies":  swap(p.root+"/pkg", p.root+"/sub"),
			"a protected path":  swap(p.root+"/pkg/.vscode", p.root+"/sub"),
			"a mount more":      func(a []string) []string { return append(a, "--bind", p.outside, p.root+"/sub") },
			"a mount more over": func(a []string) []string { return append(a, "--bind", p.outside, p.root+"/pkg") },
			"a hidden path": func(a []string) []string {
				i := slices.Index(a, p.root+"/sub/file")
				return slices.Delete(slices.Clone(a), i-2, i+1)
			},
		} {
			for i, err := range func() []error { a, b := start(f); return []error{a, b} }() {
				if err == nil || !strings.Contains(err.Error(), "changed while") && name != "a protected path" {
					t.Errorf("%s, %d: %v", name, i, err)
				}
			}
		}
	})
}

// TestBwrapAlone: where neither overlays nor the session's way work, each
// command has a sandbox of its own and caches are empty.
func TestBwrapAlone(t *testing.T) {
	both(t, func(t *testing.T) {
		p := settle(t, Bwrap)
		b := p.inner()
		b.mu.Lock()
		b.session.close()
		b.stage.close()
		b.session, b.stage, b.caches.stage, b.solo = nil, nil, nil, true
		b.mu.Unlock()
		pol := p.base()
		pol.Caches = []string{p.Home + "/.cache/go-build"}
		plant(t, pol.Caches[0]+"/host", "host\n")
		mine := fmt.Sprintf("sleep 7304.%d", os.Getpid())
		r := p.run(t, pol, `echo works > made; cat ~/.cache/go-build/host; echo x > ~/.cache/go-build/new && setsid `+mine+` & sleep 0.2; : > $OUT/written`)
		if r.found < 1 || strings.Contains(r.out, "host\n") || running(mine) {
			t.Errorf("%+v", r)
		}
		if _, err := os.Stat(p.outside + "/written"); err == nil {
			t.Error("written outside")
		}
		if r := p.run(t, pol, `cat made ~/.cache/go-build/new`); r.out != "works\nx\n" {
			t.Errorf("%+v", r)
		}
	})
}

// TestBwrapLimits: each limit ends or stops a call, and the result says which.
// Without control groups the limits of each process hold.
func TestBwrapLimits(t *testing.T) {
	both(t, func(t *testing.T) {
		testkit.Require(t, "python3", "apt-get install python3")
		p := settle(t, Bwrap)
		for _, base := range []bool{true, false} {
			for _, c := range []struct {
				name, script string
				limits       Limits
			}{
				{"memory", `python3 -c 'x = b"x" * 800000000'`, Limits{Memory: 400 << 20}},
				{"file size", `head -c 3000000 /dev/zero > big`, Limits{FileSize: 1 << 20}},
				{"processes", "python3 -c 'import os, time\nfor i in range(100):\n  if os.fork() == 0: time.sleep(20)\nos._exit(1)'", Limits{Processes: 40}},
			} {
				if c.name == "processes" && p.inner().groups.version == 0 {
					continue // counted with all of the user's: the head itself needs some
				}
				pol := p.base()
				if !base {
					pol.Network = Full
				}
				if r := p.run(t, pol, c.script); r.Code != 0 && r.found < 90 {
					t.Errorf("the control of %s: %+v", c.name, r)
				}
				pol.Limits = c.limits
				r := p.run(t, pol, c.script)
				if r.Code == 0 || r.found >= 90 {
					t.Errorf("%s: %+v", c.name, r)
				}
				if os.Getuid() == 0 && p.inner().groups.version != 0 && r.Exceeded != c.name && c.name != "file size" {
					t.Errorf("%s: it says %q", c.name, r.Exceeded)
				}
			}
		}
	})
}

// TestBwrapRecreated: what was removed and made again is protected, also where it
// has the number of the one before.
func TestBwrapRecreated(t *testing.T) {
	both(t, func(t *testing.T) {
		p := settle(t, Bwrap)
		hooks := filepath.Join(p.root, ".git/hooks")
		number := func() (n uint64) {
			var st unix.Stat_t
			if err := unix.Stat(hooks, &st); err != nil {
				t.Fatal(err)
			}
			return st.Ino
		}
		again := 0
		for range 50 {
			if err := os.MkdirAll(hooks, 0o755); err != nil {
				t.Fatal(err)
			}
			before := number()
			p.run(t, p.base(), "true")
			if err := errors.Join(os.RemoveAll(filepath.Dir(hooks)), os.MkdirAll(hooks, 0o755)); err != nil {
				t.Fatal(err)
			}
			if number() != before {
				continue
			}
			again++
			if r := p.run(t, p.base(), "echo evil > .git/hooks/pre-commit"); r.Code == 0 {
				t.Fatalf("%+v", r)
			}
			if again == 3 {
				return
			}
		}
		if again == 0 {
			t.Skip("this file system does not give a number again")
		}
	})
}
