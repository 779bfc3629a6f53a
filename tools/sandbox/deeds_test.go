//go:build linux || darwin

package sandbox

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// aside is a comparison of another session, or server, of the same user.
func (w workTree) aside(state string, allowed ...string) *watch {
	w.t.Helper()
	run, err := newWatcher(state).begin(&Policy{Roots: []string{w.dir}, Allowed: w.paths(allowed), Secrets: w.paths([]string{".env"})})
	if err != nil {
		w.t.Fatal(err)
	}
	return run
}

func (w workTree) paths(names []string) (all []string) {
	for _, name := range names {
		all = append(all, filepath.Join(w.dir, name))
	}
	return all
}

// ends ends a comparison that must take back exactly names.
func (w workTree) ends(run *watch, names ...string) {
	w.t.Helper()
	restored, err := run.end()
	if err != nil || !slices.Equal(restored, w.paths(names)) {
		w.t.Errorf("restored %v, %v; want %v", restored, err, names)
	}
}

func (w workTree) holds(name, content string) {
	w.t.Helper()
	if b, err := os.ReadFile(filepath.Join(w.dir, name)); string(b) != content {
		w.t.Errorf("%s is %q, %v; want %q", name, b, err, content)
	}
}

// put is what a file tool does: another file comes in the place of the old one.
func (w workTree) put(state, name, content string) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	err := DeedsOf(state).Write(path, []byte(content), func() error {
		return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path+".tmp", []byte(content), 0o644), os.Rename(path+".tmp", path))
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// TestFileToolsStay: what a file tool writes while commands run stays, existing
// or not before, and is what is put back when one of them changes it.
func TestFileToolsStay(t *testing.T) {
	for name, c := range map[string]struct{ script, left string }{
		"stays":           {`true`, ""},
		"written over":    {`echo evil > F`, "F"},
		"as it was":       {`[ ! -e ../old ] || cat ../old > F`, "F"},
		"removed":         {`rm F`, "F"},
		"made runnable":   {`chmod 755 F`, "F"},
		"another beside":  {`echo evil > .npmrc`, ".npmrc"},
		"by another name": {`ln F docs/l; echo evil > docs/l; rm docs/l`, "F"},
	} {
		t.Run(name, func(t *testing.T) {
			w, state := newWork(t), t.TempDir()
			for _, file := range []string{".env", ".claude/settings.json", "nested/.vscode/tasks.json", "docs/.vscode/tasks.json", ".git/config.worktree"} {
				w.run(`rm -f ../old; cp ` + file + ` ../old || true`)
				job, other := w.aside(state), w.aside(state)
				w.put(state, file, "on purpose")
				w.ends(other)
				w.run(strings.ReplaceAll(c.script, "F", file))
				var left []string
				if _, err := os.Stat(filepath.Join(w.dir, "../old")); err != nil && name == "as it was" {
					c.left = "" // it was not there
				}
				if c.left != "" {
					left = []string{strings.ReplaceAll(c.left, "F", file)}
				}
				w.ends(job, left...)
				w.holds(file, "on purpose")
				w.ends(w.aside(state))
			}
		})
	}
}

// TestFileToolThatFails: what was about to be written, and was not, is nothing
// that may stand in its place but the same.
func TestFileToolThatFails(t *testing.T) {
	w, state := newWork(t), t.TempDir()
	job := w.aside(state)
	if err := DeedsOf(state).Write(filepath.Join(w.dir, ".envrc"), []byte("on purpose"), func() error { return io.ErrShortWrite }); !errors.Is(err, io.ErrShortWrite) {
		t.Fatal(err)
	}
	w.run(`printf 'on purpose' > .envrc`)
	w.ends(job, ".envrc")
	w.holds(".envrc", "use x\n")
}

// TestLaterEditStays: a deed does not count for runs that began after it.
func TestLaterEditStays(t *testing.T) {
	w, state := newWork(t), t.TempDir()
	first := w.aside(state)
	w.put(state, ".envrc", "on purpose")
	w.run(`echo later > .envrc`)
	second := w.aside(state)
	w.ends(second)
	w.holds(".envrc", "later\n")
	w.ends(first, ".envrc")
	w.holds(".envrc", "on purpose")
}

