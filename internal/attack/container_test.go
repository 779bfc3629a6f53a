//go:build linux

package attack

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"handrail/internal/testkit"
	"handrail/tools/sandbox"
)

// TestRootInContainer: user 0 in a container, where the kernel gives no more
// namespaces, is contained or refused with the reason of each tier; never held by
// less.
func TestRootInContainer(t *testing.T) {
	const inside = "HANDRAIL_ATTACK_CONTAINER"
	if os.Getenv(inside) == "" {
		testkit.Require(t, "setpriv", "apt-get install util-linux")
		program := programPath(t)
		for name, run := range map[string]string{
			"with its capabilities":    ``,
			"without any capabilities": `setpriv --bounding-set=-all --inh-caps=-all`,
		} {
			t.Run(name, func(t *testing.T) {
				dir, err := os.MkdirTemp("/tmp", "attack-") // short enough for sockets
				if err != nil {
					t.Fatal(err)
				}
				defer os.RemoveAll(dir)
				self, err := os.Open("/proc/self/exe")
				if err != nil {
					t.Fatal(err)
				}
				defer self.Close()
				cmd := exec.Command("unshare", "--user", "--map-root-user", "--mount", "bash", "-c",
					"echo 0 > /proc/sys/user/max_user_namespaces && exec "+run+" /proc/self/fd/3 -test.run='^TestRootInContainer$' -test.v")
				cmd.ExtraFiles, cmd.Env = []*os.File{self}, append(os.Environ(), inside+"=1", asOwn+"="+program, "TMPDIR="+dir)
				out, err := cmd.CombinedOutput()
				if err != nil || !strings.Contains(string(out), "--- PASS") {
					t.Errorf("%v\n%s", err, out)
				}
				t.Logf("%s", out)
			})
		}
		return
	}
	m := settle(t, 0)
	box, err := sandbox.Open(sandbox.Settings{Roots: []string{m.root}, Home: m.home, Scratch: m.scratch, State: m.state})
	if err != nil {
		for _, tier := range []sandbox.Tier{sandbox.Bwrap, sandbox.Namespaces, sandbox.Landlock} {
			if !strings.Contains(err.Error(), string(tier)+": ") {
				t.Errorf("the refusal has no reason for %s: %v", tier, err)
			}
		}
		t.Logf("refused: %v", err)
		return
	}
	defer box.Close()
	if !box.Enforcement().Contains() {
		t.Errorf("it opened what does not contain: %+v", box.Enforcement())
	}
	w := held{box.Enforcement().Tier, "container", box, sandbox.Policy{Roots: []string{m.root}, Home: m.home, Scratch: m.scratch}}
	p, err := w.run(t, m, `echo ran; cat $OUT/private; : > $OUT/new`, "attack-container", false, sandbox.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if out := p.watch(func() {}); !strings.Contains(out, "ran") || strings.Contains(out, secret) || exists(m.out+"/new") {
		t.Error(fmt.Sprintf("%s does not hold user 0 of a container: ", w.tier) + out)
	}
	t.Logf("contained by %s", w.tier)
}
