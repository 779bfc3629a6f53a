package tools

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"handrail/guard"
	"handrail/internal/testkit"
)

// loss is what the guard would be told of the deletion of a file or tree.
func (b *bench) loss(t *testing.T, session, name string) guard.Loss {
	t.Helper()
	c, err := b.Context(Call{Tool: Bash, Input: []byte(`{"command": "rm -rf ` + name + `"}`), Roots: []string{b.root}, Session: session})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range c.Facts.Effects {
		if e.Kind == guard.Delete && e.Loss != nil {
			return *e.Loss
		}
	}
	return guard.Loss{}
}

func TestCreatedFilesAreKnown(t *testing.T) {
	b := newBench(t)
	b.write(t, "mine.txt", "mine")
	created := func(name string, want int) {
		t.Helper()
		if l := b.loss(t, "s", name); l.Created != want || l.Created+l.Untracked != l.Files {
			t.Errorf("%s: %+v, want %d created", name, l, want)
		}
	}
	b.call(t, Write, map[string]any{"path": "a.txt", "content": "a"}, nil)
	b.bash(t, "mkdir d; echo x > d/one; touch d/two; cp mine.txt d/copy; cp -r d e", nil)
	created("a.txt", 1)
	created("d", 3)
	created("e", 3)
	created("mine.txt", 0)
	if l := b.loss(t, "other", "a.txt"); l.Created != 0 {
		t.Errorf("another session: %+v", l)
	}

	// The session's own changes keep it, others' do not.
	b.call(t, Edit, map[string]any{"path": "a.txt", "old_string": "a", "new_string": "b"}, nil)
	b.bash(t, "echo more >> d/one", nil)
	created("a.txt", 1)
	created("d", 3)
	b.call(t, Edit, map[string]any{"path": "mine.txt", "old_string": "mine", "new_string": "x"}, nil)
	b.bash(t, "echo x > mine.txt", nil)
	created("mine.txt", 0)
	b.write(t, "a.txt", "somebody's work")
	created("a.txt", 0)
	b.call(t, Edit, map[string]any{"path": "a.txt", "old_string": "work", "new_string": "x"}, nil)
	created("a.txt", 0)

	// Another file at the same path, another name of the file.
	other := b.write(t, "other", "x\nmore\n")
	if err := os.Rename(other, filepath.Join(b.root, "d/one")); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(b.root, "d/two"), filepath.Join(b.root, "second")); err != nil {
		t.Fatal(err)
	}
	created("d", 1)

	b.EndSession("s")
	created("d", 0)
}

// What a call moves or links to a new name was not made by it.
func TestMovedFilesAreNotCreated(t *testing.T) {
	b := newBench(t)
	b.Guard.Rules = b.Guard.Rules[:1] // nothing asks
	for i, source := range []string{"mv mine.txt new", "mkdir new; mv mine.txt new/", "echo > new; mv -f mine.txt new", "ln mine.txt new", "mkdir x; mv mine.txt x/m; cp -r x new", "ln -s mine.txt new",
		`m=mv; for f in mine.txt; do "$m" "$f" new; done`, "find . -name mine.txt -exec mv {} new \\;", "eval \"$(printf 'mv %s new' mine.txt)\"", "mkdir d new; mv mine.txt d/; cp d/mine.txt new/"} {
		b.write(t, "mine.txt", "mine")
		if res := b.bash(t, source, nil); res.Verdict != guard.VerdictAllow {
			t.Fatalf("%s: %s", source, res.Text)
		}
		if l := b.loss(t, "s", "new"); l.Created != 0 {
			t.Errorf("%d: %s: %+v", i, source, l)
		}
		if err := os.RemoveAll(filepath.Join(b.root, "new")); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCreatedIsBounded(t *testing.T) {
	dir := resolved(t.TempDir())
	var c creations
	for i := range maxCreated + 10 {
		path := fmt.Sprintf("%s/%d", dir, i)
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if ok := c.add("s", path); ok != (i < maxCreated) {
			t.Fatalf("file %d: %v", i, ok)
		}
	}
	for i := range maxSessions + 10 {
		c.add(fmt.Sprint("session ", i), dir+"/0")
	}
	if len(c.made) != maxSessions || len(c.made["s"]) != maxCreated {
		t.Errorf("%d sessions, %d files", len(c.made), len(c.made["s"]))
	}
}

// Git's view and the session's add up.
func TestCreatedInGit(t *testing.T) {
	b := newBench(t)
	git := testkit.Require(t, "git", "apt-get install git")
	b.write(t, "kept.txt", "k")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}} {
		cmd := exec.Command(git, args...)
		cmd.Dir = b.root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	b.write(t, "w/mine.txt", "m")
	b.call(t, Write, map[string]any{"path": "w/made.txt", "content": "a"}, nil)
	if l := b.loss(t, "s", "w"); l != (guard.Loss{Files: 2, Created: 1, Untracked: 1}) {
		t.Errorf("%+v", l)
	}
	if l := b.loss(t, "s", "kept.txt"); l != (guard.Loss{Files: 1, Clean: 1}) {
		t.Errorf("%+v", l)
	}
}
