//go:build linux

package stories

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Each principal's tools and commands run as its own Unix user, which is what
// keeps them apart where the sandbox does not.
func TestUsersOfPrincipals(t *testing.T) {
	tm := usersOf(t, users)
	alice, bob := tm.token("alice"), tm.token("bob")
	tm.start()
	a, b := tm.session(alice), tm.session(bob)
	for c, uid := range map[*caller]uint32{a: aliceUser, b: bobUser} {
		if r := c.bash("id -u; id -G"); r.Stdout != strings.Repeat(strconv.Itoa(int(uid))+"\n", 2) {
			t.Errorf("%+v", r)
		}
		for _, r := range []result{c.call("safe_write", map[string]any{"path": "made", "content": "one\n"}), c.bash("echo two > ran"),
			c.call("safe_edit", map[string]any{"path": "made", "old_string": "one", "new_string": "own"})} {
			if r.Verdict != "allow" {
				t.Fatalf("%+v", r)
			}
		}
	}
	owners(t, tm.dir+"/work/alice", aliceUser)
	owners(t, tm.dir+"/work/bob", bobUser)

	// With no sandbox between them, the users still are: nothing of each other's,
	// and the front has neither.
	if err := os.Chmod(tm.dir+"/work/alice/made", 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := as(aliceUser, "cat", tm.dir+"/work/alice/made"); out != "own\n" || err != nil {
		t.Fatalf("%s, %v", out, err)
	}
	worker := strconv.Itoa(tm.part("worker", "alice").pid)
	for _, uid := range []uint32{bobUser, frontUser} {
		for _, command := range [][]string{{"cat", tm.dir + "/work/alice/made"}, {"ls", tm.dir + "/work/alice"}, {"ls", tm.dir + "/lib/state-homes/alice"},
			{"ls", tm.dir + "/lib/state/users/alice"}, {"cat", tm.dir + "/lib/state/users/alice/store.db"}, {"ls", tm.dir + "/lib/state"}, {"touch", tm.dir + "/lib/state/x"},
			{"kill", "-0", worker}, {"ls", "/proc/" + worker + "/fd"}, {"cat", "/proc/" + worker + "/environ"}} {
			if out, err := as(uid, command[0], command[1:]...); err == nil || !strings.Contains(strings.ToLower(out), "permi") {
				t.Errorf("user %d, %v: %v, %s", uid, command, err, out)
			}
		}
	}
	if out, err := as(bobUser, "ls", tm.dir+"/lib/state/front"); err == nil {
		t.Errorf("bob reads what the front keeps: %s", out)
	}

	// Only the keeper is root, and nothing can become it again.
	parts := 0
	for _, p := range below(tm.server.Process.Pid) {
		if slices.Contains(strings.Fields(p.uid), "0") {
			t.Errorf("%s runs as %s", p.line, p.uid)
		}
		if !strings.Contains(p.line, "--part ") {
			continue
		}
		parts++
		for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
			if p.field(set) != "0000000000000000" {
				t.Errorf("%s: %s %s", p.line, set, p.field(set))
			}
		}
		if p.field("NoNewPrivs") != "1" || p.field("Umask") != "0077" || strings.Fields(p.uid)[0] != strings.TrimSpace(p.field("Groups")) {
			t.Errorf("%s: %s", p.line, p.status)
		}
	}
	if parts != 3 {
		t.Errorf("%d parts, not a front and two workers", parts)
	}
	if environ, err := os.ReadFile("/proc/" + worker + "/environ"); err != nil || strings.Contains(string(environ), "DEPLOY") {
		t.Errorf("%v, %q", err, environ)
	}
}

