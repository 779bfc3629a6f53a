package plugin_test

import (
	"testing"

	"handrail/guard"
	"handrail/tools"
)

// The examples of the documents of BitCode's guards, as they stand there.
const (
	blockDocker = "# .bitcode/guards/block-docker.yaml\n" + `id: block-docker
tool: Bash
patterns:
  - match: "docker"
    verdict: ask
    reason: "Docker commands require approval"
`
	protectEnv = `---
id: protect-env
tool: Write,Edit
patterns:
  - file_match: ".env*"
    verdict: ask
    reason: "Modifying environment configuration"
---`
	protectEnvBody = `---
id: protect-env
tool: Write,Edit
---
patterns:
  - file_match: ".env*"
    verdict: ask
    reason: "Modifying environment configuration"
`
	noNetwork = `id: no-network
tool: Bash
patterns:
  - match: "\\b(curl|wget|ssh|scp|nc|netcat)\\b"
    verdict: ask
    reason: "Network access requires approval"`
	protectMigrations = `id: protect-migrations
tool: Write,Edit
patterns:
  - file_match: "*.sql"
    verdict: ask
    reason: "Modifying SQL migration files requires approval"`
	noInstall = `id: no-install
tool: Bash
patterns:
  - match: "\\b(apt|yum|brew|pip|gem)\\s+install\\b"
    verdict: ask
    reason: "Package installation requires approval"`
)

// Every example of the documents loads unchanged and works as written.
func TestSeeds(t *testing.T) {
	type call struct {
		tool, arg string
		spoken    bool
	}
	b := func(arg string, spoken bool) call { return call{tools.Bash, arg, spoken} }
	for _, c := range []struct {
		name, content, id, reason string
		calls                     []call
	}{
		{"block-docker.yaml", blockDocker, "block-docker", "Docker commands require approval",
			[]call{b("docker ps", true), b("ls; docker build .", true), b("bash -c 'docker ps'", true), b("d=docker; $d ps", true), b("/usr/bin/docker ps", true), b("ls", false), {tools.Write, "docker.txt", false}}},
		{"protect-env.md", protectEnv, "protect-env", "Modifying environment configuration",
			[]call{{tools.Write, ".env", true}, {tools.Edit, ".env.local", true}, {tools.Write, "sub/.env", true}, {tools.Read, ".env", false}, {tools.Write, "env.txt", false}, b("cat .env", false), b("echo A=1 > .env", true)}},
		{"protect-env.md", protectEnvBody, "protect-env", "Modifying environment configuration",
			[]call{{tools.Write, ".env", true}, {tools.Edit, ".env.local", true}, {tools.Read, ".env", false}, {tools.Write, "env.txt", false}}},
		{"no-network.yaml", noNetwork, "no-network", "Network access requires approval",
			[]call{b("curl https://example.org", true), b("git pull && wget x.org/y", true), b("echo $(ssh host ls)", true), b("curling", false), b("go build ./...", false)}},
		{"protect-migrations.yml", protectMigrations, "protect-migrations", "Modifying SQL migration files requires approval",
			[]call{{tools.Write, "db/001.sql", true}, {tools.Edit, "001.sql", true}, {tools.Read, "001.sql", false}, {tools.Write, "x.sql.txt", false}, b("sed -i s/a/b/ db/001.sql", true), b("rm db/001.sql", true), b("cat db/001.sql", false)}},
		{"no-install.yaml", noInstall, "no-install", "Package installation requires approval",
			[]call{b("pip install requests", true), b("apt   install jq", true), b("sudo apt install jq", true), b("pip list", false), b("npm install", false)}},
	} {
		for _, place := range []string{"user", "project"} {
			d := newDesk(t)
			if place == "user" {
				d.user(t, c.name, c.content)
			} else {
				d.project(t, c.name, c.content, false)
			}
			for _, call := range c.calls {
				got := d.call(t, call.tool, call.arg)
				if by(got, c.id, guard.VerdictAsk) != call.spoken {
					t.Errorf("%s (%s), %s %s: spoke %v, want %v: %+v", c.name, place, call.tool, call.arg, !call.spoken, call.spoken, got.Findings)
				}
				if call.spoken && got.Verdict > guard.VerdictAsk {
					t.Errorf("%s (%s), %s %s: %s", c.name, place, call.tool, call.arg, got.Verdict)
				}
				for _, f := range got.Findings {
					if f.Rule == c.id && f.Reason != c.reason {
						t.Errorf("%s: reason %q", c.name, f.Reason)
					}
				}
			}
		}
	}
}
