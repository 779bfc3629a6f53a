//go:build linux || darwin

package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"handrail/internal/testkit"
)

// work is a work tree with what the tables name, and a shell in it.
type workTree struct {
	t   *testing.T
	dir string
}

func newWork(t *testing.T) workTree {
	testkit.Require(t, "git", "apt-get install git")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := workTree{t, filepath.Join(dir, "root")}
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w.run(`git init -q -b main . && echo x > f && mkdir -p .claude nested/.vscode sub docs
echo '{}' > .claude/settings.json; echo '{}' > nested/.vscode/tasks.json; echo 'SECRET=1' > .env; echo 'use x' > .envrc
printf '#!/bin/sh\n' > .git/hooks/pre-push; chmod 755 .git/hooks/pre-push
git add -A -- f && git commit -q -m one`)
	return w
}

// run runs a script there, as git that has no configuration but the tree's.
func (w workTree) run(script string) {
	w.t.Helper()
	c := exec.Command("bash", "--noprofile", "--norc", "-ec", script)
	c.Dir = w.dir
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir, "LC_ALL=C.UTF-8", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_ALLOW_PROTOCOL=file"}
	if out, err := c.CombinedOutput(); err != nil {
		w.t.Fatalf("%s: %v: %s", script, err, out)
	}
}

// tree is every path outside objects with its content.
func (w workTree) tree() string {
	out, err := exec.Command("bash", "-c", `cd "$1" && find . -path ./.git/objects -prune -o -path ./.git/logs -prune -o \( -type f -printf '%p %m ' -exec md5sum {} \; -o -printf '%p %m %l\n' \) | sort`, "tree", w.dir).Output()
	if err != nil {
		w.t.Fatal(err)
	}
	return string(out)
}

// differs is the lines that are in only one of two trees.
func differs(before, after string) string {
	var b strings.Builder
	was, is := strings.Split(before, "\n"), strings.Split(after, "\n")
	for _, l := range was {
		if !slices.Contains(is, l) {
			b.WriteString("- " + l + "\n")
		}
	}
	for _, l := range is {
		if !slices.Contains(was, l) {
			b.WriteString("+ " + l + "\n")
		}
	}
	return b.String()
}

// TestAttacksAreTakenBack: what a run does to protected paths is undone, and
// told, and nothing else is touched.
func TestAttacksAreTakenBack(t *testing.T) {
	for name, script := range map[string]string{
		"hook":                    `echo evil > .git/hooks/pre-commit`,
		"changed hook":            `echo evil >> .git/hooks/pre-push`,
		"hook made runnable":      `chmod 777 .git/hooks/pre-push`,
		"hook through hard link":  `ln .git/hooks/pre-push h; echo evil >> h; rm h`,
		"hook by rename":          `echo evil > e; mv e .git/hooks/post-commit`,
		"hooks replaced":          `mv .git/hooks sub/old; mkdir .git/hooks; echo evil > .git/hooks/pre-commit; rm -r sub/old`,
		"hooks linked":            `rm -r .git/hooks; mkdir docs/h; ln -s ../docs/h .git/hooks; rmdir docs/h`,
		"fsmonitor":               `git config core.fsmonitor 'sh -c evil'`,
		"hooks path":              `git config core.hooksPath sub`,
		"alias":                   `git config alias.st '!evil'`,
		"remote helper":           `git remote add x 'ext::sh -c evil'`,
		"include":                 `printf '[include]\n\tpath = ../sub/x\n' >> .git/config`,
		"worktree config":         `printf '[core]\n\tfsmonitor = evil\n' > .git/config.worktree`,
		"commondir":               `echo ../sub > .git/commondir`,
		"attributes":              `echo '* filter=evil' > .git/info/attributes`,
		"client settings":         `echo evil > .claude/settings.json`,
		"client settings removed": `rm -r .claude`,
		"client settings aside":   `mv .claude docs/c; mkdir .claude; echo evil > .claude/settings.json; rm -r docs/c`,
		"new client settings":     `mkdir -p .cursor && echo evil > .cursor/mcp.json`,
		"other case":              `mkdir -p sub/.Cursor && echo evil > sub/.Cursor/mcp.json`,
		"other letters":           `mkdir -p $'sub/.v\u017fcode' && echo evil > $'sub/.v\u017fcode/tasks.json'`,
		"ignored letters":         `echo evil > $'sub/.mcp\u200c.json'`,
		"nested tasks":            `echo evil > nested/.vscode/tasks.json`,
		"new nested tasks":        `mkdir -p docs/.vscode && echo evil > docs/.vscode/tasks.json`,
		"link in place":           `mkdir docs/x; ln -s docs/x .gemini; rmdir docs/x`,
		"environment file":        `echo evil > .envrc`,
		"secret":                  `echo X=2 > .env`,
		"another repository":      `mkdir r && cd r && git init -q . && git config core.fsmonitor evil; rm -r ../r/.git/[!c]*`,
		"mcp":                     `echo evil > docs/.mcp.json`,
		"package configuration":   `echo script-shell=evil > .npmrc`,
		"repository elsewhere":    `echo "gitdir: /nowhere" > docs/.git`,
		"mode of directory":       `chmod 777 .claude`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWork(t)
			guard := newWatcher(t.TempDir())
			run, err := guard.begin(&Policy{Roots: []string{w.dir}, Secrets: []string{filepath.Join(w.dir, ".env")}})
			if err != nil {
				t.Fatal(err)
			}
			before := w.tree()
			w.run(script)
			if w.tree() == before {
				t.Fatal("control: the script changes nothing")
			}
			restored, err := run.end()
			if err != nil || len(restored) == 0 {
				t.Errorf("restored %v, %v", restored, err)
			}
			if name == "another repository" {
				if _, err := os.Stat(filepath.Join(w.dir, "r/.git/config")); err == nil {
					t.Error("its configuration stayed")
				}
				return
			}
			after := strings.ReplaceAll(strings.ReplaceAll(w.tree(), "./docs/.vscode 755 \n", ""), "./sub/.v\u017fcode 755 \n", "")
			if after != before {
				t.Errorf("restored %v, but the tree differs:\n%s", restored, differs(before, after))
			}
		})
	}
}

