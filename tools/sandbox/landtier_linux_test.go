package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"handrail/internal/testkit"
)

// landing opens the tier, as a user that is not 0. A kernel that is too old for
// it has nothing to test; one that could have it must.
func landing(t *testing.T) *place {
	t.Helper()
	if err := landlockWorks(); errors.Is(err, unix.EOPNOTSUPP) {
		testkit.Missing(t, "Landlock", "boot with lsm=landlock,...")
	} else if err != nil {
		t.Skip(err)
	}
	testkit.Require(t, "python3", "apt-get install python3")
	return settle(t, Landlock)
}

// python runs a line of Python.
func python(line string) string { return `exec /usr/bin/python3 -c '` + line + `'` }

// TestLandlockHolds: each attack succeeds without the sandbox, fails in it, and
// the disk, the server and the network show that it did.
func TestLandlockHolds(t *testing.T) {
	if asUser(t) {
		return
	}
	p := landing(t)
	outside := func(name string) string { return filepath.Join(p.outside, name) }
	for _, f := range []string{"private", "kept"} {
		if err := os.WriteFile(outside(f), []byte("private text\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(p.root, "run"), []byte("#!/bin/sh\necho ran\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	tcp, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	_, port, _ := net.SplitHostPort(tcp.Addr().String())
	socket := filepath.Join(p.root, "socket")
	for _, name := range []string{socket, "@handrail-" + port} {
		l, err := net.Listen("unix", name)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	datagrams := filepath.Join(p.root, "datagrams")
	u, err := net.ListenPacket("unixgram", datagrams)
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	victim := exec.Command("sleep", "600")
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = victim.Process.Kill(); _ = victim.Wait() }()
	pid := fmt.Sprint(victim.Process.Pid)
	for name, script := range map[string]string{
		"write":        `: > $OUT/written`,
		"through link": `ln -s $OUT l; : > l/written`,
		"truncate":     `truncate -s 0 $OUT/kept`,
		"remove":       `rm $OUT/kept && touch $OUT/kept`,
		"rename":       `mv $OUT/kept . && mv kept $OUT/kept`,
		"hard link":    `ln $OUT/private h`,
		"read":         `cat $OUT/private`,
		"list":         `ls $OUT`,
		"execute":      `cp run $OUT/run 2>/dev/null; cp /bin/true $OUT/true && $OUT/true`,
		"tcp":          `: <> /dev/tcp/127.0.0.1/` + port,
		"udp":          `: > /dev/udp/127.0.0.1/` + port,
		"mptcp":        python(`import socket; socket.socket(2, 1, 262)`),
		"unix":         python(`import socket; socket.socket(socket.AF_UNIX).connect("` + socket + `")`),
		"abstract":     python(`import socket; socket.socket(socket.AF_UNIX).connect("\0handrail-` + port + `")`),
		"datagram":     python(`import socket; socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b"x", "` + datagrams + `")`),
		"netlink":      python(`import socket; socket.socket(16, 3, 0)`),
		"signal":       `kill -CONT ` + pid,
		"memory":       `cat /proc/` + pid + `/maps | grep -q .`,
		"environ":      `cat /proc/` + pid + `/environ | grep -qa .`,
		"root":         `ls /proc/` + pid + `/root/`,
		"temporary":    `: > /tmp/handrail-` + port + ` && rm /tmp/handrail-` + port,
		"memory file":  `: > /dev/shm/handrail-` + port + ` && rm /dev/shm/handrail-` + port,
	} {
		t.Run(name, func(t *testing.T) {
			control := p.command(script, nil)
			c := exec.Command(control.Path, control.Args[1:]...)
			c.Dir, c.Env = control.Dir, control.Env
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("control: %v: %s", err, out)
			}
			_ = os.Remove(filepath.Join(p.root, "l"))
			_ = os.Remove(filepath.Join(p.root, "h"))
			_ = os.Remove(outside("written"))
			_ = os.RemoveAll(outside("true"))
			if r := p.run(t, p.base(), script); r.Code == 0 || r.Signal != 0 {
				t.Errorf("%+v", r)
			}
			_ = os.Remove(filepath.Join(p.root, "l"))
			for _, made := range []string{"written", "true"} {
				if _, err := os.Lstat(outside(made)); err == nil {
					t.Errorf("%s was made", made)
				}
			}
			if b, err := os.ReadFile(outside("kept")); err != nil || strings.Contains(script, "truncate") && len(b) > 0 {
				t.Errorf("kept: %q, %v", b, err)
			}
		})
	}
}

// TestLandlockWorks: what a command is for, it does.
func TestLandlockWorks(t *testing.T) {
	if asUser(t) {
		return
	}
	p := landing(t)
	file := filepath.Join(p.outside, "named")
	if err := os.WriteFile(file, []byte("text\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT) // not ignored by what this program starts
	env := `export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; `
	for name, c := range map[string]struct {
		script string
		policy func(*Policy)
	}{
		"git":       {env + `git init -q . && echo x > f && git add f && git commit -q -m one && git checkout -q -b b && git stash list && git worktree add -q wt && git gc -q`, nil},
		"files":     {`mkdir -p a/b && echo x > a/b/c && mv a/b/c a/d && ln -s a l && cat l/d && chmod +x a/d && rm -r a l`, nil},
		"temporary": {`f=$(mktemp) && echo x > $f && cat < $f >/dev/null && mv $f here`, nil},
		"pipes":     {`diff <(echo a) <(echo a) && echo a | tee >(cat) >/dev/null && read x <<< here`, nil},
		"signals":   {`for s in HUP INT TERM; do bash -c "kill -$s \$\$; exit 0" && exit 9; done; true`, nil},
		"programs":  {`printf '#!/bin/sh\nexit 0\n' > p && chmod +x p && ./p && python3 -c 'import subprocess; subprocess.check_call(["/bin/true"])'`, nil},
		"read":      {`grep -q text ` + file, func(p *Policy) { p.Read = []string{file} }},
		"write":     {`echo more >> ` + file, func(p *Policy) { p.Write = []string{file} }},
		"network":   {`exec python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); socket.create_connection(s.getsockname())'`, func(p *Policy) { p.Network = Full }},
		"open":      {`echo more >> ` + file + ` && cat ` + file, func(p *Policy) { p.Open = true }},
	} {
		t.Run(name, func(t *testing.T) {
			pol := p.base()
			if c.policy != nil {
				if r := p.run(t, pol, c.script); r.Code == 0 {
					t.Errorf("control: it passes with the base profile")
				}
				c.policy(pol)
			}
			if r := p.run(t, pol, c.script); r.Code != 0 || len(r.Restored) > 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestLandlockRefuses: what the tier cannot hold does not run.
func TestLandlockRefuses(t *testing.T) {
	if os.Getuid() == 0 {
		if _, err := openLandlock(Settings{}); err == nil || !strings.Contains(err.Error(), "user 0") && landlockWorks() == nil {
			t.Errorf("as user 0: %v", err)
		}
	}
	if asUser(t) {
		return
	}
	p := landing(t)
	hidden := filepath.Join(p.root, "hidden")
	if err := os.WriteFile(hidden, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, pol := range map[string]*Policy{
		"domains, no proxy":    {Roots: p.Roots, Network: Domains, ProxyToken: "token"},
		"domains, no token":    {Roots: p.Roots, Network: Domains, Proxy: func(net.Listener) { t.Error("it listens") }},
		"hidden in a root":     {Roots: p.Roots, Hidden: []string{hidden}},
		"hidden is written":    {Roots: p.Roots, Hidden: []string{p.outside}, Write: []string{filepath.Join(p.outside, "f")}},
		"protected is written": {Roots: p.Roots, Protected: []string{filepath.Join(p.outside, "own")}, Write: []string{p.outside}},
	} {
		if _, err := p.sb.Start(context.Background(), pol, p.command(`touch ran`, nil)); err == nil {
			t.Errorf("%s: it ran", name)
		}
	}
	if _, err := os.Stat(filepath.Join(p.root, "ran")); err == nil {
		t.Error("it ran")
	}
}

// TestLandlockProtects: protected paths are as they were when the call returns.
func TestLandlockProtects(t *testing.T) {
	if asUser(t) {
		return
	}
	p := landing(t)
	if err := os.MkdirAll(filepath.Join(p.root, ".git/hooks"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := p.run(t, p.base(), `echo evil > .git/hooks/pre-commit; mkdir -p sub/.claude; echo evil > sub/.claude/settings.json; echo done`)
	if r.out != "done\n" {
		t.Errorf("control: %+v", r)
	}
	for _, f := range []string{".git/hooks/pre-commit", "sub/.claude"} {
		if _, err := os.Lstat(filepath.Join(p.root, f)); err == nil {
			t.Errorf("%s is there", f)
		}
	}
}

// TestLandlockOpen: a run with the user's rights leaves protected paths and what
// is hidden alone.
func TestLandlockOpen(t *testing.T) {
	if asUser(t) {
		return
	}
	p := landing(t)
	own := filepath.Join(p.outside, "own")
	if err := os.WriteFile(own, []byte("kept\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	pol := p.base()
	pol.Open = true
	for _, script := range []string{`echo evil > $OUT/own`, `rm $OUT/own`, `mv $OUT $OUT.old`} {
		pol.Protected = nil
		if script != `mv $OUT $OUT.old` {
			if r := p.run(t, pol, script); r.Code != 0 {
				t.Errorf("control: %s: %+v", script, r)
			}
		}
		if err := os.WriteFile(own, []byte("kept\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		pol.Protected = []string{own}
		r := p.run(t, pol, script)
		if b, err := os.ReadFile(own); r.Code == 0 || err != nil || string(b) != "kept\n" {
			t.Errorf("%s: %+v; it is %q, %v", script, r, b, err)
		}
	}
	if r := p.run(t, pol, `cat $OUT/own`); r.out != "kept\n" {
		t.Errorf("read: %+v", r)
	}
}

// TestLandlockWhereNamespacesAreRefused: it is the tier that is taken there.
func TestLandlockWhereNamespacesAreRefused(t *testing.T) {
	const refused = "SANDBOX_NAMESPACES_REFUSED"
	if os.Getenv(refused) == "" {
		if err := landlockWorks(); err != nil {
			t.Skip(err)
		}
		if asUser(t) {
			return
		}
		testkit.Require(t, "unshare", "apt-get install util-linux")
		self, err := os.Open("/proc/self/exe")
		if err != nil {
			t.Fatal(err)
		}
		defer self.Close()
		c := exec.Command("unshare", "--user", "--map-user=4243", "--map-group=4243", "--keep-caps", "bash", "-c",
			"echo 0 > /proc/sys/user/max_user_namespaces && exec /proc/self/fd/3 -test.run='^"+t.Name()+"$' -test.v")
		c.ExtraFiles, c.Env = []*os.File{self}, append(os.Environ(), refused+"=1", "TMPDIR="+t.TempDir())
		if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	p := settle(t, "")
	if tier := p.sb.Enforcement().Tier; tier != Landlock {
		t.Errorf("took %s", tier)
	}
	if r := p.run(t, p.base(), `echo x > f && cat f; : > $OUT/f`); r.Code == 0 || !strings.HasPrefix(r.out, "x\n") {
		t.Errorf("%+v", r)
	}
}

// TestLandlockAlike runs the tests of bubblewrap that hold without namespaces.
func TestLandlockAlike(t *testing.T) {
	if asUser(t) {
		return
	}
	landing(t)
	c := exec.Command("/proc/self/exe", "-test.run=^TestBwrap(ServerDeath|Descriptors|Write|Git)$", "-test.v", "-test.timeout=1m")
	c.Env = append(os.Environ(), tierInstead+"="+string(Landlock))
	out, err := c.CombinedOutput()
	if n := strings.Count(string(out), "\n--- PASS: "); err != nil || n != 4 {
		t.Errorf("%d passed, %v:\n%s", n, err, out)
	}
}

// TestLandlockTree: nothing of a call outlives it, whatever it does to hide.
func TestLandlockTree(t *testing.T) {
	if asUser(t) {
		return
	}
	p := landing(t)
	mine := fmt.Sprintf("sleep 7401.%d", os.Getpid())
	r := p.run(t, p.base(), `(env -i setsid nohup bash -c 'trap "" TERM; `+mine+`; true' >/dev/null 2>&1 &); (`+mine+` &); sleep 0.2; echo left`)
	if r.found < 2 || r.out != "left\n" || r.Code != 0 {
		t.Errorf("%+v", r)
	}
	if running(mine) {
		t.Error("something is left")
	}
	proc, out := p.bash(t, p.base(), `trap "" TERM; (env -i setsid `+mine+` &) ; `+mine)
	until(t, func() bool { return count(mine) == 2 })
	proc.End(50 * time.Millisecond)
	_ = out()
	if s := proc.Wait(); s.Signal != 9 || running(mine) {
		t.Errorf("ended by %+v; left: %v", s, running(mine))
	}
}
