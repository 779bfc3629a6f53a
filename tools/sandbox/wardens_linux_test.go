package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"handrail/internal/testkit"
)

// served runs a command and returns what it said and who its warden was.
func (p *place) served(t *testing.T, pol *Policy, script string) (said, warden string) {
	t.Helper()
	if pol.Limits == (Limits{}) {
		pol.Limits.Processes = 40000 // so many that other processes of the user come and go within a step of the limit
	}
	r := p.run(t, pol, "echo $PPID; "+script)
	warden, said, ok := strings.Cut(r.out, "\n")
	if !ok {
		t.Fatalf("%+v", r)
	}
	return said, warden
}

// TestWardensAgain: a warden whose command left nothing serves the next, which
// finds it as the first one did, whatever the network of either.
func TestWardensAgain(t *testing.T) {
	if asUser(t) {
		return
	}
	p := landing(t)
	look := `cd /proc/self/fd && echo *; env | sort; ulimit -a | grep -v 'max user processes'; taskset -p $$ | sed 's/.*: //'; grep -E 'SigIgn|Cap|NoNew|Seccomp|Umask|Threads' /proc/$$/status; : > /dev/tcp/127.0.0.1/9; pwd`
	first, warden := p.served(t, p.base(), look)
	for i := range 5 {
		said, again := p.served(t, p.base(), look)
		if said != first || again != warden {
			t.Errorf("%d: warden %s, then %s: %s\nthen: %s", i, warden, again, first, said)
		}
		if said, again := p.served(t, p.gated(), `export X=left; ulimit -n 100; cd /; umask 0; read -n 4 x </dev/tcp/127.0.0.1/${http_proxy##*:}; echo $x`); again != warden || said != "here\n" {
			t.Errorf("%d: with hosts by %s: %s", i, again, said)
		}
	}
	if said, again := p.served(t, p.base(), `trap 'echo ended' TERM; (exit 3) & wait $!; echo $?; /bin/true & disown; sleep 0.1; exit 7`); again != warden || said != "3\n" {
		t.Errorf("by %s: %s", again, said)
	}
	if _, again := p.served(t, p.base(), ``); again != warden {
		t.Error("what ended by itself took its warden with it")
	}
}

// TestWardensAnew: a warden that had to end what a command left, or that a command
// changed, serves no other.
func TestWardensAnew(t *testing.T) {
	if asUser(t) {
		return
	}
	p := landing(t)
	testkit.Require(t, "taskset", "apt-get install util-linux")
	mine := fmt.Sprintf("sleep 7405.%d", os.Getpid())
	for name, script := range map[string]string{
		"daemon":     `(env -i setsid ` + mine + ` >/dev/null 2>&1 &)`,
		"orphans":    `for i in {1..30}; do (setsid ` + mine + ` &) >/dev/null 2>&1; done`,
		"processors": `for t in /proc/$PPID/task/*; do taskset -p 1 ${t##*/} >/dev/null; done`,
		"one thread": `taskset -p 1 $PPID >/dev/null`,
	} {
		if strings.Contains(script, "taskset") {
			var cpus unix.CPUSet
			if err := unix.SchedGetaffinity(0, &cpus); err != nil || cpus.Count() < 2 {
				t.Logf("%s: there is one processor only", name)
				continue
			}
		}
		_, before := p.served(t, p.base(), ``)
		if _, warden := p.served(t, p.base(), script); warden != before {
			t.Errorf("%s: control: not the same warden", name)
		}
		if running(mine) {
			t.Errorf("%s: something is left", name)
		}
		if _, warden := p.served(t, p.base(), ``); warden == before {
			t.Errorf("%s: the same warden", name)
		}
	}
}

// TestWardensLimits: limits hold for each command of a warden, and other limits
// are those of another warden.
func TestWardensLimits(t *testing.T) {
	if asUser(t) {
		return
	}
	p := landing(t)
	testkit.Require(t, "perl", "apt-get install perl")
	small, wide := p.base(), p.base()
	small.Limits = Limits{FileSize: 1 << 20, Processes: 40}
	_, of := p.served(t, wide, ``)
	_, one := p.served(t, small, ``)
	for range 3 {
		said, again := p.served(t, small, `head -c 2M /dev/zero > f; stat -c %s f`)
		if !strings.HasSuffix(said, "1048576\n") || again == of {
			t.Errorf("small, by %s and not %s: %q", again, of, said)
		}
		if said, again := p.served(t, wide, `head -c 2M /dev/zero > f && stat -c %s f`); said != "2097152\n" || again == one {
			t.Errorf("wide, by %s and not %s: %q", again, one, said)
		}
		if r := p.run(t, small, `exec perl -e 'for (1..200) { my $p = fork; exit 9 if !defined $p; if (!$p) { sleep 30; exit } }'`); r.Code != 9 {
			t.Errorf("processes: %+v", r)
		}
		if r := p.run(t, wide, `exec perl -e 'for (1..60) { my $p = fork; exit 9 if !defined $p; if (!$p) { exit } } 1 while wait > 0'`); r.Code != 0 {
			t.Errorf("after it: %+v", r)
		}
	}
}

