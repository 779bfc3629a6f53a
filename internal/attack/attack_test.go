//go:build linux

package attack

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"handrail/internal/testkit"
	"handrail/tools/sandbox"
)

// tiers are those of Linux, in the order of the table.
var tiers = []sandbox.Tier{sandbox.Bwrap, sandbox.Namespaces, sandbox.Landlock, sandbox.Podman}

// families of the table, in its order.
var chapters = []struct {
	name    string
	attacks []attack
}{
	{"Files", files}, {"Secrets", reads}, {"Protected paths", protects}, {"Network and sockets", network}, {"Kernel", kernel}, {"Processes", processes}, {"Resources", resources},
}

func TestMain(m *testing.M) {
	if code, handled := sandbox.Main(os.Args); handled {
		os.Exit(code)
	}
	code := m.Run()
	if dir := built.dir; dir != "" {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// asOwn names the variable that is set where the suite runs as the user own, to
// the program that attacks.
const asOwn = "HANDRAIL_ATTACK_PROGRAM"

var built struct {
	sync.Once
	dir string
	err error
}

// programPath builds the attacking program once; static, so that it runs in any
// image.
func programPath(t testing.TB) string {
	t.Helper()
	if path := os.Getenv(asOwn); path != "" {
		return path
	}
	built.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "handrail-attack-"); built.err != nil {
			return
		}
		cmd := exec.Command("go", "build", "-o", built.dir+"/program", "handrail/internal/attack/program")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			built.err = fmt.Errorf("go build: %w: %s", err, out)
			return
		}
		built.err = os.Chmod(built.dir, 0o755)
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.dir + "/program"
}

// TestAttacks runs every attack in every tier: as user 0 where the test is, and
// as a user without rights.
func TestAttacks(t *testing.T) {
	t.Run("own", func(t *testing.T) {
		t.Parallel()
		if os.Getuid() != 0 {
			suite(t, os.Getuid(), "", sandbox.Bwrap, sandbox.Namespaces, sandbox.Landlock)
			return
		}
		asUser(t, "^TestAttacks$/^own$")
	})
	if os.Getenv(asOwn) != "" {
		return
	}
	t.Run("root", func(t *testing.T) {
		t.Parallel()
		if os.Getuid() != 0 {
			testkit.Missing(t, "user 0", "sudo go test ./internal/attack")
		}
		suite(t, 0, "", sandbox.Bwrap, sandbox.Namespaces)
		if _, err := settle(t, 0).hold(t, sandbox.Landlock, ""); err == nil || !strings.Contains(err.Error(), "user 0") {
			t.Errorf("Landlock as user 0: %v", err)
		}
	})
	t.Run("podman", func(t *testing.T) {
		t.Parallel()
		if os.Getuid() != 0 {
			testkit.Missing(t, "user 0", "sudo go test ./internal/attack")
		}
		suite(t, own, testkit.Podman(t, image), sandbox.Podman)
	})
}

// asUser runs tests of this package again as the user own, where this is user 0.
func asUser(t *testing.T, tests string) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "attack-own-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	cmd := asOwnUser(t, dir, "-test.run="+tests, "-test.v", "-test.timeout=9m")
	out, err := cmd.CombinedOutput()
	t.Logf("as user %d:\n%s", own, out)
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("as user %d: %v", own, err)
	}
}

// asOwnUser is this program with other arguments, run as the user own with dir
// for its files.
func asOwnUser(t testing.TB, dir string, args ...string) *exec.Cmd {
	t.Helper()
	if err := os.Chown(dir, own, own); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), asOwn+"="+programPath(t), "TMPDIR="+dir, "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: own, Gid: own}}
	return cmd
}

// suite runs the attacks on one machine, whose files are uid's.
func suite(t *testing.T, uid int, engine string, on ...sandbox.Tier) {
	m := settle(t, uid)
	end, err := m.shared()
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	var ways []held
	for _, tier := range on {
		h, err := m.hold(t, tier, engine)
		if err != nil {
			t.Errorf("%s does not run here, so that nothing is shown of it: %v", tier, err)
		}
		ways = append(ways, h...)
	}
	for _, chapter := range chapters {
		for _, a := range chapter.attacks {
			if a.only == "root" && os.Getuid() != 0 || a.only == "user" && uid == 0 {
				continue
			}
			t.Run(a.name, func(t *testing.T) { a.play(t, m, ways) })
		}
	}
}

