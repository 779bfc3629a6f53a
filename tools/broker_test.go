package tools

import (
	"os"
	"strings"
	"testing"

	"handrail/elicit"
	"handrail/guard"
	"handrail/guard/rules"
)

// TestLent: what is the user's own is asked about once, with a question that
// names it, and is there in that run alone; never beside code that was not read,
// and not where nothing holds commands.
func TestLent(t *testing.T) {
	b := newBench(t)
	b.Guard.Hold = guard.Held
	b.Guard.Rules, b.Guard.Default = rules.Standard(rules.Policy{Hosts: rules.KnownHosts()})
	b.write(t, ".git/config", "[remote \"origin\"]\n\turl = git@github.com:a/b.git\n")
	b.write(t, "https/.git/config", "[remote \"origin\"]\n\turl = https://github.com/a/b\n")
	p := Profile{Home: "/home/u"}
	t.Setenv("SSH_AUTH_SOCK", "/run/agent.sock")
	for _, tt := range []struct{ command, lent string }{
		{"git fetch", "ssh to github.com"}, {"git pull --rebase", "ssh to github.com"}, {"git fetch origin && git log -1", "ssh to github.com"},
		{"git clone git@github.com:a/c.git", "ssh to github.com"}, {"git clone ssh://git@git.example.org:2222/a/c", "ssh to git.example.org"},
		{"git fetch; npm test", ""}, {"git fetch; ./x", ""}, {"git status", ""}, {"git clone https://github.com/a/c", ""}, {"cd https && git fetch", "ssh to github.com"},
		{"gh pr list", "~/.config/gh"}, {"gh pr list; make", ""}, {"docker ps", "the engine of docker"}, {"docker --version", ""}, {"docker run x", ""}, {"docker ps; make", ""},
	} {
		j := &job{box: b.Toolbox, id: newID(), call: Call{Tool: Bash, Roots: []string{b.root}, Session: "s"}}
		if err := j.surround(); err != nil {
			t.Fatal(err)
		}
		facts, err := (&BashArgs{Command: tt.command}).facts(j)
		if err != nil {
			t.Fatal(err)
		}
		lent := ""
		for _, e := range facts.Effects {
			if broker(e) {
				lent = e.Target
			}
		}
		if lent != tt.lent {
			t.Errorf("%s: lent %q, want %q", tt.command, lent, tt.lent)
		}
		if d := b.Guard.Judge(j.context(facts)); (tt.lent != "") != (d.Verdict == guard.VerdictAsk && strings.Contains(d.Reason, tt.lent)) && tt.lent != "" {
			t.Errorf("%s: %s %s", tt.command, d.Verdict, d.Reason)
		}
		for _, granted := range []bool{true, false} {
			pl := p.plan(authority{facts: facts, roots: []string{b.root}, granted: granted})
			got := pl.policy.Open || pl.outside || strings.Contains(strings.Join(pl.policy.Read, " "), ".config/gh")
			if want := granted && (tt.lent != "" || tt.command == "docker run x"); got != want {
				t.Errorf("%s, granted %v: %+v, outside %v", tt.command, granted, pl.policy, pl.outside)
			}
		}
	}
	b.Guard.Hold = guard.Unheld
	if res := b.bash(t, "git -c protocol.allow=never fetch", nil); strings.Contains(res.Text, "priv/brokered") {
		t.Errorf("where nothing holds commands: %s", res.Text)
	}
}

// TestLentForSession: one yes for the session answers for the same call again.
func TestLentForSession(t *testing.T) {
	b, home := heldBench(t)
	b.Guard.Rules, b.Guard.Default = rules.Standard(rules.Policy{Home: home, Hosts: rules.KnownHosts()})
	b.write(t, ".git/config", "[core]\n\trepositoryformatversion = 0\n[remote \"origin\"]\n\turl = ssh://git@127.0.0.1:1/a/b.git\n")
	b.write(t, ".git/HEAD", "ref: refs/heads/main\n")
	for _, dir := range []string{"objects", "refs"} {
		if err := os.MkdirAll(b.root+"/.git/"+dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []elicit.Channel{says(elicit.Approved, elicit.AllowSession), nil} {
		res := b.bash(t, "git fetch", p)
		if res.Verdict != guard.VerdictAllow || res.Sandbox == nil || res.Sandbox.Power != "open" || !strings.Contains(res.Text, "hooks were off") {
			t.Errorf("%s", res.Text)
		}
	}
	if res := b.bash(t, "git fetch --all", nil); res.Verdict != guard.VerdictAsk || !strings.Contains(res.Text, "ssh to 127.0.0.1") {
		t.Errorf("another call: %s", res.Text)
	}
}
