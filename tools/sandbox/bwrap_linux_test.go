package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"handrail/internal/testkit"
)

// place is a user's machine as a sandbox meets it.
type place struct {
	Settings
	sb      Sandbox
	root    string // the workspace
	outside string // a directory that is the user's and not the workspace
}

// tierInstead names the variable with the tier that tests of bubblewrap take
// instead of it.
const tierInstead = "SANDBOX_TIER_INSTEAD"

// settle makes a machine and opens tier on it.
func settle(t testing.TB, tier Tier) *place {
	t.Helper()
	switch other := os.Getenv(tierInstead); {
	case tier == Bwrap && other != "":
		tier = Tier(other)
	case tier == Bwrap:
		testkit.Require(t, bwrapPath, installBwrap)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &place{root: filepath.Join(dir, "home/work"), outside: filepath.Join(dir, "home/other")}
	p.Settings = Settings{Tier: tier, Roots: []string{p.root}, Home: filepath.Join(dir, "home"), Scratch: filepath.Join(dir, "scratch"), State: filepath.Join(dir, "home/.local/state")}
	for _, d := range []string{p.root, p.outside, p.Scratch, p.State} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if p.sb, err = Open(p.Settings); err != nil {
		t.Fatal(err)
	}
	if got := p.sb.Enforcement().Tier; tier != "" && got != tier {
		t.Fatalf("opened %s, want %s", got, tier)
	}
	t.Cleanup(func() {
		if err := p.sb.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return p
}

// base is the base profile.
func (p *place) base() *Policy {
	return &Policy{Roots: p.Roots, Scratch: p.Scratch, Home: p.Home}
}

// result is what a command did.
type result struct {
	Status
	out   string
	found int
}

// bash starts a script; finish ends it.
func (p *place) bash(t testing.TB, pol *Policy, script string) (Process, func() string) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	proc, err := p.sb.Start(context.Background(), pol, p.command(script, w))
	w.Close()
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	out := make(chan string)
	go func() {
		var b bytes.Buffer
		_, _ = b.ReadFrom(r)
		r.Close()
		out <- b.String()
	}()
	return proc, func() string { return <-out }
}

var calls atomic.Int64

func (p *place) command(script string, out *os.File) *Command {
	return &Command{Path: "/bin/bash", Args: []string{"bash", "--noprofile", "--norc", "-c", script}, Dir: p.root, ID: fmt.Sprintf("call-%d-%d", os.Getpid(), calls.Add(1)),
		Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + p.Home, "TMPDIR=" + p.Scratch, "OUT=" + p.outside}, Stdout: out, Stderr: out}
}

// run runs a script to its end.
func (p *place) run(t testing.TB, pol *Policy, script string) result {
	t.Helper()
	proc, out := p.bash(t, pol, script)
	proc.Wait()
	n := proc.End(time.Second)
	return result{proc.Wait(), out(), n}
}

// asUser runs the calling test again as a user without any rights, and returns
// true in the process that runs as root.
func asUser(t *testing.T) bool {
	t.Helper()
	if os.Getuid() != 0 {
		return false
	}
	dir, err := os.MkdirTemp("/tmp", "sandbox-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	const uid = 4242
	if err := os.Chown(dir, uid, uid); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=2m")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("as user %d: %v\n%s", uid, err, out)
	}
	t.Logf("as user %d:\n%s", uid, out)
	return true
}

// both runs f as the user of the test, and as one without rights.
func both(t *testing.T, f func(t *testing.T)) {
	asUser(t)
	f(t)
}

func TestBwrapRuns(t *testing.T) {
	both(t, func(t *testing.T) {
		p := settle(t, Bwrap)
		for _, pol := range []*Policy{p.base(), {Roots: p.Roots, Scratch: p.Scratch, Home: p.Home, Read: []string{p.outside}}} {
			t.Run(fmt.Sprintf("base %v", pol.Base()), func(t *testing.T) {
				r := p.run(t, pol, `echo out; echo err >&2; pwd; touch made; touch $TMPDIR/temporary; cat; exit 7`)
				if r.Code != 7 || r.out != "out\nerr\n"+p.root+"\n" {
					t.Errorf("got %+v", r)
				}
				for _, made := range []string{p.root + "/made", p.Scratch + "/temporary"} {
					if err := os.Remove(made); err != nil {
						t.Error(err)
					}
				}
				if r := p.run(t, pol, `kill -TERM $$`); r.Code != 143 || r.Signal != 15 {
					t.Errorf("by a signal: %+v", r)
				}
				r = p.run(t, pol, `grep -E 'Cap(Prm|Eff|Bnd|Amb)|NoNewPrivs|Seccomp:' /proc/self/status; ls /proc | grep -c '^[0-9]'; ls -l /proc/self/fd | wc -l; env | sort; id -u`)
				t.Logf("%s", r.out)
			})
		}
		if p.sb.(*watched).Sandbox.(*bubble).solo {
			t.Error("no session sandbox")
		}
	})
}

func TestBwrapHolds(t *testing.T) {
	both(t, func(t *testing.T) {
		p := settle(t, Bwrap)
		if err := os.WriteFile(filepath.Join(p.outside, "private"), []byte("private text\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		for name, script := range map[string]string{
			"write":   `: > $OUT/written`,
			"read":    `cat $OUT/private`,
			"connect": `: <> /dev/tcp/127.0.0.1/` + port,
			"sysctl":  `for f in vm/swappiness kernel/core_pattern; do v=$(cat /proc/sys/$f) && echo "$v" > /proc/sys/$f && exit 0; done; false`, // the same again
			"trigger": `: > /proc/sysrq-trigger`,
			"devices": `mknod null c 1 3`,
			"system":  `: > /etc/handrail-test`,
			"userns":  `unshare -U true`,
			"mount":   `mount -t tmpfs none /tmp`,
			"chroot":  `chroot / true`,
			"head":    `cat /proc/1/environ`,
			"headexe": `cat /proc/1/exe`,
			"headfd":  `cat /proc/1/fd/3 || : >/proc/1/fd/3`,
			"signal":  `kill -STOP 1; kill -KILL 1; kill -TERM 1; kill -ABRT 1; kill -QUIT 1; sleep 0.2; false`,
		} {
			t.Run(name, func(t *testing.T) {
				for _, pol := range []*Policy{p.base(), {Roots: p.Roots, Home: p.Home, Read: []string{"/usr"}}} {
					r := p.run(t, pol, script)
					if r.Code == 0 || r.Signal != 0 {
						t.Errorf("%s: base %v: %+v", script, pol.Base(), r)
					}
				}
			})
		}
		if _, err := os.Stat(filepath.Join(p.outside, "written")); err == nil {
			t.Error("written outside")
		}
	})
}

// TestBwrapTree: nothing of a call outlives it.
func TestBwrapTree(t *testing.T) {
	both(t, func(t *testing.T) {
		p := settle(t, Bwrap)
		mine := fmt.Sprintf("sleep 7301.%d", os.Getpid())
		for _, pol := range []*Policy{p.base(), {Roots: p.Roots, Home: p.Home, Network: Full}} {
			r := p.run(t, pol, `(setsid nohup bash -c 'trap "" TERM; `+mine+`' &); (`+mine+` &); sleep 0.1; echo left`)
			if r.found < 2 || r.out != "left\n" || r.Code != 0 {
				t.Errorf("%+v", r)
			}
			proc, out := p.bash(t, pol, `trap "" TERM; `+mine+` & setsid `+mine+` & touch on; `+mine)
			until(t, func() bool { return os.Remove(filepath.Join(p.root, "on")) == nil })
			if !running(mine) {
				t.Error("the control is not seen")
			}
			proc.End(50 * time.Millisecond)
			_ = out() // ends, as nobody holds the pipe
			if s := proc.Wait(); s.Signal != 9 {
				t.Errorf("ended by %+v", s)
			}
			if running(mine) {
				t.Error("something is left")
			}
		}
	})
}

// TestBwrapServerDeath: nothing outlives the server.
func TestBwrapServerDeath(t *testing.T) {
	if arg := os.Getenv("SANDBOX_SERVER"); arg != "" {
		p := settle(t, Bwrap)
		for _, pol := range []*Policy{p.base(), {Roots: p.Roots, Home: p.Home, Network: Full}} {
			p.bash(t, pol, `setsid bash -c 'trap "" TERM; sleep `+arg+`' & trap "" TERM; sleep `+arg)
		}
		time.Sleep(time.Minute)
	}
	arg := fmt.Sprintf("7302.%d", os.Getpid())
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestBwrapServerDeath$")
	cmd.Env = append(os.Environ(), "SANDBOX_SERVER="+arg, "TMPDIR="+t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { return count("sleep "+arg) == 4 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	until(t, func() bool { return count("sleep "+arg) == 0 })
}

// until waits for what must come about.
func until(t testing.TB, f func() bool) {
	t.Helper()
	for range 2000 {
		if f() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("it did not come about")
}

// count tells how many processes of the machine have exactly this command line.
func count(args string) int {
	n := 0
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && strings.ReplaceAll(strings.TrimRight(string(b), "\x00"), "\x00", " ") == args {
			n++
		}
	}
	return n
}

func running(args string) bool { return count(args) > 0 }

// BenchmarkStart is bash -c true from the start to its end, in a sandbox until
// nothing is left of it and the protected paths were compared, interleaved so that
// other load falls on all alike: medians in milliseconds.
func BenchmarkStart(b *testing.B) {
	p := settle(b, Bwrap)
	own := &Policy{Roots: p.Roots, Scratch: p.Scratch, Home: p.Home, Read: []string{p.outside}}
	none, err := openNone(Settings{})
	if err != nil {
		b.Fatal(err)
	}
	ways := []struct {
		name string
		sb   Sandbox
		pol  *Policy
	}{{"plain", none, own}, {"session", p.sb, p.base()}, {"own", p.sb, own}}
	took := make([][]float64, len(ways))
	for b.Loop() {
		for i, way := range ways {
			began := time.Now()
			proc, err := way.sb.Start(context.Background(), way.pol, p.command("true", nil))
			if err != nil {
				b.Fatal(err)
			}
			proc.Wait()
			if way.sb != none { // whose end looks through all processes
				proc.End(0)
			}
			took[i] = append(took[i], float64(time.Since(began).Microseconds())/1000)
			proc.End(0)
		}
	}
	for i, way := range ways {
		slices.Sort(took[i])
		b.ReportMetric(took[i][len(took[i])/2], way.name+"-ms")
	}
}
