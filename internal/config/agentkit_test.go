package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"handrail/guard"
	"handrail/tools"
)

// Every documented field of agentkit's policy has its place and does what it
// says. (Policy.HomeDir and ConfigDir are Config.Home and Dir; MCP policies are
// about other servers' tools, which this one does not have; RateLimit is tested
// with the real server, Sandbox is `sandbox: {tier}`.)
func TestAgentkitPolicy(t *testing.T) {
	home := userOf(t)
	noLLM(t)
	root := filepath.Join(home, "p")
	for _, f := range []string{"src/a.go", "src/gen/x.sql", "doc/b.md", "policy.toml"} {
		write(t, filepath.Join(root, f), "")
	}
	os.Symlink("policy.toml", filepath.Join(root, "link"))
	allow, ask, deny := guard.VerdictAllow, guard.VerdictAsk, guard.VerdictDeny
	for _, row := range []struct {
		field, set, tool, call string
		want                   guard.Verdict
		rule                   string
	}{
		{"DefaultDeny", "default_deny: true", tools.Bash, "ls", deny, "policy/tool"},
		{"DefaultDeny", "default_deny: true\ntools: {safe_bash: {enabled: true}}", tools.Bash, "ls", deny, "policy/command"},
		{"DefaultDeny", "default_deny: true\ntools: {safe_bash: {enabled: true, allow_commands: [ls]}}", tools.Bash, "ls src", allow, ""},
		{"DefaultDeny", "default_deny: true\ntools: {safe_bash: {enabled: true, allow_commands: [curl]}}", tools.Bash, "curl https://github.com", deny, "policy/domain"},
		{"DefaultDeny", "default_deny: true\ntools: {safe_read: {enabled: true}}", tools.Read, "src/a.go", deny, "policy/path"},
		{"DefaultDeny", "default_deny: true\ntools: {safe_read: {enabled: true, allow: ['src/**']}}", tools.Read, "src/a.go", allow, ""},
		{"Enabled", "tools: {safe_write: {enabled: false}}", tools.Write, "src/n", deny, "policy/tool"},
		{"Enabled", "tools: {safe_write: {enabled: false}}", tools.Edit, "src/a.go", allow, ""},
		{"Allow", "tools: {safe_read: {allow: ['src/**']}}", tools.Read, "doc/b.md", deny, "policy/path"},
		{"Allow", "tools: {safe_read: {allow: ['*.md']}}", tools.Read, "doc/b.md", allow, ""},
		{"Allow", "tools: {safe_bash: {allow: ['src/**']}}", tools.Bash, "rm -r doc", deny, "policy/path"},
		{"Allow", "tools: {safe_bash: {allow: ['src/**']}}", tools.Bash, "cat src/*.go", allow, ""},
		{"Allow", "tools: {safe_bash: {allow: ['**']}}", tools.Bash, "go mod download", allow, ""},
		{"Allow", "tools: {safe_bash: {allow: ['*']}}", tools.Bash, "cat src/*.go", allow, ""},
		{"Allow", "tools: {safe_bash: {allow: ['./**']}}", tools.Bash, "go mod tidy && git init && grep -r x .", allow, ""},
		{"Allow", "tools: {safe_bash: {allow: ['./**']}}", tools.Bash, "grep -r x ..", deny, "policy/path"},
		{"Allow", "tools: {safe_bash: {allow: ['src/**']}}", tools.Bash, "grep -r x .", deny, "policy/path"},
		{"Allow", "tools: {safe_bash: {allow: ['src/*']}}", tools.Bash, "grep -r x src", deny, "policy/path"},
		{"Allow", "tools: {safe_bash: {allow: ['*.md']}}", tools.Bash, "cat doc/*", deny, "policy/path"},
		{"Deny", "tools: {safe_bash: {deny: ['./**']}}", tools.Bash, "rm -rf .", deny, "policy/path"},
		{"Deny", "tools: {safe_read: {deny: ['*.sql']}}", tools.Read, "src/gen/x.sql", deny, "policy/path"},
		{"Deny", "tools: {safe_bash: {deny: ['*.SQL']}}", tools.Bash, "cat src/gen/x.sql", deny, "policy/path"},
		{"Deny", "tools: {safe_bash: {deny: ['*.sql']}}", tools.Bash, "grep -r x src", ask, "policy/path"},
		{"Deny", "tools: {safe_bash: {deny: [src/gen]}}", tools.Bash, "echo > src/gen/y", deny, "policy/path"},
		{"Deny", "tools: {safe_bash: {deny: ['*.sql']}}", tools.Bash, "ls src/gen", allow, ""},
		{"AllowedDirs", "tools: {safe_bash: {allowed_dirs: [src]}}", tools.Bash, "touch doc/n", deny, "policy/dir"},
		{"AllowedDirs", "tools: {safe_bash: {allowed_dirs: [src]}}", tools.Bash, "touch src/n 2>/dev/null", allow, ""},
		{"AllowedDirs", "tools: {safe_bash: {allowed_dirs: [src]}}", tools.Bash, "touch src/../doc/n", deny, "policy/dir"},
		{"Allowlist", "tools: {safe_bash: {allow_commands: [git status, ls]}}", tools.Bash, "cd src && git status && ls", allow, ""},
		{"Allowlist", "tools: {safe_bash: {allow_commands: [git status, ls]}}", tools.Bash, "git -C . status", deny, "policy/command"},
		{"Allowlist", "tools: {safe_bash: {allow_commands: [ls]}}", tools.Bash, "env ls", deny, "policy/command"},
		{"Allowlist", "tools: {safe_bash: {allow_commands: [ls]}}", tools.Bash, "ls; $X", deny, "policy/command"},
		{"Allowlist", "tools: {safe_bash: {allow_commands: [ls, eval]}}", tools.Bash, "eval \"$X\"", deny, "policy/command"},
		{"Allowlist", "tools: {safe_bash: {allow_commands: [ls]}}", tools.Bash, "ls $(whoami)", deny, "policy/command"},
		{"Denylist", "tools: {safe_bash: {deny_commands: [docker]}}", tools.Bash, "true && env FOO=1 'do'cker ps", deny, "policy/command"},
		{"Denylist", "tools: {safe_bash: {deny_commands: [git push]}}", tools.Bash, "git -c a=b push", deny, "policy/command"},
		{"Denylist", "tools: {safe_bash: {deny_commands: [xargs]}}", tools.Bash, "ls | xargs cat", deny, "policy/command"},
		{"Denylist", "tools: {safe_bash: {deny_commands: [git push]}}", tools.Bash, "git status", allow, ""},
		{"MergeUserDenylist", "tools: {safe_bash: {deny_commands: [docker]}}", tools.Bash, "rm -rf /", deny, "fs/system-tree"},
		{"AllowDomains", "tools: {safe_bash: {allow_domains: ['*.example.org']}}", tools.Bash, "curl https://github.com", deny, "policy/domain"},
		{"AllowDomains", "tools: {safe_bash: {allow_domains: [a.example.org]}}\nhosts: [a.example.org]", tools.Bash, "curl https://a.example.org", allow, ""},
		{"AllowDomains", "tools: {safe_bash: {allow_domains: []}}", tools.Bash, "curl http://localhost:8080", allow, ""},
		{"ProtectedFiles", "protected_files: [policy.toml]", tools.Write, "policy.toml", deny, "policy/protected"},
		{"ProtectedFiles", "protected_files: [policy.toml]", tools.Bash, "echo x > link", deny, "policy/protected"},
		{"ProtectedFiles", "protected_files: [policy.toml]", tools.Bash, "sed -i s/a/b/ POLICY.toml", deny, "policy/protected"},
		{"ProtectedFiles", "protected_files: [policy.toml]", tools.Bash, "cat policy.toml", allow, ""},
		{"ExtraPatterns", "security: {patterns: ['exfil_attempt:send.*to.*external']}", tools.Bash, "echo send it to external", ask, "policy/pattern"},
		{"ExtraPatterns", "security: {patterns: ['run:^frob --now$']}", tools.Bash, "fr''ob --now", ask, "policy/pattern"},
		{"ExtraPatterns", "security: {patterns: ['x:content']}", tools.Write, "src/n", ask, "policy/pattern"},
		{"ExtraKeywords", "security: {keywords: [Top-Secret]}", tools.Bash, "echo top-sec''ret", ask, "policy/keyword"},
		{"ExtraKeywords", "security: {keywords: [top-secret]}", tools.Bash, "echo fine", allow, ""},
		{"levels", "levels: {default/write: deny}", tools.Write, "src/n", deny, "default/write"},
		{"levels", "levels: {net/unknown-host: allow}", tools.Bash, "curl https://other.example", allow, ""},
		{"levels", "levels: {fs/system-tree: deny}", tools.Bash, "rm -rf /", deny, "fs/system-tree"},
		{"levels", "levels: {default/delete-file: ask}", tools.Bash, "rm src/a.go", ask, "default/delete-file"},
	} {
		c, err := Load(write(t, filepath.Join(home, "c.yaml"), row.set+"\n"), []string{root})
		if err != nil {
			t.Errorf("%s: %v", row.field, err)
			continue
		}
		j, err := c.Judge(tools.Environment([]string{root}, ""))
		if err != nil {
			t.Fatal(err)
		}
		input := quoted(map[string]string{"command": row.call})
		switch row.tool {
		case tools.Read:
			input = quoted(map[string]string{"path": row.call})
		case tools.Write:
			input = quoted(map[string]string{"path": row.call, "content": "the content"})
		case tools.Edit:
			input = quoted(map[string]string{"path": row.call, "old_string": "a", "new_string": "b"})
		}
		ec, err := tools.Look(j.Reader, tools.Call{Tool: row.tool, Input: []byte(input), Roots: []string{root}})
		if err != nil {
			t.Errorf("%s: %v", row.call, err)
			continue
		}
		d := j.Guard.Judge(ec)
		spoke := row.rule == ""
		for _, f := range d.Findings {
			spoke = spoke || f.Rule == row.rule && f.Verdict == row.want
		}
		if d.Verdict != row.want || !spoke {
			t.Errorf("%s: %s\n%s %s: %s by %s (%s), want %s by %s", row.field, strings.ReplaceAll(row.set, "\n", "; "), row.tool, row.call, d.Verdict, d.Rule, d.Reason, row.want, row.rule)
		}
	}
}

