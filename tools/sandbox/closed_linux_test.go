package sandbox

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCannotBeLookedAt: the end of a run takes back what it knows of, whatever a
// command puts beside it, and what runs next finds nothing of it.
func TestCannotBeLookedAt(t *testing.T) {
	if asUser(t) {
		return // whom no mode keeps out
	}
	for name, script := range map[string]string{
		"control":              `true`,
		"ELOOP":                `mkdir -p b/objects b/refs; touch b/HEAD; ln -s info b/info`,
		"ELOOP in place":       `ln -s .claude .claude; rm -r .git/info; ln -s info .git/info; true`,
		"ENAMETOOLONG":         `d=$(printf 'd%.0s' {1..200}); mkdir .claude; cd -P .claude; for i in {1..25}; do mkdir $d && cd -P $d || break; done`,
		"ENAMETOOLONG aside":   `d=$(printf 'd%.0s' {1..200}); mkdir -p $d/$d/.vscode; echo evil > $d/$d/.vscode/tasks.json`,
		"ENOTDIR":              `rm -r .git/info; echo > .git/info; true`,
		"EACCES git":           `chmod 000 .git`,
		"EACCES settings":      `mkdir -p .claude/x; echo evil > .claude/x/y; chmod 000 .claude/x .claude`,
		"EACCES without entry": `mkdir -p sub/.vscode; echo evil > sub/.vscode/tasks.json; chmod 444 sub`,
		"EACCES without list":  `mkdir -p sub/.vscode; echo evil > sub/.vscode/tasks.json; chmod 311 sub`,
		"EACCES unwritable":    `mkdir -p sub/.vscode; echo evil > sub/.vscode/tasks.json; chmod 555 sub`,
		"EACCES nothing":       `mkdir -p sub/a/.vscode; echo evil > sub/a/.vscode/tasks.json; chmod 000 sub/a sub`,
		"EACCES root":          `chmod 311 .`,
		"EACCES root write":    `chmod 555 .`,
		"EACCES new git":       `git init -q sub; git -C sub config core.fsmonitor evil; chmod 311 sub`,
		"EACCES git inside":    `git init -q sub; git -C sub config core.fsmonitor evil; chmod 000 sub/.git`,
		"too many":             `mkdir .claude; cd .claude; exec /usr/bin/python3 -c "for i in range(300): open(str(i),'w').close()"`,
		"too many among those": `cd deep/.claude; exec /usr/bin/python3 -c "for i in range(300): open(str(i),'w').close()"`,
		"too many directories": `exec /usr/bin/python3 -c "
import os
for i in range(10): os.makedirs('.claude/%d'%i)
for i in range(300): open('.claude/%d/%d'%(i%10,i),'w').close()"`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, tier := range []Tier{Bwrap, Landlock} {
				p := settle(t, tier)
				if strings.HasPrefix(name, "too many") {
					p.sb.(*watched).watcher.most = 200
				}
				p.repository(t)
				plant(t, filepath.Join(p.root, "deep/.claude/settings.json"), "{}")
				mine := filepath.Join(p.root, "mine") // closed by the user
				if err := os.Mkdir(mine, 0); err != nil {
					t.Fatal(err)
				}
				before := p.snapshot(t)
				r := p.run(t, p.base(), `echo evil > .mcp.json; `+script)
				if !strings.Contains(strings.Join(r.Restored, "\n"), filepath.Join(p.root, ".mcp.json")) || r.Code != 0 {
					t.Errorf("%s: %+.300v", tier, r)
				}
				if fi, err := os.Lstat(mine); err != nil || fi.Mode().Perm() != 0 {
					t.Errorf("%s: %v, %v", tier, fi, err)
				}
				next := p.run(t, p.base(), `echo still runs`)
				if name == "EACCES root" || name == "EACCES root write" { // the mode is not protected
					if fi, err := os.Lstat(p.root); err != nil || fi.Mode().Perm() == 0o700 {
						t.Errorf("%s: %v, %v", tier, fi, err)
					}
				}
				unlock(t, p.root)
				if !strings.Contains(next.out, "runs") || len(next.Restored) > 0 {
					t.Errorf("%s: then %+.300v", tier, next)
				}
				if after := p.snapshot(t); strings.Join(after, "\n") != strings.Join(before, "\n") {
					t.Errorf("%s: before %q\nafter  %.2000q\nrestored %.300q", tier, before, after, r.Restored)
				}
				p.finds(t, tier, "evil")
			}
		})
	}
}

