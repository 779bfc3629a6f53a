package tools

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"handrail/elicit"
	"handrail/guard"
	"handrail/guard/rules"
	"handrail/internal/testkit"
	"handrail/tools/sandbox"
)

// TestMain lets the test binary be a process of the sandboxes that it opens.
func TestMain(m *testing.M) {
	if code, handled := sandbox.Main(os.Args); handled {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// heldBench is a bench whose commands are held by the strongest sandbox that
// works here, with a home directory that has a secret.
func heldBench(t *testing.T) (b *bench, home string) {
	t.Helper()
	b = newBench(t)
	home, state, scratch := resolved(t.TempDir()), resolved(t.TempDir()), resolved(t.TempDir())
	if err := os.MkdirAll(home+"/.ssh", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{home + "/.ssh/id_rsa", home + "/notes"} {
		if err := os.WriteFile(name, []byte("secret\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b.Reader.Home, b.Reader.Env["HOME"], b.Reader.Env["TMPDIR"] = home, home, scratch
	settings := sandbox.Settings{Home: home, Scratch: scratch, State: state}
	probed := settings
	probed.Roots = []string{b.root}
	sb, err := sandbox.Open(probed)
	if err != nil {
		testkit.Missing(t, "a sandbox", "apt-get install bubblewrap")
	}
	t.Cleanup(func() { sb.Close(); b.Close() })
	if !sb.Enforcement().Contains() {
		t.Fatalf("what was opened by itself does not contain: %+v", sb.Enforcement())
	}
	b.Guard.Hold, b.Guard.Contain = guard.Held, true
	b.Deeds = sandbox.DeedsOf(state)
	b.Sandbox = func(roots []string, scratch string) (sandbox.Sandbox, error) {
		s := settings
		s.Roots, s.Scratch = roots, scratch
		return sandbox.Open(s)
	}
	return b, home
}

// hide makes a program that the guard cannot look into: what it does is in no
// facts.
func (b *bench) hide(t *testing.T, text string) string {
	t.Helper()
	b.write(t, "Makefile", "all:\n\t@bash hidden.sh\n")
	b.write(t, "hidden.sh", text)
	return "make -s"
}

func TestContainedRun(t *testing.T) {
	b, home := heldBench(t)
	outside := resolved(t.TempDir())
	host, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	b.write(t, ".env", "K=1\n")
	text := "echo made > made; cat made; echo x > $TMPDIR/f && cat $TMPDIR/f\n" +
		"echo x > " + outside + "/f\ncat " + home + "/.ssh/id_rsa\ncat " + home + "/notes\necho x >> .env\nexec 3<>/dev/tcp/" + strings.Replace(host.Addr().String(), ":", "/", 1) + " && echo connected\nexit 3"
	res := b.bash(t, b.hide(t, text), nil)
	if res.Verdict != guard.VerdictAllow || res.ExitCode == nil || *res.ExitCode == 0 || !strings.HasPrefix(res.Stdout, "made\nx\n") || !exists(b.root+"/made") {
		t.Errorf("%+v", res)
	}
	env, _ := os.ReadFile(b.root + "/.env")
	if exists(outside+"/f") || strings.Contains(res.Stdout, "secret") || strings.Contains(res.Stdout, "connected") || string(env) != "K=1\n" {
		t.Errorf("the sandbox did not hold: %s", res.Text)
	}
	if s := res.Sandbox; s == nil || s.Power != "contained" || s.Network != "none" || !slices.Contains(s.Holds, "writes") || len(s.Refused) == 0 {
		t.Errorf("sandbox %+v", s)
	}
	for _, want := range []string{"network: none", "the sandbox refused", outside + "/f", home + "/notes", "escalate"} {
		if !strings.Contains(res.Text, want) {
			t.Errorf("the result lacks %q:\n%s", want, res.Text)
		}
	}
	// The same with nothing to hold it: the attacks are real.
	b.EndSession("s")
	b.Guard.Hold = guard.Trusted
	b.Sandbox = func(roots []string, _ string) (sandbox.Sandbox, error) {
		return sandbox.Open(sandbox.Settings{Tier: sandbox.None, Roots: roots})
	}
	res = b.bash(t, "make -s", nil)
	if !exists(outside+"/f") || strings.Count(res.Stdout, "secret") != 2 || !strings.Contains(res.Stdout, "connected") || res.Sandbox.Power != "none" || res.Sandbox.Holds != nil {
		t.Errorf("without a sandbox: %s", res.Text)
	}
}

// TestNamedAndApproved: what the facts name can be done, once a person said yes.
func TestNamedAndApproved(t *testing.T) {
	b, home := heldBench(t)
	outside := resolved(t.TempDir())
	for _, f := range []string{"old", "tree/f", "keep"} {
		if err := os.MkdirAll(filepath.Dir(outside+"/"+f), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(outside+"/"+f, []byte("x\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("git", "init", "-q", "--bare", outside+"/there.git").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	yes := says(elicit.Approved, elicit.AllowOnce)
	for _, text := range []string{
		"rm " + outside + "/old && rm -r " + outside + "/tree", "echo x > " + outside + "/new; cat " + outside + "/new", "sed -i s/x/y/ " + outside + "/keep && grep y " + outside + "/keep",
		// a remote that is a directory: nothing in the call names it
		"git init -q -b x && git config user.name me && git config user.email me@x && git commit -q --allow-empty -m x", "git remote add there " + outside + "/there.git",
		"git push -q there x", "git ls-remote there | grep refs/heads/x", "git fetch there",
		"cat " + home + "/notes", "cat " + home + "/.ssh/id_rsa; rm -f nothing", "mkdir -p .vscode && echo {} > .vscode/tasks.json && cat .vscode/tasks.json",
	} {
		if res := b.bash(t, text, yes); res.ExitCode == nil || *res.ExitCode != 0 || res.Sandbox.Power != "contained" {
			t.Errorf("%s:\n%s", text, res.Text)
		}
	}
	if exists(outside+"/old") || exists(outside+"/tree") || !exists(outside+"/new") || !exists(b.root+"/.vscode/tasks.json") {
		t.Error("it was not done outside the sandbox's own files")
	}
}

// TestRunsWhereItLies: a program that the call names outside the workspace runs
// from there; one in the home directory does not, and the result says what to do.
func TestRunsWhereItLies(t *testing.T) {
	b, home := heldBench(t)
	dir := resolved(t.TempDir())
	for _, path := range []string{dir + "/tool", home + "/tool"} {
		if err := os.WriteFile(path, []byte("#!/bin/sh\necho tool $1\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if res := b.bash(t, dir+"/tool hi", nil); res.Stdout != "tool hi\n" {
		t.Errorf("named: %s", res.Text)
	}
	res := b.bash(t, home+"/tool hi", nil)
	if res.ExitCode == nil || *res.ExitCode == 0 || strings.Contains(res.Text, "Name the path") || !strings.Contains(res.Text, "copy it into the workspace") {
		t.Errorf("in the home directory: %s", res.Text)
	}
}

// TestWorktreeBeside: an approved work tree beside the workspace is made there and
// works afterwards, contained and with escalate, also where the directory around it
// is more than one purpose has; one that is not made leaves nothing.
func TestWorktreeBeside(t *testing.T) {
	testkit.Require(t, "git", "apt-get install git")
	b, home := heldBench(t)
	b.root = filepath.Join(home, "project")
	b.Profile.Home = home
	if err := os.Mkdir(b.root, 0o755); err != nil {
		t.Fatal(err)
	}
	b.write(t, "f", "x\n")
	git(t, b.root, "init", "-q", "-b", "main")
	git(t, b.root, "add", "-A")
	git(t, b.root, "commit", "-qm", "one")
	b.Guard.Rules, b.Guard.Default = rules.Standard(rules.Policy{Home: home})
	yes := says(elicit.Approved, elicit.AllowOnce)
	for name, args := range map[string]map[string]any{
		"wt": {"command": "git worktree add ../wt"}, "wt2": {"command": "git worktree add ../wt2", "escalate": "it lies beside the workspace"},
	} {
		res := b.call(t, Bash, args, yes)
		if res.ExitCode == nil || *res.ExitCode != 0 || len(res.Sandbox.Restored) > 0 {
			t.Fatalf("%v: %s", args, res.Text)
		}
		if got := git(t, home+"/"+name, "status", "--porcelain", "--branch"); got != "## "+name+"\n" {
			t.Errorf("status in %s: %q", name, got)
		}
		if list := git(t, b.root, "worktree", "list"); !strings.Contains(list, home+"/"+name) || strings.Contains(list, "prunable") {
			t.Errorf("%s is not listed: %s", name, list)
		}
	}
	if res := b.bash(t, "git worktree add ../wt3 nosuchbranch", yes); res.ExitCode == nil || *res.ExitCode == 0 || exists(home+"/wt3") {
		t.Errorf("not made: %s", res.Text)
	}
}

// TestEscalate: more power asks every time, for one run, and is shown.
func TestEscalate(t *testing.T) {
	b, _ := heldBench(t)
	b.Guard.Rules = append(b.Guard.Rules, guard.Rule{ID: "priv/uncontained", Evaluate: func(p *guard.Pass) {
		for i, e := range p.Facts.Effects {
			if e.Kind == guard.Privilege {
				p.Report(i, guard.VerdictAsk, "more power", "")
			}
		}
	}})
	out := resolved(t.TempDir()) + "/f"
	command := b.hide(t, "echo x > "+out)
	args := map[string]any{"command": command, "escalate": "the build writes there"}
	asked := 0
	person := func(c elicit.Choice) person {
		return func(_ context.Context, q elicit.Question) (elicit.Answer, error) {
			asked++
			if !strings.Contains(q.Effects[0], "without the limits of the sandbox") || !strings.Contains(q.Effects[0], "the build writes there") {
				t.Errorf("effects %q", q.Effects)
			}
			if q.Allows(elicit.AllowSession) || q.Allows(elicit.AllowAlways) {
				t.Errorf("more power is offered for longer than one run: %q", q.Choices())
			}
			return elicit.Answer{Outcome: elicit.Approved, Choice: c}, nil
		}
	}
	if res := b.bash(t, command, nil); res.ExitCode == nil || *res.ExitCode == 0 || exists(out) {
		t.Errorf("contained: %s", res.Text)
	}
	if res := b.call(t, Bash, args, nil); res.Verdict != guard.VerdictAsk || exists(out) {
		t.Errorf("with nobody to ask: %s", res.Text)
	}
	if res := b.call(t, Bash, args, person(elicit.AllowSession)); res.Approval != elicit.Declined || exists(out) {
		t.Errorf("for the session: %s", res.Text)
	}
	asked = 0
	for want := 1; want <= 2; want++ {
		res := b.call(t, Bash, args, person(elicit.AllowOnce))
		if res.ExitCode == nil || *res.ExitCode != 0 || !exists(out) || res.Sandbox.Power != "open" || asked != want {
			t.Errorf("approved, asked %d times: %s", asked, res.Text)
		}
	}
	if err := os.Remove(out); err != nil {
		t.Fatal(err)
	}
	if res := b.bash(t, command, nil); *res.ExitCode == 0 || exists(out) {
		t.Errorf("the call without escalate has the power of the other: %s", res.Text)
	}
	b.Guard.Rules = b.Guard.Rules[:len(b.Guard.Rules)-1] // a policy that would allow it
	if res := b.call(t, Bash, args, nil); res.ExitCode != nil || exists(out) || !strings.Contains(res.Text, "person's approval") {
		t.Errorf("without a yes: %s", res.Text)
	}
}

// TestDomains: the proxy is the way out, to the hosts that the facts name.
func TestDomains(t *testing.T) {
	testkit.Require(t, "curl", "apt-get install curl")
	b, _ := heldBench(t)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("hello")) })}
	go srv.Serve(l)
	defer srv.Close()
	res := b.bash(t, "curl -sS -m 10 http://named.example/; curl -sS -m 10 http://"+l.Addr().String()+"/", nil)
	if res.Sandbox == nil || res.Sandbox.Network != "domains" || strings.Contains(res.Stdout, "hello") {
		t.Errorf("%+v: %s", res.Sandbox, res.Text)
	}
	res = b.bash(t, b.hide(t, "curl -sS -m 10 http://other.example/ >&2; exit 1")+"; rm -f nothing; curl -sS -m 10 http://named.example/", says(elicit.Approved, elicit.AllowOnce))
	if !slices.Contains(res.Sandbox.Refused, "other.example") || !strings.Contains(res.Text, "other.example") {
		t.Errorf("%+v: %s", res.Sandbox, res.Text)
	}
}

// TestNothingRunsWithLess: what may run because the kernel holds it does not run
// where a session's sandbox does not.
func TestNothingRunsWithLess(t *testing.T) {
	b := newBench(t)
	b.Guard.Hold, b.Guard.Contain = guard.Held, true
	b.Guard.Default = []guard.Rule{{ID: "test/rest", Evaluate: func(p *guard.Pass) {
		for i := range p.Facts.Effects {
			p.Report(i, guard.VerdictLLM, "unlisted", "")
		}
	}}}
	if res := b.bash(t, "frobnicate; touch made", nil); res.Verdict == guard.VerdictAllow && res.ExitCode != nil || exists(b.root+"/made") {
		t.Errorf("%+v", res)
	}
}
