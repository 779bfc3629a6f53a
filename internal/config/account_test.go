package config

import (
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"handrail/guard/owner"
)

// A Unix user is found by name or number with its groups; one without an entry
// is known by both numbers. Root is nobody's.
func TestAccount(t *testing.T) {
	daemon, err := user.Lookup("daemon")
	if err != nil {
		t.Skip("this machine has no user daemon")
	}
	for _, word := range []string{"daemon", daemon.Uid, daemon.Uid + ":" + daemon.Gid} {
		a, err := accountOf(word)
		if err != nil || a.Name != word || a.UID == 0 || a.GID == 0 || !slices.Contains(a.Groups, a.GID) {
			t.Errorf("%s: %+v, %v", word, a, err)
		}
	}
	if a, err := accountOf("3999999999:3999999998"); err != nil || a.UID != 3999999999 || a.GID != 3999999998 || !slices.Equal(a.Groups, []uint32{3999999998}) {
		t.Errorf("%+v, %v", a, err)
	}
	for word, want := range map[string]string{"root": "is root", "0": "is root", "0:5": "is root", "5000:0": "group root", "no-such-user": "there is no Unix user", "3999999999": "there is no Unix user",
		"4294967295:1": "is no number", "99999999999:1": "is no number"} {
		if a, err := accountOf(word); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v; want %q", word, a, err, want)
		}
	}
}

// What a seat keeps lies apart from the front's and other principals', and the
// homes stay where they were; a change of the file moves nothing.
func TestSeat(t *testing.T) {
	c, home := hostOf(t, `
state: WORK/state
http: {user: "5000:5000"}
principals:
  alice: {workspace: WORK/alice, user: "5001:5001"}
  bob: {workspace: WORK/bob, user: "5002:5002"}
`)
	before := c.homeOf("bob")
	front := *c
	front.Sit("")
	c.Sit("alice")
	if c.State == front.State || c.AuditLog() == front.AuditLog() || c.storePlace() == front.storePlace() || c.homeOf("bob") != before {
		t.Error(c.State, front.State, c.homeOf("bob"), before)
	}
	alice, err := c.For("alice")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(home, "work/state"), before, filepath.Join(home, "work/bob")} {
		if !slices.Contains(alice.hidden(), path) {
			t.Errorf("%s can be read by alice's commands: %v", path, alice.hidden())
		}
	}
	j, err := alice.Judge(nil)
	if err != nil {
		t.Fatal(err)
	}
	l := alice.follow(j.Guard)
	data, err := os.ReadFile(c.File)
	if err == nil {
		err = os.WriteFile(c.File, append(data, "profile: strict\n"...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	l.notice = func(s string) { told = append(told, s) }
	l.refresh()
	if l.config.State != alice.State || l.config.homeOf("bob") != before || l.config.Profile != "strict" || strings.Contains(strings.Join(told, ""), "but for") {
		t.Errorf("%s, %s, %s, %q", l.config.State, l.config.homeOf("bob"), l.config.Profile, told)
	}
}

// Root makes directories only where nobody else can lead it elsewhere, and what
// is there stays as it is.
func TestProvide(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root makes directories of others")
	}
	dir, err := os.MkdirTemp("/tmp", "handrail-seat-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	a := Account{UID: 5001, GID: 5001}
	open := filepath.Join(dir, "open")
	theirs := filepath.Join(dir, "theirs")
	for _, err := range []error{os.Mkdir(open, 0o700), os.Chmod(open, 0o777), os.Mkdir(theirs, 0o755), os.Chown(theirs, 5002, 5002), os.Symlink("/etc", filepath.Join(theirs, "link")),
		os.Mkdir(filepath.Join(dir, "there"), 0o750)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		path string
		uid  int // -1: it is not made
		mode os.FileMode
	}{{"a/b/c", 5001, 0o700}, {"open/a", -1, 0}, {"theirs/a/b", -1, 0}, {"theirs/link/handrail-test", -1, 0}, {"there", 0, 0o750}, {"a/b", 0, 0o711}} {
		if err := provide(filepath.Join(dir, c.path), 0o700, a); err != nil {
			t.Errorf("%s: %v", c.path, err)
		}
		info, err := os.Lstat(filepath.Join(dir, c.path))
		switch {
		case c.uid < 0 && err == nil:
			t.Errorf("%s was made", c.path)
		case c.uid >= 0 && (err != nil || owner.Of(info) != c.uid || info.Mode().Perm() != c.mode):
			t.Errorf("%s: %v, %v", c.path, info, err)
		}
	}
}
