package shell

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"handrail/guard"
)

// What git reads and writes as a remote is in the facts, where that is a
// directory; whatever names it.
func TestRemotesOfTheMachine(t *testing.T) {
	root := t.TempDir()
	config := "[core]\n\tbare = false\n[remote \"near\"]\n\turl = ../near.git\n[Remote \"far\"]\n\tURL = \"/srv/far.git\"\n\tfetch = +refs/heads/*:refs/remotes/far/*\n" +
		"[remote \"web\"]\n\turl = https://example.org/x\n\tpushurl = file:///srv/web.git\n[remote \"ssh\"]\n\turl = git@example.org:a/b\n[branch \"x\"]\n\tremote = near\n"
	for name, text := range map[string]string{".git/HEAD": "ref: refs/heads/x\n", ".git/config": config, "sub/f": "", "other/.git/config": "[remote \"origin\"]\n\turl = /srv/other\n"} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	near := filepath.Join(filepath.Dir(root), "near.git")
	all := "NEAR /srv/far.git /srv/web.git"
	r := reader(t, root)
	for _, c := range []struct{ source, reads, writes string }{
		{"git fetch", all, ""},
		{"git fetch --all -q", all, ""},
		{"git fetch near", "NEAR", ""},
		{"git fetch -q near x", "NEAR", ""},
		{"cd sub && git pull --ff-only far x", "/srv/far.git", ""},
		{"git -C other fetch", "/srv/other", ""},
		{"git ls-remote --heads web", "/srv/web.git", ""},
		{"git remote update", all, ""},
		{"git fetch $unknown", all, ""},
		{"git fetch ssh", "", ""},
		{"git fetch https://example.org/y", "", ""},
		{"git remote -v; git branch; git log near/x", "", ""},
		{"git push near x", "", "NEAR"},
		{"git push", "", all},
		{"git push -u web HEAD", "", "/srv/web.git"},
		{"git push -n near", "", ""},
	} {
		got := map[guard.Kind][]string{}
		for _, e := range r.Read(c.source, root).Effects {
			if (e.Kind == guard.Read || e.Kind == guard.Write) && e.Deep {
				got[e.Kind] = append(got[e.Kind], strings.ReplaceAll(e.Target, near, "NEAR"))
			}
		}
		if reads, writes := strings.Join(got[guard.Read], " "), strings.Join(got[guard.Write], " "); reads != c.reads || writes != c.writes {
			t.Errorf("%s: reads %q and writes %q, want %q and %q", c.source, reads, writes, c.reads, c.writes)
		}
	}
}