// unlock lets the user, who may have no rights, into all directories of root.
func unlock(t *testing.T, root string) {
	t.Helper()
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			return os.Chmod(path, 0o755)
		}
		return nil
	})
}

// finds reports files of the workspace that say it.
func (p *place) finds(t *testing.T, tier Tier, text string) {
	t.Helper()
	_ = filepath.WalkDir(p.root, func(path string, d fs.DirEntry, err error) error {
		if strings.Contains(d.Name(), ".handrail-") {
			t.Errorf("%s: left over: %s", tier, path)
		}
		if b, _ := os.ReadFile(path); strings.Contains(string(b), text) {
			t.Errorf("%s: %s says %.100q", tier, path, b)
		}
		return nil
	})
}

// TestQuarantineIsBounded: what is taken back does not fill the disk of the
// server, and says what of it is not kept.
func TestQuarantineIsBounded(t *testing.T) {
	onBoth(t, func(t *testing.T, p *place) {
		r := p.run(t, p.base(), `mkdir .claude; echo small > .claude/0; for i in {1..40}; do truncate -s 16M .claude/$i; done; for i in {41..60}; do head -c 8000000 /dev/zero > .claude/$i; done`)
		if exists(filepath.Join(p.root, ".claude")) || !strings.Contains(strings.Join(r.Restored, "\n"), "not all of it is in the quarantine") {
			t.Errorf("%+.500v", r)
		}
		var size int64
		var index, small string
		if err := filepath.WalkDir(filepath.Join(p.State, "quarantine"), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			fi, err := d.Info()
			size += fi.Size()
			b, _ := os.ReadFile(path)
			switch d.Name() {
			case "index":
				index = string(b)
			case "0":
				small = string(b)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if size > maxKept || !strings.Contains(index, filepath.Join(p.root, ".claude")) || small != "small\n" {
			t.Errorf("%d bytes, index %q, %q", size, index, small)
		}
	})
}

// TestOwed: nothing runs as long as something stands that could not be taken back,
// and then everything does.
func TestOwed(t *testing.T) {
	w := newWork(t)
	guard := newWatcher(t.TempDir())
	begin := func() (*watch, error) { return guard.begin(&Policy{Roots: []string{w.dir}}) }
	run, err := begin()
	if err != nil {
		t.Fatal(err)
	}
	w.run(`echo evil > docs/.mcp.json`)
	// A directory that nobody may change, not even its owner.
	attributes := func(flag string) bool {
		return exec.Command("chattr", flag, filepath.Join(w.dir, "docs")).Run() == nil
	}
	if !attributes("+i") {
		t.Skip("the file system or the user cannot make a directory immutable")
	}
	defer attributes("-i")
	if restored, err := run.end(); err == nil || len(restored) > 0 {
		t.Errorf("the test proves nothing: %q, %v", restored, err)
	}
	for range 2 {
		if _, err := begin(); err == nil || !strings.Contains(err.Error(), "docs/.mcp.json") {
			t.Errorf("begins: %v", err)
		}
	}
	attributes("-i")
	if run, err = begin(); err != nil {
		t.Fatal(err)
	}
	if exists(filepath.Join(w.dir, "docs/.mcp.json")) {
		t.Error("it stands still")
	}
	if restored, err := run.end(); err != nil || len(restored) > 0 {
		t.Errorf("%q, %v", restored, err)
	}
}