// delegated is in the environment of a test that has a control group of its own.
const delegated = "SANDBOX_DELEGATED"

// TestWardensGroups: in a control group of its own a warden serves again until a
// limit of that was hit.
func TestWardensGroups(t *testing.T) {
	if os.Getenv(delegated) == "" {
		if os.Getuid() != 0 {
			testkit.Missing(t, "user 0", "sudo go test ./tools/sandbox")
		}
		groups, err := findCgroups()
		if err != nil {
			testkit.Missing(t, "control groups ("+err.Error()+")", "a system that gives user 0 some")
		}
		g, err := groups.make(fmt.Sprintf("delegated-%d", calls.Add(1)), DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		defer g.remove()
		dir, err := os.MkdirTemp("/tmp", "sandbox-user-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		for _, d := range append([]string{dir}, g.dirs...) {
			files, _ := filepath.Glob(d + "/cgroup.*")
			for _, f := range append(files, d) {
				if err := os.Chown(f, 4242, 4242); err != nil {
					t.Fatal(err)
				}
			}
		}
		c := exec.Command("/bin/bash", "-c", `read && exec "$@"`, "bash", "/proc/self/fd/3", "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=2m")
		self, err := os.Open("/proc/self/exe")
		if err != nil {
			t.Fatal(err)
		}
		defer self.Close()
		c.ExtraFiles = []*os.File{self}
		c.Dir, c.Env = dir, append(os.Environ(), delegated+"=1", "TMPDIR="+dir, "HOME="+dir)
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 4242, Gid: 4242}}
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		c.Stdout, c.Stderr = &out, &out
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if err := g.add(c.Process.Pid); err != nil {
			t.Error(err)
		}
		fmt.Fprintln(in)
		if err := c.Wait(); err != nil {
			t.Errorf("%v\n%s", err, &out)
		}
		t.Logf("as user 4242:\n%s", &out)
		return
	}
	p := landing(t)
	if l := p.sb.(*watched).Sandbox.(*landed); l.groups.version == 0 {
		t.Fatal("there are no control groups")
	}
	_, warden := p.served(t, p.base(), ``)
	_, again := p.served(t, p.base(), `cat /proc/self/cgroup`)
	if again != warden {
		t.Errorf("by %s, then %s", warden, again)
	}
	testkit.Require(t, "perl", "apt-get install perl")
	pol := p.base()
	pol.Limits.Processes = 40
	_, warden = p.served(t, pol, ``)
	if _, again := p.served(t, pol, `:`); again != warden {
		t.Errorf("with 40 processes: by %s, then %s", warden, again)
	}
	if r := p.run(t, pol, `exec perl -e 'for (1..60) { my $p = fork; if (!defined $p) { $f = 9; last } if (!$p) { sleep 1; exit } } 1 while wait > 0; exit $f'`); r.Exceeded != "processes" || r.Code != 9 || r.found > 0 {
		t.Errorf("the limit: %+v", r)
	}
	if _, again := p.served(t, pol, `:`); again == warden {
		t.Error("a group whose limit was hit served again")
	}
}

// TestWardensWait: a few of them wait, however many commands ran at once, and
// none when the sandbox is closed.
func TestWardensWait(t *testing.T) {
	if asUser(t) {
		return
	}
	p := landing(t)
	first := p.sb
	defer func() { p.sb = first }()
	var err error
	if p.sb, err = Open(p.Settings); err != nil {
		t.Fatal(err)
	}
	l := p.sb.(*watched).Sandbox.(*landed)
	idle := func() (pids []int) {
		l.wardens.mu.Lock()
		defer l.wardens.mu.Unlock()
		for _, w := range l.wardens.idle {
			pids = append(pids, w.cell.pid)
		}
		return pids
	}
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() {
			if r := p.run(t, p.base(), `sleep 0.3; echo ran`); r.out != "ran\n" {
				t.Errorf("%+v", r)
			}
		})
	}
	wg.Wait()
	if n := len(idle()); n < 1 || n > mostWardens {
		t.Errorf("%d wait", n)
	}
	// One that was killed while it waited is not asked.
	for _, pid := range idle() {
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		until(t, func() bool { return !alive(pid) })
	}
	until(t, func() bool { // seen by the server too
		l.wardens.mu.Lock()
		defer l.wardens.mu.Unlock()
		for _, w := range l.wardens.idle {
			if w.serves(DefaultLimits()) {
				return false
			}
		}
		return true
	})
	if r := p.run(t, p.base(), `echo ran`); r.out != "ran\n" {
		t.Errorf("%+v", r)
	}
	left := idle()
	if err := p.sb.Close(); err != nil {
		t.Error(err)
	}
	for _, pid := range left {
		if alive(pid) {
			t.Errorf("%d is left", pid)
		}
	}
	if len(left) == 0 {
		t.Error("none waited")
	}
	if _, err := p.sb.Start(t.Context(), p.base(), p.command("true", nil)); err == nil {
		t.Error("it starts commands when it is closed")
	}
}
