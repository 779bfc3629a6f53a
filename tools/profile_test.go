package tools

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"handrail/guard"
	"handrail/guard/shell"
	"handrail/internal/testkit"
	"handrail/tools/sandbox"
)

// home makes a place for plans: $W is the workspace, $H the home directory, $T
// the scratch directory, $O a directory beside them.
func planPlace(t *testing.T) (p *Profile, root string, said func(string) string) {
	t.Helper()
	top := resolved(t.TempDir())
	for _, dir := range []string{"w/.git/hooks", "w/sub", "h/.ssh", "h/docs", "h/.cargo", "t", "o/tree"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	config := "[remote \"origin\"]\n\turl = https://github.com/a/b\n[remote \"own\"]\n\turl = https://git.example.org/a/b\n"
	for name, text := range map[string]string{"w/f": "x", "w/s.sh": "echo hi\n", "w/.env": "K=1", "w/.env.example": "", "w/.git/config": config, "h/docs/f": "x", "h/.ssh/config": "", "h/.cargo/credentials.toml": "", "h/x": "", "o/f": "x", "o/tree/f": "x"} {
		if err := os.WriteFile(filepath.Join(top, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p = &Profile{Home: top + "/h", Scratch: top + "/t", Packages: []string{"registries"}, Hosts: []string{"forges"}}
	short := strings.NewReplacer(top+"/w", "$W", top+"/h", "$H", top+"/t", "$T", top+"/o", "$O", top, "$TOP")
	return p, top + "/w", short.Replace
}

// say writes what a plan adds to the base profile.
func (pl *plan) say() string {
	var out []string
	list := func(name string, values []string) {
		if len(values) > 0 {
			out = append(out, name+" "+strings.Join(values, ","))
		}
	}
	s := pl.policy
	list("read", s.Read)
	list("write", s.Write)
	list("allowed", s.Allowed)
	list("hosts", pl.hosts)
	if s.Network == sandbox.Full {
		out = append(out, "full")
	}
	if s.Open {
		out = append(out, "open")
	}
	if s.GitConfig {
		out = append(out, "gitconfig")
	}
	if pl.outside {
		out = append(out, "outside")
	}
	for _, note := range pl.notes {
		_, after, _ := strings.Cut(note, " ")
		out = append(out, "note:"+strings.Fields(after)[0])
	}
	if len(out) == 0 {
		return "base"
	}
	return strings.Join(out, "; ")
}

func TestPlans(t *testing.T) {
	testkit.Require(t, "bash", "apt-get install bash")
	p, root, short := planPlace(t)
	b := newBench(t)
	long := strings.NewReplacer("$W", root, "$H", p.Home, "$T", p.Scratch, "$O", filepath.Dir(root)+"/o")
	reader := &shell.Reader{Table: b.Reader.Table, Home: p.Home, Env: map[string]string{"HOME": p.Home, "PATH": "/usr/bin:/bin"}, Roots: []string{root}}
	for _, c := range []struct{ command, granted, unasked string }{
		// the workspace, the system and scratch files are there anyway
		{"ls; cat f; echo x > new; rm -f f; mkdir -p a/b", "base", "base"},
		{"cat /etc/passwd /usr/include/stdio.h; ls /", "base", "base"},
		{"echo x > $T/f; cat $T/f; echo x > /dev/null 2>/dev/stderr", "base", "base"},
		{"go test ./...; make; npm test; python3 s.py", "base", "base"},
		{"git status; git commit -m x; git stash; git rebase main", "base", "base"},
		{"git checkout -b y", "gitconfig", "gitconfig"},
		{"git -C sub -c a.b=c branch -u origin/y", "gitconfig", "gitconfig"},
		{"git config user.name me", "allowed $W/.git/config,$W/.git/config.worktree", "allowed $W/.git/config,$W/.git/config.worktree"},
		{"git config user.name me; make", "gitconfig", "gitconfig"},
		{"frobnicate --all", "base", "base"},
		// outside: what is named, and the directory where a file comes or goes
		{"cat $O/f", "read $O/f", "read $O/f"},
		{"$O/f x", "read $O/f", "read $O/f"},
		{"$O/f x; make", "read $O/f", "read $O/f"},
		{"bash $O/f; $O/nosuch", "read $O/f", "read $O/f"},
		{"$H/docs/f", "read $H/docs/f", "base"},
		{"$H/.cargo/credentials.toml", "base", "base"},
		{"cat $H/docs/f", "read $H/docs/f", "read $H/docs/f"},
		{"cp -r $O/tree .", "read $O/tree", "read $O/tree"},
		{"echo x >> $O/f", "write $O/f", "write $O/f"},
		{"echo x > $O/f", "write $O/f", "write $O/f"},
		{"echo x > $O/new", "write $O", "write $O"},
		{"rm $O/f", "write $O", "write $O"},
		{"rm -r $O/tree", "write $O", "write $O"},
		{"sed -i s/a/b/ $O/f", "write $O", "write $O"},
		{"mkdir -p $O/a/b/c", "write $O", "write $O"},
		{"rm $H/x", "write $H", "write $H"},
		{"rm $H/docs/f; npm test", "write $H/docs", "write $H/docs"},
		{"rm $H/x; npm test", "write $H/x", "write $H/x"},
		{"echo x > $H/new; npm test", "note:cannot", "note:cannot"},
		// credentials: to what was read, and approved
		{"cat $H/.ssh/config", "read $H/.ssh,$H/.ssh/config", "note:holds"},
		{"cat $H/.ssh/config; npm test", "note:holds", "note:stays"},
		{"cat $H/.cargo/credentials.toml", "read $H/.cargo/credentials.toml", "note:holds"},
		// what nobody was asked about gives nothing to code that was not read
		{"ls $H; make", "note:stays", "note:stays"},
		{"cat $O/f; make", "read $O/f", "note:stays"},
		{"curl -s https://github.com/x; make", "hosts github.com", "note:is"},
		{"git fetch; make", "hosts git.example.org,github.com; gitconfig", "gitconfig"},
		{"git pull", "hosts git.example.org,github.com; gitconfig", "hosts github.com; gitconfig"},
		// protected and secret files of the workspace
		{"echo x > .env", "allowed $W/.env", "allowed $W/.env"},
		{"echo x > .vscode/tasks.json", "allowed $W/.vscode/tasks.json", "allowed $W/.vscode/tasks.json"},
		{"echo x > .git/hooks/pre-commit", "allowed $W/.git/hooks/pre-commit", "allowed $W/.git/hooks/pre-commit"},
		{"rm -rf .claude", "allowed $W/.claude", "allowed $W/.claude"},
		{"echo x > .env.example", "base", "base"},
		// the network
		{"curl -s https://example.org/x", "hosts example.org", "hosts example.org"},
		{"curl -s https://example.org:8443/x", "hosts example.org:8443", "hosts example.org:8443"},
		{"curl -s http://localhost:3000/ http://127.0.0.1:1/", "base", "base"},
		{"curl -s http://192.168.1.7/", "full", "base"},
		{"curl -s \"https://$H0ST/\"", "full", "base"},
		{"npm ci", "hosts registries", "hosts registries"},
		{"pip install requests && python3 s.py", "hosts registries", "hosts registries"},
		{"npm view react", "hosts registries", "hosts registries"},
		{"pip index versions requests; cargo search x", "hosts registries", "hosts registries"},
		{"npm view $(cat f)", "hosts registries", "base"},
		{"npm view react; make", "hosts registries", "base"},
		{"git clone https://github.com/a/b", "hosts github.com; gitconfig", "hosts github.com; gitconfig"},
		{"git fetch", "hosts git.example.org,github.com; gitconfig", "hosts github.com; gitconfig"},
		{"gh pr list", "hosts *.github.com,*.githubusercontent.com,github.com", "hosts *.github.com,*.githubusercontent.com,github.com"},
		// the machine itself: after a person's yes, and with nothing unread beside it
		{"sudo ls", "outside", "base"},
		{"sudo ls; npm test", "base", "base"},
		{"systemctl restart x", "outside", "base"},
		{"docker run alpine", "outside", "base"},
	} {
		for _, granted := range []bool{true, false} {
			facts := reader.Read(long.Replace(c.command), root)
			want := c.unasked
			if granted {
				want = c.granted
			}
			pl := p.plan(authority{facts: facts, roots: []string{root}, granted: granted})
			if got := short(pl.say()); got != want {
				t.Errorf("%s (granted %v): %s; want %s", c.command, granted, got, want)
			}
			if got := short(strings.Join(pl.policy.Secrets, " ")); got != "$W/.env" && !strings.Contains(c.command, "> .env") {
				t.Errorf("%s: secrets %q", c.command, got)
			}
		}
	}
}

// TestPlanEscalated: more power only with a person's yes, and never to what is
// hidden.
func TestPlanEscalated(t *testing.T) {
	p, root, _ := planPlace(t)
	p.Hidden = []string{"/state"}
	facts := &guard.Facts{Dir: root, Effects: []guard.Effect{{Kind: guard.Exec, Target: "ls"}}}
	pl := p.plan(authority{facts: facts, roots: []string{root}, granted: true, escalate: true})
	if s := pl.policy; !s.Open || s.Network != sandbox.Full || !slices.Equal(s.Hidden, p.Hidden) || len(s.Allowed) > 0 {
		t.Errorf("%+v", s)
	}
	pl = p.plan(authority{facts: facts, roots: []string{root}, escalate: true})
	if !pl.policy.Base() {
		t.Errorf("without a yes: %+v", pl.policy)
	}
}

func TestPushOverSSH(t *testing.T) {
	p, root, _ := planPlace(t)
	t.Setenv("SSH_AUTH_SOCK", "/run/agent.sock")
	if err := os.WriteFile(root+"/.git/config", []byte("[remote \"origin\"]\n\turl = git@github.com:a/b.git\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	reader := &shell.Reader{Table: b.Reader.Table, Home: p.Home, Env: map[string]string{"HOME": p.Home}, Roots: []string{root}}
	for command, want := range map[string]bool{"git push origin fix": true, "git push origin fix; npm test": false} {
		for _, granted := range []bool{true, false} {
			pl := p.plan(authority{facts: reader.Read(command, root), roots: []string{root}, granted: granted})
			if got := pl.policy.Open; got != (want && granted) || got != (pl.env["SSH_AUTH_SOCK"] != "") || got != (pl.env["GIT_CONFIG_KEY_3"] == "core.hooksPath") {
				t.Errorf("%s (granted %v): %+v, %v", command, granted, pl.policy, pl.env)
			}
		}
	}
}

func TestRemoteOf(t *testing.T) {
	for text, want := range map[string]gitRemote{
		"https://github.com/a/b": {"github.com", false}, "https://u@git.example.org:8443/a": {"git.example.org", false}, "ssh://git@host:22/a": {"host", true},
		"git@github.com:a/b.git": {"github.com", true}, "host:path": {"host", true}, "../other": {}, "/srv/git/a": {}, "C:\\x": {"C", true}, "": {},
	} {
		if got := remoteOf(text); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}
