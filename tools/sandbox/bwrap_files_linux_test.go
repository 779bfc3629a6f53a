package sandbox

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"handrail/internal/testkit"
)

// plant makes a file of the test's machine.
func plant(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// git runs git outside of the sandbox, as the user does.
func (p *place) git(t testing.TB, args ...string) string {
	t.Helper()
	cmd := exec.Command(testkit.Require(t, "git", "apt-get install git"), args...)
	cmd.Dir, cmd.Env = p.root, append(os.Environ(), "HOME="+p.Home, "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func (p *place) repository(t testing.TB) {
	t.Helper()
	plant(t, filepath.Join(p.Home, ".gitconfig"), "[user]\nname = U\nemail = u@example.org\n[init]\ndefaultBranch = main\n")
	p.git(t, "init", "-q")
	plant(t, filepath.Join(p.root, "a"), "one\n")
	p.git(t, "add", ".")
	p.git(t, "commit", "-qm", "one")
}

// TestBwrapProtects: each attack succeeds on the host's own files outside of the
// sandbox (that is what git and editors do), and changes nothing inside.
func TestBwrapProtects(t *testing.T) {
	both(t, func(t *testing.T) {
		p := settle(t, Bwrap)
		p.repository(t)
		plant(t, filepath.Join(p.root, ".vscode/tasks.json"), "{}")
		plant(t, filepath.Join(p.root, ".Claude/settings.json"), "{}")
		if err := os.MkdirAll(filepath.Join(p.root, ".git/hooks"), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, script := range []string{
			`echo x > .git/hooks/pre-commit`,
			`echo x >> .git/config`,
			`git config core.fsmonitor ./evil`,
			`mv .git .git2`,
			`mv .git/hooks .git/h2`,
			`rm -rf .git/hooks && mkdir .git/hooks && echo x > .git/hooks/pre-commit`,
			`ln -s /tmp/x .git/hooks/post-commit`,
			`ln -sf ../x .git/hooks`,
			`echo x > .vscode/tasks.json`,
			`echo x > .vscode/new.json`,
			`mv .vscode v && mkdir .vscode && echo x > .vscode/tasks.json`,
			`echo x > .Claude/settings.json`,
			`mkdir .claude && echo x > .claude/settings.json`,
			`mkdir .CURSOR && echo x > .CURSOR/mcp.json`,
			`echo x > .mcp.json`,
			`ln -s .git g; echo x >> g/config`,
			`mkdir -p sub/.vscode && echo x > sub/.vscode/tasks.json`,
			`chmod 777 .git/config`,
			`git init -q sub2 && echo x > sub2/.git/hooks/pre-commit && git -C sub2 config core.fsmonitor evil`,
		} {
			before := p.snapshot(t)
			r := p.run(t, p.base(), script)
			if after := p.snapshot(t); !slices.Equal(before, after) {
				t.Errorf("%s: %+v\nbefore %v\nafter  %v", script, r, before, after)
			}
			// The same outside does something: the control.
			if out, err := exec.Command("bash", "-c", "cd "+p.root+" && cp -a . "+p.outside+"/c && cd "+p.outside+"/c && "+script).CombinedOutput(); err != nil && !strings.Contains(string(out), "File exists") {
				t.Errorf("control %s: %v %s", script, err, out)
			}
			if err := os.RemoveAll(p.outside + "/c"); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// snapshot is what git and editors obey in the workspace: path, mode, content.
func (p *place) snapshot(t testing.TB) []string {
	t.Helper()
	out, err := exec.Command("bash", "-c", "cd "+p.root+` && find . \( -ipath './.vscode*' -o -ipath './.claude*' -o -ipath './.cursor*' -o -ipath '*/.git/hooks/*' -not -name '*.sample' -o -ipath '*/.git/config*' -o -name .mcp.json -o -ipath '*/.vscode/*' -o -path ./.git \) \( -type f -printf '%p %m %s\n' -o -printf '%p %m %y\n' \) | sort`).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(out), "\n")
}

// TestBwrapGit: git works.
func TestBwrapGit(t *testing.T) {
	both(t, func(t *testing.T) {
		p := settle(t, Bwrap)
		p.repository(t)
		pol := p.base()
		for _, script := range []string{
			`echo two >> a && git commit -qam two && git status --porcelain`,
			`echo s >> a && git stash -q && git stash pop -q && git checkout -q a`,
			`git checkout -qb side && echo b > b && git add b && git commit -qm b && git rebase -q main && git checkout -q main && git merge -q side`,
			`git worktree add -q tree -b t && cd tree && echo c > c && git add c && git commit -qm c && cd .. && git worktree remove tree`,
			`git tag v1 && git gc -q && git fsck`,
		} {
			if r := p.run(t, pol, script); r.Code != 0 || len(r.Restored) > 0 || strings.Contains(r.out, "??") {
				t.Errorf("%s: %+v", script, r)
			}
		}
		p.git(t, "clone", "-q", "--bare", ".", p.root+"/../bare.git")
		pol.GitConfig = true
		pol.Read = []string{filepath.Join(p.Home, "bare.git")}
		for _, script := range []string{
			`git remote add origin ` + p.Home + `/bare.git && git fetch -q`,
			`git checkout -q --track origin/side 2>&1 || git checkout -q -b side2 --track origin/side`,
			`git branch -q -u origin/main main`,
		} {
			if r := p.run(t, pol, script); r.Code != 0 || len(r.Restored) > 0 {
				t.Errorf("%s: %+v", script, r)
			}
		}
		if out := p.git(t, "config", "branch.main.remote"); out != "origin\n" {
			t.Errorf("the upstream is %q", out)
		}
		if r := p.run(t, pol, `git config core.fsmonitor ./evil`); len(r.Restored) != 1 {
			t.Errorf("a setting that runs a program: %+v", r)
		}
		if out, err := exec.Command("git", "-C", p.root, "config", "core.fsmonitor").Output(); err == nil {
			t.Errorf("core.fsmonitor is %q", out)
		}
	})
}

// TestBwrapWorktree: a root that is a linked work tree commits into the
// repository that it belongs to; one that only says so does not.
func TestBwrapWorktree(t *testing.T) {
	both(t, func(t *testing.T) {
		p := settle(t, Bwrap)
		p.repository(t)
		linked := filepath.Join(p.Home, "linked")
		p.git(t, "worktree", "add", "-q", linked)
		pol := &Policy{Roots: []string{linked}, Home: p.Home}
		c := `cd ` + linked + ` && echo x > x && git add x && git commit -qm x && ! echo y >> ` + p.root + `/.git/config && ! touch ` + p.root + `/.git/hooks/post-commit && ! cat ` + p.root + `/a`
		p.root = linked
		if r := p.run(t, pol, c); r.Code != 0 {
			t.Errorf("%+v", r)
		}
		p.root = p.Roots[0]
		fake := filepath.Join(p.Home, "fake")
		plant(t, filepath.Join(fake, ".git"), "gitdir: "+p.root+"/.git\n")
		pol.Roots = []string{fake}
		p.root = fake
		if r := p.run(t, pol, `touch `+p.Roots[0]+`/.git/made`); r.Code == 0 {
			t.Errorf("%+v", r)
		}
		if _, err := os.Stat(filepath.Join(p.Roots[0], ".git/made")); err == nil {
			t.Error("written into another repository")
		}
	})
}

// TestBwrapSecrets: hidden ones are not read, secrets of the workspace not
// written; a credential in a toolchain is neither.
func TestBwrapSecrets(t *testing.T) {
	both(t, func(t *testing.T) {
		p := settle(t, Bwrap)
		plant(t, filepath.Join(p.root, ".env"), "KEY=1\n")
		plant(t, filepath.Join(p.root, "deep/key.pem"), "hidden text\n")
		plant(t, filepath.Join(p.Home, ".cargo/credentials.toml"), "hidden text\n")
		plant(t, filepath.Join(p.Home, ".cargo/bin/tool"), "tool\n")
		plant(t, filepath.Join(p.outside, "named"), "named\n")
		pol := p.base()
		pol.Secrets, pol.Hidden = []string{p.root + "/.env"}, []string{p.root + "/deep/key.pem"}
		for _, read := range [][]string{nil, {p.Home}} {
			pol.Read = read
			r := p.run(t, pol, `cat .env ~/.cargo/bin/tool; cat deep/key.pem ~/.cargo/credentials.toml; echo x > .env; rm -f .env; mv .env e; mv deep d; mkdir -p deep; rm -f deep/key.pem`)
			if strings.Contains(r.out, "hidden text") || !strings.Contains(r.out, "KEY=1\ntool\n") {
				t.Errorf("%v: %s", read, r.out)
			}
			if b, _ := os.ReadFile(p.root + "/.env"); string(b) != "KEY=1\n" {
				t.Errorf(".env is %q", b)
			}
			if b, _ := os.ReadFile(p.root + "/deep/key.pem"); string(b) != "hidden text\n" {
				t.Errorf("key.pem is %q", b)
			}
		}
		pol.Read = nil
		pol.Open, pol.Hidden = true, append(pol.Hidden, p.outside+"/named")
		if r := p.run(t, pol, `cat deep/key.pem `+p.outside+`/named; cat ~/.cargo/credentials.toml; ls `+p.State+`; : > $OUT/by-open`); strings.Contains(r.out, "named\n") || !strings.Contains(r.out, "hidden text") {
			t.Errorf("open: %s", r.out)
		}
		if _, err := os.Stat(p.outside + "/by-open"); err != nil {
			t.Error(err)
		}
	})
}

// TestBwrapWrite: what a policy names is written and read, and nothing else.
func TestBwrapWrite(t *testing.T) {
	both(t, func(t *testing.T) {
		p := settle(t, Bwrap)
		plant(t, filepath.Join(p.outside, "in/file"), "text\n")
		pol := p.base()
		pol.Read, pol.Write = []string{p.outside + "/in"}, []string{p.outside + "/in/file"}
		r := p.run(t, pol, `cat $OUT/in/file; echo more >> $OUT/in/file; echo x > $OUT/in/new; echo x > $OUT/new; true`)
		if b, _ := os.ReadFile(p.outside + "/in/file"); string(b) != "text\nmore\n" {
			t.Errorf("%q %s", b, r.out)
		}
		for _, f := range []string{"in/new", "new"} {
			if _, err := os.Stat(p.outside + "/" + f); err == nil {
				t.Errorf("%s was made", f)
			}
		}
	})
}

// TestBwrapCaches: a session reads the host's cache and keeps its own changes,
// for its other sandboxes too; the host's stays as it was.
func TestBwrapCaches(t *testing.T) {
	both(t, func(t *testing.T) {
		p := settle(t, Bwrap)
		cache, absent := filepath.Join(p.Home, ".cache/go-build"), filepath.Join(p.Home, ".cache/none")
		plant(t, cache+"/host", "host\n")
		pol := p.base()
		pol.Caches = []string{cache, absent}
		dead := filepath.Join(p.State, "caches-4194303999-x/0") // no process has this number
		if err := errors.Join(os.MkdirAll(dead, 0o700), os.Chmod(filepath.Dir(dead), 0o500)); err != nil {
			t.Fatal(err)
		}
		if c, err := newCaches(p.State, nil); err != nil {
			t.Error(err)
		} else if err := c.close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(dead); err == nil {
			t.Error("a killed server's caches are left")
		}
		r := p.run(t, pol, `mkdir -p ~/.cache/go-build/ro/in && chmod 500 ~/.cache/go-build/ro && cat ~/.cache/go-build/host && echo poison > ~/.cache/go-build/host && echo x > ~/.cache/go-build/new && echo y > ~/.cache/none/new`)
		if r.Code != 0 {
			t.Errorf("%+v", r)
		}
		pol.Network = Full
		if r := p.run(t, pol, `cat ~/.cache/go-build/{host,new} ~/.cache/none/new`); r.out != "poison\nx\ny\n" {
			t.Errorf("%+v", r)
		}
		if b, _ := os.ReadFile(cache + "/host"); string(b) != "host\n" {
			t.Errorf("the host's cache has %q", b)
		}
		if left, _ := os.ReadDir(cache); len(left) != 1 {
			t.Errorf("the host's cache has %v", left)
		}
		state := p.State
		if err := p.sb.Close(); err != nil {
			t.Error(err)
		}
		if left, _ := filepath.Glob(state + "/caches-*"); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
		p.sb, _ = openNone(Settings{})
	})
}

// TestBwrapDomains: the proxy is the only way out, and loopback is the command's own.
func TestBwrapDomains(t *testing.T) {
	both(t, func(t *testing.T) {
		p := settle(t, Bwrap)
		host, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer host.Close()
		go func() {
			_ = http.Serve(host, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "direct") }))
		}()
		testkit.Require(t, "curl", "apt-get install curl")
		served := make(chan error, 1)
		pol := p.base()
		pol.Network = Domains
		pol.Proxy = func(l net.Listener) {
			go func() {
				served <- http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "proxied "+r.URL.Host) }))
			}()
		}
		r := p.run(t, pol, `curl -s -m 5 http://allowed.example/; echo; curl -s -m 5 --noproxy '*' http://`+host.Addr().String()+`/ || echo refused`)
		if r.out != "proxied allowed.example\nrefused\n" {
			t.Errorf("%+v", r)
		}
		<-served // the listener is closed when the command has ended
		pol.Proxy = nil
		if _, err := p.sb.Start(t.Context(), pol, p.command("true", nil)); err == nil {
			t.Error("domains without a proxy")
		}
		pol.Network = Full
		if r := p.run(t, pol, `curl -s -m 5 http://`+host.Addr().String()+`/`); r.out != "direct" {
			t.Errorf("full: %+v", r)
		}
		server := `python3 -c 'import http.server as h; h.HTTPServer(("127.0.0.1", 8123), h.SimpleHTTPRequestHandler).serve_forever()' >/dev/null 2>&1 & `
		testkit.Require(t, "python3", "apt-get install python3")
		if r := p.run(t, p.base(), server+`for i in $(seq 50); do curl -s -o /dev/null http://127.0.0.1:8123/ && echo own && break; sleep 0.1; done`); r.out != "own\n" {
			t.Errorf("a server of its own: %+v", r)
		}
	})
}