// play runs the attack without a sandbox, where it must succeed, and in each way
// of holding it.
func (a attack) play(t *testing.T, m *machine, ways []held) {
	won, _, said, err := a.once(t, m, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !won && strings.Contains(said, "lacking:") {
		t.Skipf("this kernel has no such thing: %s", said)
	}
	if !won {
		t.Fatalf("the control does not succeed without a sandbox, so the attack shows nothing: %s", clip(said))
	}
	for _, w := range ways {
		won, during, said, err := a.once(t, m, &w)
		reason, lets := a.lets[w.tier]
		switch {
		case err != nil:
			t.Errorf("%s: it did not start: %v", w.name, err)
		case won && !lets:
			t.Errorf("%s does not stop it: %s", w.name, clip(said))
		case !won && lets:
			t.Errorf("%s stops it, and SECURITY.md says that it does not (%s): %s", w.name, reason, clip(said))
		case during != slices.Contains(a.back, w.tier):
			t.Errorf("%s: done during the run: %v, and SECURITY.md says otherwise: %s", w.name, during, clip(said))
		}
	}
}

// once runs the attack, by h or (nil) without a sandbox, and reports whether it
// succeeded, whether it had while it ran, and what it said.
func (a attack) once(t *testing.T, m *machine, h *held) (won, during bool, said string, err error) {
	t.Helper()
	m.reset(t)
	if a.terminal {
		m.plug(t)
	}
	mark := fmt.Sprintf("attack-%d-%d", os.Getpid(), calls.Add(1))
	defer sweep(mark, a.limits.Processes > 0)
	var p *process
	if m.wait = 100 * time.Millisecond; h == nil {
		m.wait = 5 * time.Second
		who := m.uid
		if a.only == "root" || a.server {
			who = os.Getuid()
		}
		p = m.free(t, a.script, mark, who, a.terminal)
	} else if p, err = h.run(t, m, a.script, mark, a.terminal, a.limits); err != nil {
		return false, false, "", err
	}
	said = p.watch(func() {
		if a.look != nil {
			won = a.look(m, marked(mark))
		}
		during = a.during != nil && a.during(m, "", mark)
	})
	if a.took != nil {
		won = a.took(m, said, mark)
	}
	return won, during, said, nil
}

func clip(s string) string { return s[:min(len(s), 400)] }

// TestFakePrograms: programs of the same names earlier in PATH do not become
// part of a sandbox.
func TestFakePrograms(t *testing.T) {
	m := settle(t, os.Getuid())
	fake := m.root + "/bin"
	if err := os.Mkdir(fake, 0o755); err != nil {
		t.Fatal(err)
	}
	names := []string{"bwrap", "unshare", "newuidmap", "newgidmap", "podman", "docker", "nsenter", "mount", "bash", "sh"}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(fake, name), []byte("#!/bin/bash\n: > "+m.out+"/ran-"+name+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", fake+":"+os.Getenv("PATH"))
	for _, name := range names {
		if err := exec.Command(name).Run(); err != nil || os.Remove(m.out+"/ran-"+name) != nil {
			t.Errorf("control: the fake %s does not run: %v", name, err)
		}
	}
	on := []sandbox.Tier{sandbox.Bwrap, sandbox.Namespaces}
	if os.Getuid() != 0 {
		on = append(on, sandbox.Landlock)
	}
	for _, tier := range on {
		ways, err := m.hold(t, tier, "")
		if err != nil {
			t.Error(err)
		}
		for _, w := range ways {
			p, err := w.run(t, m, "true", "fake", false, sandbox.Limits{})
			if err != nil {
				t.Error(err)
				continue
			}
			p.watch(func() {})
		}
	}
	if ran, _ := filepath.Glob(m.out + "/ran-*"); len(ran) > 0 {
		t.Errorf("a program of the workspace ran: %v", ran)
	}
}

// TestRowsAreWhole: an attack has one oracle, and its exceptions name tiers.
func TestRowsAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range chapters {
		for _, a := range c.attacks {
			var err error
			switch {
			case seen[a.name]:
				err = errors.New("the name is there twice")
			case (a.took == nil) == (a.look == nil):
				err = errors.New("it needs exactly one oracle")
			}
			for tier, reason := range a.lets {
				if !slices.Contains(tiers, tier) || reason == "" {
					err = fmt.Errorf("what %s lets through needs a reason", tier)
				}
			}
			if seen[a.name] = true; err != nil {
				t.Errorf("%s: %v", a.name, err)
			}
		}
	}
}