// TestAllowedAside: what a command of one session may change stays for those of
// others that run at the same time, while it runs and after; what it may not
// change does not.
func TestAllowedAside(t *testing.T) {
	for name, script := range map[string]string{
		"changed": `echo new > .claude/settings.json; echo new > .claude/more.json; mkdir .claude/d; ln -s more.json .claude/l`,
		"removed": `rm -r .claude`,
		"mode":    `chmod 755 .claude/settings.json`,
	} {
		t.Run(name, func(t *testing.T) {
			w, state := newWork(t), t.TempDir()
			long, short, third := w.aside(state), w.aside(state), w.aside(state)
			run := w.aside(state, ".claude")
			w.run(script)
			w.ends(short)
			w.run(`echo evil > .envrc`)
			w.ends(run, ".envrc")
			after := w.tree()
			w.ends(long)
			if w.tree() != after {
				t.Error(differs(after, w.tree()))
			}
			w.run(`mkdir -p .claude; echo evil > .claude/settings.json`)
			if restored, err := third.end(); err != nil || len(restored) == 0 {
				t.Errorf("changed after it: restored %v, %v", restored, err)
			}
			if w.tree() != after {
				t.Error(differs(after, w.tree()))
			}
		})
	}
}

// TestServerThatDies: a command of another server may change what it may as long
// as that server lives.
func TestServerThatDies(t *testing.T) {
	w, state := newWork(t), t.TempDir()
	if os.Getenv("DEEDS_ASIDE") != "" {
		w.dir, state = os.Getenv("DEEDS_ASIDE"), os.Getenv("DEEDS_STATE")
		w.aside(state, ".envrc")
		os.Stdout.WriteString("begun\n")
		io.Copy(io.Discard, os.Stdin)
		return
	}
	c := exec.Command(os.Args[0], "-test.run=^TestServerThatDies$")
	c.Env = append(os.Environ(), "DEEDS_ASIDE="+w.dir, "DEEDS_STATE="+state)
	if _, err := c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	first, second := w.aside(state), w.aside(state)
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "begun\n" {
		t.Fatalf("%q, %v", line, err)
	}
	w.run(`echo new > .envrc`)
	w.ends(first)
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	w.ends(second, ".envrc")
	if left := DeedsOf(state).names(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// TestTakenBackOnce: of comparisons that end at the same time one takes back.
func TestTakenBackOnce(t *testing.T) {
	w, state := newWork(t), t.TempDir()
	before := w.tree()
	for range 10 {
		var runs []*watch
		for range 4 {
			runs = append(runs, w.aside(state))
		}
		w.run(`echo evil > .envrc; rm -r .claude; echo evil > .npmrc; echo evil > .git/hooks/pre-commit`)
		told := make(chan string, 100)
		var all sync.WaitGroup
		for _, run := range runs {
			all.Go(func() {
				restored, err := run.end()
				if err != nil {
					t.Error(err)
				}
				for _, path := range restored {
					told <- path
				}
			})
		}
		all.Wait()
		close(told)
		var paths []string
		for path := range told {
			paths = append(paths, path)
		}
		slices.Sort(paths)
		if want := w.paths([]string{".claude", ".envrc", ".git/hooks/pre-commit", ".npmrc"}); !slices.Equal(paths, want) {
			t.Errorf("restored %v, want %v", paths, want)
		}
		if after := w.tree(); after != before {
			t.Fatal(differs(before, after))
		}
	}
}

// TestDeedsAreFew: what is kept for runs that began before is bounded, and the
// newest of it is what is kept.
func TestDeedsAreFew(t *testing.T) {
	w, state := newWork(t), t.TempDir()
	job := w.aside(state)
	for i := range deedsMost + 20 {
		w.put(state, ".envrc", strconv.Itoa(i))
	}
	if n := len(DeedsOf(state).names()); n > deedsMost+1 {
		t.Errorf("%d are kept", n)
	}
	w.run(`echo evil > .envrc`)
	w.ends(job, ".envrc")
	w.holds(".envrc", strconv.Itoa(deedsMost+19))
}