// TestWorkStays: what git and builds do is left alone.
func TestWorkStays(t *testing.T) {
	for name, script := range map[string]string{
		"nothing":    `true`,
		"commit":     `echo y > g; git add g; git commit -q -m two; git stash list; git gc -q`,
		"rebase":     `git checkout -q -b b; echo y > g; git add g; git commit -q -m two; git checkout -q main; echo z > h; git add h; git commit -q -m three; git rebase -q b`,
		"tracking":   `git remote add o ../other; git update-ref refs/remotes/o/main main; git checkout -q -b t --track o/main; git branch -m t u`,
		"work tree":  `git worktree add -q sub/wt -b wt; git -C sub/wt commit -q --allow-empty -m w; git worktree remove sub/wt`,
		"init":       `git init -q sub/new; git init -q --bare sub/bare`,
		"clone":      `git clone -q . sub/clone`,
		"submodule":  `git -c protocol.file.allow=always submodule add -q "$PWD" docs/mod || true; git rm -q -f --cached .gitmodules docs/mod; rm -f .gitmodules`,
		"move":       `mv nested docs/moved`,
		"remove":     `rm -r nested`,
		"own names":  `mkdir -p .github/workflows src; echo x > .github/workflows/ci.yml; echo x > src/settings.json; mkdir -p node_modules/a/.vscode; echo x > node_modules/a/.vscode/tasks.json`,
		"touch only": `touch .claude/settings.json .git/hooks/pre-push; cp .envrc e; cat e > .envrc; rm e`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWork(t)
			guard := newWatcher(t.TempDir())
			run, err := guard.begin(&Policy{Roots: []string{w.dir}})
			if err != nil {
				t.Fatal(err)
			}
			w.run(script)
			before := w.tree()
			restored, err := run.end()
			if err != nil || len(restored) != 0 {
				t.Errorf("restored %v, %v", restored, err)
			}
			if after := w.tree(); after != before {
				t.Errorf("the tree differs:\n%s", differs(before, after))
			}
		})
	}
}

