package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// beside makes a directory that commands see: none of those that are private
// anyway. It is removed with the test.
func beside(t *testing.T) string {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{here, "/var/lib", "/srv"} {
		if slices.ContainsFunc(emptied, func(e string) bool { return below([]string{e}, at) }) {
			continue
		}
		if dir, err := os.MkdirTemp(at, "beside-"); err == nil {
			t.Cleanup(func() { os.RemoveAll(dir) })
			return dir
		}
	}
	t.Skip("no directory here can be written that commands see: run it as root, or from a checkout outside of /home and /tmp")
	return ""
}

// Of an emptied directory a command sees its workspace, and not who else is there.
func TestEmptied(t *testing.T) {
	for _, tier := range []Tier{Bwrap, Namespaces} {
		t.Run(string(tier), func(t *testing.T) {
			p := settle(t, tier)
			dir := beside(t)
			mine, theirs := filepath.Join(dir, "mine"), filepath.Join(dir, "theirs")
			plant(t, filepath.Join(mine, "file"), "my own\n")
			plant(t, filepath.Join(theirs, "file"), "another's\n")
			look := func(emptied ...string) result {
				s := p.Settings
				s.Roots, s.Hidden, s.Emptied, s.State = []string{mine}, []string{theirs}, emptied, filepath.Join(t.TempDir(), "state")
				if err := os.MkdirAll(s.State, 0o700); err != nil {
					t.Fatal(err)
				}
				sb, err := Open(s)
				if err != nil {
					t.Fatal(err)
				}
				defer sb.Close()
				q := &place{Settings: s, sb: sb, root: mine}
				return q.run(t, q.base(), "ls -a "+dir+"; cat file; echo new > written; cat "+theirs+"/file")
			}
			if r := look(); !strings.Contains(r.out, "theirs\n") {
				t.Fatalf("the test proves nothing: %s", r.out)
			}
			r := look(dir)
			if strings.Contains(r.out, "theirs\n") || strings.Contains(r.out, "another's") || !strings.Contains(r.out, "mine\n") || !strings.Contains(r.out, "my own") {
				t.Errorf("%s", r.out)
			}
			if text, err := os.ReadFile(filepath.Join(mine, "written")); err != nil || string(text) != "new\n" {
				t.Errorf("the workspace was not written: %q, %v\n%s", text, err, r.out)
			}
		})
	}
}
