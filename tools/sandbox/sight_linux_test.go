package sandbox

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestPlanKept: the plan of the base profile is made anew when something that it
// was made of has changed, and only then.
func TestPlanKept(t *testing.T) {
	p := settle(t, Bwrap)
	p.repository(t)
	b := p.inner()
	write := func(name, text string) func() {
		return func() { plant(t, filepath.Join(p.root, name), text) }
	}
	must := func(do func() error) func() {
		return func() {
			if err := do(); err != nil {
				t.Fatal(err)
			}
		}
	}
	at := func(name string) string { return filepath.Join(p.root, name) }
	for _, c := range []struct {
		name  string
		do    func()
		other bool
	}{
		{"nothing", func() {}, false},
		{"a file of the work", write("main.go", "package main"), false},
		{"a directory of the work", write("cmd/main.go", "package main"), false},
		{"a file is gone", must(func() error { return os.Remove(at("main.go")) }), false},
		{"a protected file", write(".mcp.json", "{}"), true},
		{"its text", write(".mcp.json", "{} "), false},
		{"another file at its place", must(func() error {
			write("other", "{}")()
			return os.Rename(at("other"), at(".mcp.json"))
		}), true},
		{"a name in other letters", write(".CLAUDE/settings.json", "{}"), true},
		{"the hooks", must(func() error { return os.Rename(at(".git/hooks"), at(".git/hocks")) }), true},
		{"a repository of a submodule", write(".git/modules/sub/HEAD", "ref: refs/heads/main"), true},
		{"a file of it", write(".git/modules/sub/config", ""), true},
		{"a work tree", write(".git/worktrees/wt/HEAD", "ref: refs/heads/main"), true},
		{"where it stands", write(".git/worktrees/wt/gitdir", "/elsewhere/.git"), false},
		{"the repository is another", must(func() error {
			return os.Rename(at(".git"), filepath.Join(p.outside, "git"))
		}), true},
		{"and its link", write(".git", "gitdir: "+filepath.Join(p.outside, "git")+"\n"), true},
		{"which leads elsewhere", write(".git", "gitdir: "+p.outside+"\n"), true},
		{"a protected link", must(func() error { return os.Symlink("cmd", at(".cursor")) }), true},
		{"the root", must(func() error {
			if err := os.Rename(p.root, p.root+"-old"); err != nil {
				return err
			}
			return os.Mkdir(p.root, 0o755)
		}), true},
	} {
		pol := p.base()
		found := (*ground)(nil).of(pol, true)
		pol.ground = found
		before, err := b.planned(pol)
		if err != nil {
			t.Fatal(err)
		}
		c.do()
		pol = p.base()
		pol.ground = found.of(pol, true)
		now, err := b.planned(pol)
		if err != nil {
			t.Fatal(err)
		}
		fresh, err := b.files(p.base(), b.caches, b.hidden, b.hosts.sockets(p.base().Roots))
		if err != nil {
			t.Fatal(err)
		}
		if now.key() != fresh.key() {
			t.Errorf("%s: the plan is not as one made anew", c.name)
		}
		if (now != before) != c.other {
			t.Errorf("%s: made anew: %v", c.name, now != before)
		}
		again := (*ground)(nil).of(p.base(), true)
		if !maps.Equal(again.there, pol.ground.there) || !slices.Equal(again.unwritable, pol.ground.unwritable) || !slices.Equal(again.sight.gitDirs(p.root), pol.ground.sight.gitDirs(p.root)) {
			t.Errorf("%s: the ground is %v, and was taken for %v", c.name, again, pol.ground)
		}
		if !c.other && pol.ground != found {
			t.Errorf("%s: the ground was looked at anew", c.name)
		}
	}
}
