package shell

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"handrail/guard"
)

// The place adds to the effects only what is true of it.
func TestContext(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"old", "dir/one", "dir/two"} {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	outside := t.TempDir()
	r := reader(t, root)
	only := func(source string, kind guard.Kind) guard.Effect {
		t.Helper()
		var found []guard.Effect
		for _, e := range r.Read(source, root).Effects {
			if e.Kind == kind {
				found = append(found, e)
			}
		}
		if len(found) != 1 {
			t.Fatalf("%s: %+v", source, found)
		}
		return found[0]
	}
	for source, want := range map[string]string{"touch new": "create", "touch old": "metadata", "touch dir": "metadata", "chmod +x new": "metadata", "touch " + outside + "/x": "metadata"} {
		if e := only(source, guard.Write); e.Action != want {
			t.Errorf("%s: %s, want %s", source, e.Action, want)
		}
	}
	for source, want := range map[string]string{
		"rm old": "1 file, not in git", "rm -r dir": "2 files, all not in git", "rm none": "no files", "rm dir": "not looked at", "rm -r dir/*x": "no files", "mv dir x": "not looked at",
		"rm -r " + outside: "not looked at", "rm -r .": "not looked at", "find dir -delete": "not looked at",
	} {
		if e := only(source, guard.Delete); e.Loss.String() != want {
			t.Errorf("%s: %s, want %s", source, e.Loss, want)
		}
	}
}

// Many deletions and moves in one call stay within bounds, and what was not
// looked at is not told.
func TestContextIsBounded(t *testing.T) {
	root := t.TempDir()
	var moves, deletes strings.Builder
	for i := range 400 {
		name := fmt.Sprintf("f%03d", i)
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&moves, "mv %s to%s; ", name, name)
		fmt.Fprintf(&deletes, "rm %s; ", name)
	}
	r := reader(t, root)
	told := 0
	for _, e := range r.Read(deletes.String(), root).Effects {
		if e.Loss != nil {
			told++
		}
	}
	if told != 400 {
		t.Errorf("%d of 400 deletions were looked at", told)
	}
	for _, e := range r.Read(moves.String()+deletes.String(), root).Effects {
		if e.Loss != nil {
			t.Fatalf("after %d moves: %+v", 400, e)
		}
	}
}