// TestAllowedStays: what a person let be written stays, also for runs at the
// same time; what another run did does not.
func TestAllowedStays(t *testing.T) {
	w := newWork(t)
	guard := newWatcher(t.TempDir())
	long, err := guard.begin(&Policy{Roots: []string{w.dir}})
	if err != nil {
		t.Fatal(err)
	}
	run, err := guard.begin(&Policy{Roots: []string{w.dir}, Allowed: []string{filepath.Join(w.dir, ".claude")}, Secrets: []string{filepath.Join(w.dir, ".env")}})
	if err != nil {
		t.Fatal(err)
	}
	w.run(`echo new > .claude/settings.json; echo evil > .envrc`)
	restored, err := run.end()
	if err != nil || !slices.Equal(restored, []string{filepath.Join(w.dir, ".envrc")}) {
		t.Errorf("restored %v, %v", restored, err)
	}
	if restored, err := long.end(); err != nil || len(restored) != 0 {
		t.Errorf("then restored %v, %v", restored, err)
	}
	if b, _ := os.ReadFile(filepath.Join(w.dir, ".claude/settings.json")); string(b) != "new\n" {
		t.Errorf("what was allowed is %q", b)
	}
}

// TestLinkedWorkTree: the repository of a linked work tree is compared where it
// stands, outside of the root.
func TestLinkedWorkTree(t *testing.T) {
	w := newWork(t)
	w.run(`git worktree add -q ../wt -b wt`)
	tree := filepath.Join(filepath.Dir(w.dir), "wt")
	guard := newWatcher(t.TempDir())
	for script, kept := range map[string]bool{
		`echo evil > .git/hooks/pre-commit`:                                  false,
		`git config core.fsmonitor evil`:                                     false,
		`echo /tmp > .git/worktrees/wt/commondir`:                            false,
		`printf '[core]\n\tpager = x\n' > .git/worktrees/wt/config.worktree`: false,
		`git -C ../wt commit -q --allow-empty -m two; git gc -q`:             true,
	} {
		run, err := guard.begin(&Policy{Roots: []string{tree}})
		if err != nil {
			t.Fatal(err)
		}
		w.run(script)
		restored, err := run.end()
		if err != nil || (len(restored) == 0) != kept {
			t.Errorf("%s: restored %v, %v", script, restored, err)
		}
	}
	w.run(`[ ! -e .git/hooks/pre-commit ] && ! git config core.fsmonitor && git -C ../wt status`)
}

// TestProtectedLists: absent paths, paths in other letters, modules and work
// trees are listed.
func TestProtectedLists(t *testing.T) {
	w := newWork(t)
	w.run(`mkdir -p .Cursor .git/modules/a/b; touch .git/modules/a/b/HEAD; git worktree add -q ../wt`)
	all := Protected([]string{w.dir})
	for _, want := range []string{".git/hooks", ".git/config", ".git/config.worktree", ".git/info/exclude", ".git/modules/a/b/config", ".git/worktrees/wt/config.worktree",
		".claude", ".Cursor", ".cursor", ".vscode", ".idea", ".mcp.json", ".gitmodules", ".npmrc", ".husky", ".devcontainer", ".envrc", ".bashrc"} {
		if !slices.Contains(all, filepath.Join(w.dir, want)) {
			t.Errorf("%s is not listed", want)
		}
	}
	tree := filepath.Join(filepath.Dir(w.dir), "wt")
	all = Protected([]string{tree})
	for _, want := range []string{filepath.Join(tree, ".git"), filepath.Join(w.dir, ".git/hooks"), filepath.Join(w.dir, ".git/config")} {
		if !slices.Contains(all, want) {
			t.Errorf("%s is not listed for a linked work tree", want)
		}
	}
}

// BenchmarkWatch is one comparison of a tree of 50,000 files in 2,500 directories.
func BenchmarkWatch(b *testing.B) {
	dir := b.TempDir()
	for d := range 2500 {
		path := filepath.Join(dir, "d"+strconv.Itoa(d/50), "d"+strconv.Itoa(d))
		if err := os.MkdirAll(path, 0o755); err != nil {
			b.Fatal(err)
		}
		for f := range 20 {
			if err := os.WriteFile(filepath.Join(path, "f"+strconv.Itoa(f)), nil, 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	guard := newWatcher(b.TempDir())
	for b.Loop() {
		run, err := guard.begin(&Policy{Roots: []string{dir}})
		if err != nil {
			b.Fatal(err)
		}
		if restored, err := run.end(); err != nil || len(restored) > 0 {
			b.Fatal(restored, err)
		}
	}
}
