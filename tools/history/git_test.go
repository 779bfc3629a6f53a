package history

import (
	"path/filepath"
	"testing"

	"handrail/internal/testkit"
)

func TestGitWork(t *testing.T) {
	testkit.Require(t, "git", "apt-get install git")
	for _, c := range []struct{ name, prepare, do string }{
		{"reset", "echo changed > src/a; git add src/a; echo more >> src/deep/b", "git reset -q --hard"},
		{"checkout", "echo changed > src/a", "git checkout -q -- ."},
		{"clean", "echo new > untracked; echo log > your.log", "git clean -qfdx"},
		{"stash drop", "echo changed > src/a; git stash -q", "git stash drop -q"},
		{"branch -D", "git checkout -q -b side; git commit -q --allow-empty -m side; git checkout -q main", "git branch -q -D side"},
		{"commit", "echo changed > src/a", "git commit -qam second"},
		{"amend", "git commit -q --allow-empty -m second", "git commit -q --amend --allow-empty -m other"},
		{"rebase", "git checkout -q -b side; echo s > s; git add s; git commit -qm s; git checkout -q main; echo m > m; git add m; git commit -qm m", "git rebase -q side"},
		{"rm -rf .git", "true", "rm -rf .git/refs .git/HEAD .git/index .git/logs .git/config"},
		{"tag", "git tag v1", "git tag -d v1"},
		{"packed", "git tag v1; git pack-refs --all", "git tag -d v1; git branch -m other"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, Limits{}).project().git()
			w.untimed = true // git writes files anew that it does not change
			w.sh(c.prepare)
			const look = "git status --porcelain; git stash list; git for-each-ref; git reflog; git diff; git diff --cached; git fsck 2>&1 | grep -v dangling || true"
			w.sh("(" + look + ") > ../looked.before")
			before := w.state()
			r := w.call(code, c.do)
			if !r.Effective() {
				t.Fatal("the command did nothing")
			}
			w.undone(r)
			w.mustBe(before)
			w.sh("(" + look + ") > ../looked.after; cmp ../looked.before ../looked.after")
		})
	}
}

func TestWorktreeAndSubmodule(t *testing.T) {
	testkit.Require(t, "git", "apt-get install git")
	w := newWorld(t, Limits{}).project().git()
	w.sh("git worktree add -q ../linked -b side; git clone -q --bare . ../up.git; git -c protocol.file.allow=always submodule --quiet add ../up.git sub; git commit -qam sub")
	main := w.root
	w.root = filepath.Join(filepath.Dir(main), "linked")
	w.sh("echo changed > src/a")
	look := "git status --porcelain; git for-each-ref; git reflog"
	w.sh("(" + look + ") > ../before")
	r := w.call(code, "git commit -qam two; git branch -q -D main || git update-ref -d refs/heads/main")
	w.undone(r)
	w.sh("(" + look + ") > ../after; cmp ../before ../after")
	w.root = main
	w.sh("cd sub; git checkout -q -b mine; echo s > s; git add s; git commit -qm s; git reflog > ../../before")
	r = w.call(code, "cd sub && git reset -q --hard HEAD~1 && git branch -q -D main || true; rm -f sub/CASE")
	w.undone(r)
	w.sh("cd sub; git reflog > ../../after; cmp ../../before ../../after; test -f s; test -z \"$(git status --porcelain)\"")
}
