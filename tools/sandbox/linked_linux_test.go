package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// onBoth runs f with mounts, and with Landlock, which has none; as a user without
// rights and, with mounts, as the user of the test.
func onBoth(t *testing.T, f func(t *testing.T, p *place)) {
	user := !asUser(t)
	t.Run("mounts", func(t *testing.T) { f(t, settle(t, Bwrap)) })
	if user {
		t.Run("Landlock", func(t *testing.T) { f(t, landing(t)) })
	}
}

// TestLinkedLater: a protected file that a command wrote through another name is
// as it was, whenever that name was made and although it is gone.
func TestLinkedLater(t *testing.T) {
	onBoth(t, func(t *testing.T, p *place) {
		p.repository(t)
		config := filepath.Join(p.root, ".git/config")
		for name, make := range map[string]string{"inside": `ln .git/config .git/k`, "outside": `ln .git/config k`, "changed": `git config branch.b.remote x; ln .git/config .git/k`} {
			pol := p.base()
			pol.GitConfig = true
			if r := p.run(t, pol, make); r.Code != 0 && name != "outside" {
				t.Fatalf("%s: %+v", name, r)
			}
			p.run(t, p.base(), `for k in k .git/k; do [ -e $k ] && printf '[core]\n\tfsmonitor = touch '"$PWD"'/ran; false\n' >> $k; rm -f $k; done`)
			text, err := os.ReadFile(config)
			if err != nil || strings.Contains(string(text), "fsmonitor") {
				t.Errorf("%s: %s, %v", name, text, err)
			}
			p.git(t, "status")
			if exists(filepath.Join(p.root, "ran")) {
				t.Errorf("%s: git ran a program", name)
			}
		}
	})
}

// TestLinkedAtOnce: a repository that a command makes is not written by the next
// through a name that the first gave it.
func TestLinkedAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, p *place) {
		p.run(t, p.base(), `git init -q . && ln .git/config k`)
		p.run(t, p.base(), `printf '[core]\n\tfsmonitor = evil\n' >> k; rm k`)
		if text, err := os.ReadFile(filepath.Join(p.root, ".git/config")); err != nil || strings.Contains(string(text), "fsmonitor") {
			t.Errorf("%s, %v", text, err)
		}
	})
}

// TestLinkedBefore: what had two names before a command is not taken for a
// person's edit once one of them is gone; what it linked itself has one again.
func TestLinkedBefore(t *testing.T) {
	onBoth(t, func(t *testing.T, p *place) {
		path := filepath.Join(p.root, "deep/.mcp.json")
		for _, link := range []bool{true, false} {
			plant(t, path, "before")
			script := `echo evil > other; rm other`
			if link {
				if err := os.Link(path, filepath.Join(p.root, "other")); err != nil {
					t.Fatal(err)
				}
			} else {
				script = `ln deep/.mcp.json other`
			}
			if r := p.run(t, p.base(), script); r.Code != 0 || len(r.Restored) != 1 {
				t.Errorf("%+v", r)
			}
			if err := os.WriteFile(filepath.Join(p.root, "other"), []byte("evil"), 0o644); err != nil {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(path); err != nil || string(text) != "before" {
				t.Errorf("linked before %v: %q, %v", link, text, err)
			}
			os.Remove(filepath.Join(p.root, "other"))
		}
	})
}

// TestLinkedByAnother: what one command of several could write is nobody's edit
// as long as any of them runs.
func TestLinkedByAnother(t *testing.T) {
	both(t, func(t *testing.T) {
		p := settle(t, Bwrap)
		path := filepath.Join(p.root, ".envrc")
		plant(t, path, "before")
		first := p.base()
		first.Allowed = []string{path}
		other, _ := p.bash(t, first, `ln .envrc k; touch linked; until [ -e go ]; do sleep 0.02; done`)
		last, _ := p.bash(t, p.base(), `until [ -e on ]; do sleep 0.02; done; echo evil > k; rm k`)
		p.until(t, "linked", other)
		plant(t, filepath.Join(p.root, "go"), "")
		other.Wait()
		other.End(0)
		plant(t, filepath.Join(p.root, "on"), "")
		last.Wait()
		last.End(0)
		if text, err := os.ReadFile(path); err != nil || string(text) != "before" {
			t.Errorf("%q, %v, restored %q", text, err, last.Wait().Restored)
		}
	})
}

// mapped makes a repository, maps its configuration, waits, and changes it then:
// which leaves the times of the file alone.
const mapped = `git init -q %s || exit 1; cat > m.py <<'E'
import mmap,os,time
f=open('%s/.git/config','r+b')
d=f.read()
n=2048
f.truncate(n)
m=mmap.mmap(f.fileno(),n)
m[:]=d+b'\n'*(n-len(d))
open('mapped','w').close()
while not os.path.exists('go'): time.sleep(0.02)
i=d.index(b'[core]\n')+7
m[:]=(d[:i]+b'\tfsmonitor = /evil\n'+d[i:]+b'\n'*n)[:n]
E
exec /usr/bin/python3 m.py`

// TestMappedMeanwhile: a file that may stay as it came is compared by what it says
// when the command that made it ends, not by its times.
func TestMappedMeanwhile(t *testing.T) {
	onBoth(t, func(t *testing.T, p *place) {
		for _, dir := range []string{"sub", "."} {
			job, out := p.bash(t, p.base(), strings.ReplaceAll(mapped, "%s", dir))
			p.until(t, "mapped", job)
			time.Sleep(5 * tick)
			if r := p.run(t, p.base(), `true`); len(r.Restored) > 0 {
				t.Errorf("%s: %q", dir, r.Restored)
			}
			plant(t, filepath.Join(p.root, "go"), "")
			job.Wait()
			job.End(0)
			text, err := os.ReadFile(filepath.Join(p.root, dir, ".git/config"))
			if err != nil || strings.Contains(string(text), "fsmonitor") || len(job.Wait().Restored) != 1 {
				t.Errorf("%s: %.80q, %v, restored %q, %s", dir, text, err, job.Wait().Restored, out())
			}
			os.Remove(filepath.Join(p.root, "go"))
			os.Remove(filepath.Join(p.root, "mapped"))
		}
	})
}

// until waits until name is there.
func (p *place) until(t *testing.T, name string, job Process) {
	t.Helper()
	for range 1000 {
		if exists(filepath.Join(p.root, name)) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	job.End(0)
	t.Fatalf("%s does not come", name)
}
