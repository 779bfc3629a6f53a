package sandbox

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"handrail/internal/testkit"
)

// bounded runs script in bash, with b (nil: none) around it.
func bounded(t *testing.T, b *bounds, dir, script string) (Status, string) {
	t.Helper()
	gate, open, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	c := exec.Command("bash", "--noprofile", "--norc", "-c", `read -r _ <&3; exec 3<&-; eval "$1"`, "bounded", script)
	c.Dir, c.ExtraFiles = dir, []*os.File{gate}
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	c.Stdout, c.Stderr = out, out
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	gate.Close()
	if b != nil {
		if err := b.add(c.Process.Pid); err != nil {
			t.Fatal(err)
		}
		f := family{leader: c.Process.Pid, mark: "none"}
		b.watch(func() []int {
			all := []int{f.leader}
			for _, p := range f.others() {
				all = append(all, p.pid)
			}
			return all
		}, func() { f.end(0) })
	}
	if _, err := open.WriteString("go\n"); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	said, _ := os.ReadFile(out.Name())
	return ended(c.ProcessState.Sys().(syscall.WaitStatus)), string(said)
}

// kinds are the ways in which limits are held here.
func kinds(t *testing.T) map[string]cgroups {
	all := map[string]cgroups{}
	if os.Getuid() != 0 {
		all["rlimits"] = cgroups{}
	}
	if c, err := findCgroups(); err == nil {
		all["cgroups"] = c
	} else {
		t.Logf("control groups: %v", err)
	}
	return all
}

// TestLimitsOfUser is TestLimits of a user that is not 0.
func TestLimitsOfUser(t *testing.T) {
	if !asUser(t) {
		TestLimits(t)
	}
}

func TestLimits(t *testing.T) {
	testkit.Require(t, "bash", "apt-get install bash")
	testkit.Require(t, "perl", "apt-get install perl")
	const many = `exec perl -e 'for (1..120) { my $p = fork; if (!defined $p) { kill 9, @k; exit 9 } if (!$p) { sleep 30; exit } push @k, $p } kill 9, @k'`
	held := kinds(t)
	for _, c := range []struct {
		name, script, exceeded string
		limits                 Limits
		rlimits                bool // held by them, too
	}{
		{"processes", many, "processes", Limits{Processes: 60}, true},
		{"fork bomb", `exec perl -e 'if (!fork) { while (1) { fork; select(undef, undef, undef, 0.01) } } sleep 1; exit 1'`, "processes", Limits{Processes: 60}, false},
		{"memory of one", `head -c 300M /dev/zero | tail -c 299M | wc -c | grep -q .. && exit ${PIPESTATUS[1]}`, "memory", Limits{Memory: 64 << 20}, true},
		{"memory of many", `for i in 1 2 3 4 5 6; do (head -c 40M /dev/zero | tail -c 40M; sleep 0.1) | (sleep 2; wc -c) & done >/dev/null; wait -n; wait -n; wait`, "memory", Limits{Memory: 64 << 20}, false},
		{"file size", `exec head -c 3M /dev/zero > f`, "file size", Limits{FileSize: 1 << 20}, true},
		{"disk", `for i in {1..40}; do head -c 1M /dev/zero > f$i; done; sleep 5`, "disk", Limits{Disk: 20 << 20}, true},
		{"disk without a name", `exec 5> f; rm f; head -c 40M /dev/zero >&5; sleep 5`, "disk", Limits{Disk: 20 << 20}, true},
		{"enough", `for i in 1 2 3; do sleep 0.1 & done; wait; head -c 1M /dev/zero > f`, "", Limits{Processes: 60, Memory: 64 << 20, FileSize: 8 << 20, Disk: 20 << 20}, true},
	} {
		for kind, groups := range held {
			t.Run(c.name+" by "+kind, func(t *testing.T) {
				if kind == "rlimits" && !c.rlimits {
					t.Skip("resource limits are of each process: they do not hold this")
				}
				dir := t.TempDir()
				b, err := groups.bind(strings.ReplaceAll(t.Name(), "/", "-"), c.limits, []string{dir})
				if err != nil {
					t.Fatal(err)
				}
				s, out := bounded(t, b, dir, c.script)
				got := b.exceeded(s)
				if err := b.release(); err != nil {
					t.Error(err)
				}
				if c.exceeded == "" && s.Code != 0 || c.exceeded != "" && c.exceeded != "memory" && s.Code == 0 {
					t.Errorf("ended with %+v: %s", s, out)
				}
				if got != c.exceeded && kind == "cgroups" || got != "" && got != c.exceeded {
					t.Errorf("exceeded %q with %+v, want %q: %s", got, s, c.exceeded, out)
				}
				if b.group != nil {
					for _, d := range b.group.dirs {
						if _, err := os.Stat(d); err == nil {
							t.Errorf("%s is left", d)
						}
					}
				}
			})
		}
	}
	if s, out := bounded(t, nil, t.TempDir(), many); s.Code != 0 {
		t.Errorf("control: without limits: %+v: %s", s, out)
	}
}

// TestRootWithoutGroupsIsRefused: the kernel does not count the processes of
// user 0.
func TestRootWithoutGroupsIsRefused(t *testing.T) {
	if os.Getuid() != 0 {
		testkit.Missing(t, "user 0", "sudo go test")
	}
	if _, err := (cgroups{}).bind("x", Limits{}, nil); err == nil || !strings.Contains(err.Error(), "control groups") {
		t.Errorf("bound: %v", err)
	}
}

// TestGroupKills: what has left its session and its parents is killed with its
// group.
func TestGroupKills(t *testing.T) {
	groups, err := findCgroups()
	if err != nil {
		testkit.Missing(t, "a writable control group ("+err.Error()+")", "run as root, or in a systemd user session")
	}
	dir := t.TempDir()
	b, err := groups.bind("kill", Limits{}, []string{dir})
	if err != nil {
		t.Fatal(err)
	}
	s, _ := bounded(t, b, dir, `(setsid bash -c 'trap "" TERM HUP; (sleep 300 & echo $! > daemon) & sleep 0.1' &) >/dev/null 2>&1; until [ -s daemon ]; do sleep 0.02; done`)
	if s.Code != 0 {
		t.Fatalf("%+v", s)
	}
	pid, err := os.ReadFile(filepath.Join(dir, "daemon"))
	if err != nil {
		t.Fatal(err)
	}
	stat := "/proc/" + strings.TrimSpace(string(pid))
	if _, err := os.Stat(stat); err != nil {
		t.Fatal("control: the daemon does not outlive its call")
	}
	if err := b.release(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(stat); err == nil {
		if b, _ := os.ReadFile(stat + "/stat"); !bytes.Contains(b, []byte(" Z ")) {
			t.Errorf("the daemon lives: %s", b)
		}
	}
}