// The managed file stands over the user's: what it sets is not loosened, and
// what it leaves open is the user's. One that is broken stops the start.
func TestManaged(t *testing.T) {
	home := userOf(t)
	noLLM(t)
	root := filepath.Join(home, "p")
	os.Mkdir(root, 0o700)
	managed := write(t, filepath.Join(home, "etc", "config.yaml"), "profile: standard\nhosts: [corp.example]\nlevels: {net/send: deny}\nllm: {use: off}\ntools: {safe_bash: {deny_commands: [docker]}}\n")
	user := write(t, filepath.Join(home, ".config/handrail/config.yaml"), "profile: yolo\nhosts: [evil.example, corp.example]\nlevels: {net/send: allow, default/push: ask}\nllm: {use: on, model: mine}\nfallback: ask\ntools: {safe_bash: {deny_commands: [git push]}}\n")
	t.Setenv("HANDRAIL_GUARD_LLM", "on")
	c, err := load(managed, "", []string{root})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	c.Show(&b)
	for _, want := range []string{`profile: "standard"  # ` + managed + ":1", `hosts: ["corp.example"]`, `"net/send":"deny"`, `"default/push":"ask"`, `use: "off"`, `model: "mine"`, `fallback: "ask"  # ` + user, `deny_commands: ["docker","git push"]`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s is not in\n%s", want, b.String())
		}
	}
	for content, want := range map[string]string{"profile: wild\n": "etc/config.yaml:1: profile", "roots: [~/q]\n": "q"} {
		if _, err := load(write(t, managed, content), "", []string{root}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", content, err)
		}
	}
	os.Chmod(write(t, managed, "profile: strict\n"), 0o666)
	if _, err := load(managed, "", []string{root}); err == nil {
		t.Error("others may write the managed file")
	}
	os.Chmod(managed, 0o600)
	other := filepath.Join(home, "q")
	os.Mkdir(other, 0o700)
	write(t, managed, "roots: [~/q]\n")
	if _, err := load(managed, "", []string{root}); err == nil || !strings.Contains(err.Error(), "can be the workspace") {
		t.Errorf("a root outside of those of the machine: %v", err)
	}
}
