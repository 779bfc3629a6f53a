package rules_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"handrail/guard"
	"handrail/guard/command"
	"handrail/guard/rules"
	"handrail/guard/shell"
	"handrail/internal/testkit"
)

// repository is a work tree made by git itself, on the branch "feature": src is
// clean but for one changed and one new file; lib is clean; dist, data and
// app.log are ignored.
func repository(t testing.TB) *scene {
	t.Helper()
	git := testkit.Require(t, "git", "apt-get install git")
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{home: home, root: home + "/proj"}
	s.put(t, "proj", map[string]string{".gitignore": "dist\ndata\n*.log\n*.db\n", "src/a.go": "a", "src/b.go": "b", "lib/c.go": "c", "lib/d.go": "d", "top.txt": "t", "old.txt": "o"})
	for _, args := range []string{"init -q -b feature", "add .", "-c user.name=t -c user.email=t@example.org commit -qm first"} {
		cmd := exec.Command(git, strings.Fields(args)...)
		cmd.Dir, cmd.Env = s.root, append(os.Environ(), "HOME="+home, "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	s.put(t, "proj", map[string]string{"src/b.go": "changed", "src/new.go": "n", "dist/x.js": "x", "dist/deep/y.js": "y", "data/rows.csv": "1", "app.log": "l", "local.db": "d", "notes.md": "n", "made.txt": "m", "mades/one": "1"})
	table, err := command.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	made := func(path string, info fs.FileInfo) bool { return strings.HasPrefix(path, s.root+"/made") }
	s.reader = &shell.Reader{Table: table, Home: home, Roots: []string{s.root}, Env: map[string]string{"HOME": home, "PATH": "/usr/bin:/bin"}, Created: made}
	s.policy = rules.Policy{Home: home, Hosts: rules.KnownHosts()}
	return s
}

func (s *scene) put(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(s.home, dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// The same deletion is free, left to the validator or asked about, by what git
// or this session could bring back, and the reason says how much.
func TestDeletionInItsPlace(t *testing.T) {
	s := repository(t)
	m := manager(t, "standard", s.policy)
	for _, tt := range []struct{ source, want, says string }{
		{"rm -rf dist", "allow default/delete", "dist and everything below it: 2 files, all ignored by git, nothing would be lost for good"},
		{"rm -rf dist/*", "allow default/delete", "ignored by git"},
		{"rm -rf lib", "allow default/delete", "2 files, all unchanged in git"},
		{"rm lib/c.go top.txt", "allow default/delete", "1 file, unchanged in git"},
		{"rm app.log", "allow default/delete", "1 file, ignored by git"},
		{"rm made.txt", "allow default/delete", "1 file, made in this session"},
		{"rm -r mades lib", "allow default/delete", "1 file, made in this session"},
		{"rm -rf src", "ask default/delete-lost", "3 files, 1 not in git"},
		{"cd src && rm -rf ../src", "ask default/delete-lost", "1 changed since git last had them, 1 unchanged in git"},
		{"rm -rf data", "ask default/delete-lost", "1 file, ignored by git but no build product"},
		{"rm -rf lib data", "ask default/delete-lost", "data and everything below it: 1 file"},
		{"find src -name '*.o' -delete", "llm default/delete-tree", "src"},
		{"find dist -name '*.js' -delete", "allow default/delete", "2 files, all ignored by git"},
		{"find dist -name '*.js' -exec rm {} +", "allow default/delete", ""},
		{"find src -name '*.o' | xargs rm -f", "llm default/delete-tree", ""},
		{"rm notes.md", "llm default/delete-file", "1 file, not in git"},
		{"rm src/b.go", "llm default/delete-file", "1 file, changed since git last had it"},
		{"rm local.db", "llm default/delete-file", "1 file, ignored by git but no build product"},
		{"rm none.txt", "allow", ""},
		{"rm -rf none", "llm default/delete-tree", ""},
		{"rmdir lib", "allow", ""},
		{"mv src other", "allow", ""},
		{"git mv lib other", "allow", ""},
		{"rm -rf .", "ask fs/workspace", ""},
		{"rm -rf dist .git", "ask", ""},
		// What the call does first counts.
		{"mv notes.md dist/ && rm -rf dist", "llm default/delete-tree", ""},
		{"mv src dist/x && rm -rf dist", "llm default/delete-tree", ""},
		{"mv notes.md made.txt; rm made.txt", "allow", ""},
		{"git reset -q && rm lib/c.go", "allow", ""},
		{"git rm -q --cached -r lib && rm -rf lib", "llm default/delete-tree", ""},
		{"git stash && rm -rf lib", "llm default/delete-tree", ""},
		{"git add -A && rm -rf lib", "allow default/delete", ""},
		{"cp notes.md dist/ && rm -rf dist", "allow default/delete", ""},
		// Work in version control.
		{"git reset --hard", "ask vcs/discard", ": 1 file, changed since git last had it"},
		{"cd src && git reset --hard", "ask vcs/discard", ": 1 file, changed since git last had it"},
		{"git checkout -- src", "ask vcs/discard", "in " + s.root + "/src: 1 file, changed"},
		{"git restore src/b.go", "ask vcs/discard", "1 file, changed"},
		{"git checkout -- lib", "ask vcs/discard", "in " + s.root + "/lib"},
		{"git clean -fd", "ask vcs/discard", ": 4 files, 2 not in git, 2 made in this session"},
		{"git clean -fdx", "ask vcs/discard", "2 ignored by git but no build product"},
	} {
		d := s.judge(m, tt.source)
		says := tt.says == ""
		for _, f := range d.Findings {
			says = says || strings.Contains(f.Reason, tt.says)
		}
		verdict, rule, _ := strings.Cut(tt.want, " ")
		spoke := rule == "" || d.Rule == rule
		for _, f := range d.Findings { // an allow has many voices
			spoke = spoke || f.Rule == rule
		}
		if d.Verdict.String() != verdict || !spoke || !says {
			t.Errorf("%s\n got %s %s: %s\nwant %s, saying %q", tt.source, d.Verdict, d.Rule, d.Reason, tt.want, tt.says)
		}
	}
}

// Mixing what is recoverable into a deletion never loosens it.
func TestRecoverableNeverLoosens(t *testing.T) {
	s := repository(t)
	m := manager(t, "standard", s.policy)
	for _, free := range []string{"dist", "lib", "made.txt", "app.log"} {
		for _, kept := range []string{"src", "data", "notes.md", "none", "/etc", "~", ".git"} {
			one := s.judge(m, "rm -rf "+kept).Verdict
			for _, both := range []string{"rm -rf " + free + " " + kept, "rm -rf " + kept + " " + free, "rm -rf " + free + "; rm -rf " + kept} {
				if d := s.judge(m, both); d.Verdict > one {
					t.Errorf("%s is %s, and rm -rf %s is %s", both, d.Verdict, kept, one)
				}
			}
		}
	}
}

func TestProtectedBranch(t *testing.T) {
	s := repository(t)
	m := manager(t, "standard", s.policy)
	try := func(source, want, says string) {
		t.Helper()
		d := s.judge(m, source)
		if got := d.Verdict.String() + " " + d.Rule; !strings.HasPrefix(got, want) || !strings.Contains(d.Reason, says) {
			t.Errorf("%s: got %s: %s; want %s, saying %q", source, got, d.Reason, want, says)
		}
	}
	const ask = "ask vcs/protected-branch"
	for _, source := range []string{"git push origin main", "git push -u origin main", "git push origin HEAD:main", "git push origin feature:refs/heads/main", "git push origin refs/heads/main", "git push origin feature main",
		"git push -o ci.skip origin main", "git -C . push origin main", "b=main; git push origin $b", "git push https://github.com/x/y main", "git push origin HEAD:Main"} {
		try(source, "ask", "")
		if d := s.judge(m, source); !strings.Contains(d.Reason, "git pushes to the protected branch ") {
			t.Errorf("%s: %s", source, d.Reason)
		}
	}
	try("git push origin release/1.2", ask, "protected branch release/1.2")
	try("git push --all origin", ask, "every branch")
	try("git push origin :", ask, "every branch")
	try("git push origin 'refs/heads/*:refs/heads/*'", ask, "every branch")
	for _, source := range []string{"git push", "git push origin", "git push -u origin HEAD", "git push origin feature", "git push origin main:feature", "git push origin v1.0", "git push --tags"} {
		try(source, "llm default/push", "")
	}
	try("git push -n origin main", "allow", "")
	try("git push origin :main", "ask", "delete")
	try("git branch -D main", "ask vcs/discard", "")
	try("git push --force origin feature", "ask vcs/force-push", "")

	// The branch that is checked out counts where none is named, and only there.
	if err := os.WriteFile(s.root+"/.git/HEAD", []byte("ref: refs/heads/master\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	try("git push", ask, "protected branch master")
	try("git push origin", ask, "protected branch master")
	try("git push -u origin", ask, "protected branch master")
	try("git push origin HEAD", ask, "protected branch master")
	try("git push origin HEAD:refs/heads/x", "llm default/push", "refs/heads/x")
	try("cd src && git push", ask, "protected branch master")
	try("git commit -m x", "allow", "")
	try("git push origin feature", "llm default/push", "")
}

// As root the same change of owner or rights weighs more; in the table of
// anybody else nothing changes.
func TestAsRoot(t *testing.T) {
	s := repository(t)
	user := manager(t, "standard", s.policy)
	s.policy.Root = true
	root := manager(t, "standard", s.policy)
	for _, tt := range []struct{ source, user, root string }{
		{"chown u top.txt", "llm", "ask"}, {"chgrp u lib/c.go", "llm", "ask"}, {"chmod u+s top.txt", "ask", "ask"}, {"chmod 4755 top.txt", "ask", "ask"},
		{"echo x > /etc/motd", "ask", "ask"}, {"rm /usr/local/bin/x", "ask", "ask"},
		{"chmod +x top.txt", "allow", "allow"}, {"echo x > top.txt", "allow", "allow"}, {"ls -l", "allow", "allow"}, {"rm -rf dist", "allow", "allow"},
	} {
		if d := s.judge(user, tt.source); d.Verdict.String() != tt.user || strings.Contains(d.Reason, "as root") {
			t.Errorf("%s: %s: %s", tt.source, d.Verdict, d.Reason)
		}
		d := s.judge(root, tt.source)
		if d.Verdict.String() != tt.root || d.Verdict == guard.VerdictAsk && !strings.Contains(d.Reason, ", and it would run as root") {
			t.Errorf("as root: %s: %s: %s", tt.source, d.Verdict, d.Reason)
		}
	}
}

// Each reason of a refusal says something of its own.
func TestReasonsDoNotRepeat(t *testing.T) {
	s := repository(t)
	s.policy.Own = []string{s.home + "/.config/handrail"}
	d := s.judge(manager(t, "standard", s.policy), "false && rm -rf ~")
	if d.Verdict != guard.VerdictDeny || strings.Count(d.Reason, "rm would delete") != 1 || !strings.Contains(d.Reason, "/.config/handrail, which belongs to handrail itself, would go with ") {
		t.Errorf("%s: %s", d.Verdict, d.Reason)
	}
}

func TestReplacingIsTold(t *testing.T) {
	s := repository(t)
	m := manager(t, "standard", s.policy)
	for source, want := range map[string]string{
		"echo x > notes.md": "replaces a file that is not in git", "cp top.txt notes.md": "replaces a file that is not in git", "cp top.txt src/b.go": "replaces a file that changed since",
		"echo x > lib/c.go": "", "echo x >> notes.md": "", "echo x > none": "", "sed -i s/a/b/ notes.md": "", "echo x > made.txt": "", "echo x > dist/x.js": "",
	} {
		d, note := s.judge(m, source), ""
		for _, e := range s.reader.Read(source, s.root).Effects {
			if e.Kind == guard.Write {
				note = e.Note
			}
		}
		if d.Verdict != guard.VerdictAllow || (want == "") != (note == "") || !strings.Contains(note, want) {
			t.Errorf("%s: %s, note %q, want %q", source, d.Verdict, note, want)
		}
	}
}

func BenchmarkDeletion(b *testing.B) {
	s := repository(b)
	m := manager(b, "standard", s.policy)
	for _, source := range []string{"ls -la", "rm top.txt", "rm -rf dist", "rm -rf src", "git reset --hard", "echo x > notes.md", "git push"} {
		b.Run(source, func(b *testing.B) {
			for b.Loop() {
				s.judge(m, source)
			}
		})
	}
}
