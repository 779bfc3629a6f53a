package tools

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"handrail/elicit"
	"handrail/internal/testkit"
	"handrail/tools/sandbox"
)

// TestDomainsLandlock: under Landlock too a call reaches the hosts that its facts
// name, and no other.
func TestDomainsLandlock(t *testing.T) {
	testkit.Require(t, "curl", "apt-get install curl")
	if os.Getuid() == 0 { // which the tier refuses
		const uid = 4242
		dir, err := os.MkdirTemp("/tmp", "tools-user-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		if err := os.Chown(dir, uid, uid); err != nil {
			t.Fatal(err)
		}
		c := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=2m")
		c.Dir, c.Env = dir, append(os.Environ(), "TMPDIR="+dir, "HOME="+dir)
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		out, err := c.CombinedOutput()
		if t.Logf("as user %d:\n%s", uid, out); err != nil {
			t.Errorf("as user %d: %v", uid, err)
		}
		return
	}
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "hello from "+r.URL.Host+"\n") }))
	defer up.Close()
	b, home := heldBench(t)
	state := resolved(t.TempDir())
	b.Sandbox = func(roots []string, scratch string) (sandbox.Sandbox, error) {
		return sandbox.Open(sandbox.Settings{Tier: sandbox.Landlock, Home: home, State: state, Roots: roots, Scratch: scratch})
	}
	if sb, err := b.Sandbox([]string{b.root}, b.Reader.Env["TMPDIR"]); err != nil {
		testkit.Missing(t, "Landlock ("+err.Error()+")", "a kernel of 6.12 or newer, booted with lsm=landlock,...")
	} else {
		sb.Close()
	}
	var err error
	if b.Egress.Upstream, err = url.Parse(up.URL); err != nil {
		t.Fatal(err)
	}
	res := b.bash(t, "curl -sS -m 20 http://named.example/; curl -sS -m 20 "+up.URL+"/", nil)
	if res.Sandbox == nil || res.Sandbox.Tier != "landlock" || res.Sandbox.Network != "domains" || res.Stdout != "hello from named.example\n" {
		t.Errorf("%+v: %s", res.Sandbox, res.Text)
	}
	res = b.bash(t, b.hide(t, "curl -sS -f -m 20 http://other.example/ >&2; exit 1")+"; rm -f nothing; curl -sS -m 20 http://named.example/", says(elicit.Approved, elicit.AllowOnce))
	if !slices.Contains(res.Sandbox.Refused, "other.example") || strings.Contains(res.Text, "hello from other.example") {
		t.Errorf("%+v: %s", res.Sandbox, res.Text)
	}
}