// Each principal has a store, a log and a history, and root answers without
// leaving a file there. A token that is revoked opens nothing.
func TestOperatorOfUsers(t *testing.T) {
	tm := usersOf(t, users)
	alice, bob := tm.token("alice"), tm.token("bob")
	tm.start()
	a, b := tm.session(alice), tm.session(bob)
	if r := b.call("safe_write", map[string]any{"path": "made", "content": "one\n"}); r.Verdict != "allow" {
		t.Fatalf("%+v", r)
	}
	if r := b.call("safe_edit", map[string]any{"path": "made", "old_string": "one", "new_string": "own"}); r.Verdict != "allow" {
		t.Fatalf("%+v", r)
	}
	r := a.bash("echo K=1 > .env")
	if r.Verdict != "ask" {
		t.Fatalf("%+v", r)
	}
	id := strings.Fields(r.text[strings.Index(r.text, "waits for approval as ")+len("waits for approval as "):])[0]
	if out := tm.must("approvals", "list", "--principal", "bob"); strings.Contains(out, id) {
		t.Errorf("alice's call waits at bob's: %s", out)
	}
	if out, err := tm.run("approvals", "list"); err == nil || !strings.Contains(out, "--principal") {
		t.Errorf("%v, %s", err, out)
	}
	tm.must("approvals", "approve", "--session", "--principal", "alice", id)
	if r := a.bash("echo K=1 > .env"); r.Verdict != "allow" {
		t.Errorf("%+v", r)
	}
	if out := tm.must("grants", "list", "--principal", "alice"); !strings.Contains(out, ".env") {
		t.Errorf("%s", out)
	}
	if out := tm.must("audit", "export", "--principal", "alice"); !strings.Contains(out, "answered by root as") || !strings.Contains(out, `"principal":"alice"`) || strings.Contains(out, `"bob"`) {
		t.Errorf("%s", out)
	}
	tm.must("audit", "verify", "--principal", "alice")
	tm.must("audit", "verify")
	if out := tm.must("history", "--principal", "bob"); !strings.Contains(out, "made") || strings.Contains(out, ".env") {
		t.Errorf("%s", out)
	}
	var calls []struct{ Call, Tool string }
	if err := json.Unmarshal([]byte(tm.must("history", "--json", "--principal", "bob")), &calls); err != nil {
		t.Fatal(err)
	}
	for _, c := range calls {
		if c.Tool == "safe_edit" {
			tm.must("undo", "--principal", "bob", c.Call)
		}
	}
	if data, err := os.ReadFile(tm.dir + "/work/bob/made"); err != nil || string(data) != "one\n" {
		t.Errorf("%q, %v", data, err)
	}
	own := exec.Command(tm.bin, "history", "--principal", "bob", "--config", tm.dir+"/home/.config/handrail/config.yaml")
	own.Dir, own.Env, own.SysProcAttr = "/", []string{"HOME=" + tm.dir + "/work/bob"}, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: bobUser, Gid: bobUser}}
	if out, err := own.CombinedOutput(); err != nil || !strings.Contains(string(out), "made") {
		t.Errorf("bob's own look: %v, %s", err, out)
	}
	own = exec.Command(tm.bin, "history", "--principal", "alice", "--config", tm.dir+"/home/.config/handrail/config.yaml")
	own.Dir, own.Env, own.SysProcAttr = "/", []string{"HOME=" + tm.dir + "/work/bob"}, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: bobUser, Gid: bobUser}}
	if out, err := own.CombinedOutput(); err == nil || !strings.Contains(string(out), "as root or as that user") {
		t.Errorf("bob's look at alice's: %v, %s", err, out)
	}
	tm.must("token", "revoke", "alice")
	if status, _, _, err := (&caller{tm: tm, token: alice, session: a.session}).post(t.Context(), "tools/list", nil); status != 401 {
		t.Errorf("%d, %v", status, err)
	}
	tm.stop()
	tm.gone("the server was stopped")
	owners(t, tm.dir+"/lib/state/users/alice", aliceUser)
	owners(t, tm.dir+"/lib/state/users/bob", bobUser)
	owners(t, tm.dir+"/lib/state/front", frontUser)
}
