package examples

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"handrail/internal/config"
	"handrail/internal/testkit"
	"handrail/tools"
)

func textOf(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The configuration of the example is taken, and its principals can be served.
func TestHostingConfiguration(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", dir+"/home")
	text := strings.NewReplacer("/var/lib/handrail", dir+"/lib", "/srv/handrail", dir+"/srv", "#tls:", "tls:", "#oidc:", "oidc:", "#store:", "store:").Replace(textOf(t, "hosting/config.yaml"))
	own := dir + "/config.yaml"
	if err := os.WriteFile(own, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(own, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.CheckPrincipals(); err != nil {
		t.Fatal(err)
	}
	if len(c.Principals) != 2 {
		t.Errorf("%d principals", len(c.Principals))
	}
	bot, err := c.For("build-bot")
	if err != nil {
		t.Fatal(err)
	}
	judge, err := bot.Judge(tools.Environment(bot.Roots, ""))
	if err != nil {
		t.Fatal(err)
	}
	input := func(name, value string) json.RawMessage {
		b, _ := json.Marshal(map[string]string{name: value})
		return b
	}
	for _, call := range []struct{ tool, field, value, want string }{
		{tools.Bash, "command", "git init", "allow"},
		{tools.Bash, "command", "go mod init example.org/x", "allow"},
		{tools.Bash, "command", "go mod download", "allow"},
		{tools.Bash, "command", "go mod tidy && go build -o bin/x . && go test ./...", "allow"},
		{tools.Bash, "command", "git add . && git commit -m first", "allow"},
		{tools.Bash, "command", "make", "allow"},
		{tools.Bash, "command", "git clone https://github.com/a/b", "deny policy/domain"},
		{tools.Bash, "command", "npm install", "deny policy/command"},
		{tools.Bash, "command", "go build -o /etc/x .", "deny"},
		{tools.Read, "path", "go.mod", "allow"},
		{tools.Read, "path", bot.Roots[0] + "/src/a.go", "allow"},
		{tools.Read, "path", "/etc/hostname", "deny"},
		{tools.Write, "path", "a.go", "deny policy/tool"},
	} {
		facts, err := tools.Look(judge.Reader, tools.Call{Tool: call.tool, Input: input(call.field, call.value), Roots: bot.Roots})
		if call.tool == tools.Write {
			facts, err = tools.Look(judge.Reader, tools.Call{Tool: call.tool, Input: json.RawMessage(`{"path": "a.go", "content": "x"}`), Roots: bot.Roots})
		}
		if err != nil {
			t.Fatalf("%s: %v", call.value, err)
		}
		d := judge.Guard.Judge(facts)
		if got := d.Verdict.String() + " " + d.Rule; !strings.HasPrefix(got, call.want) {
			t.Errorf("build-bot, %s %s: %s (%s), want %s", call.tool, call.value, got, d.Reason, call.want)
		}
	}
}

// Every way to start the server is one that it knows.
func TestHostingCommandLines(t *testing.T) {
	serve := regexp.MustCompile(`serve[" ,].*--transport.*http.*--config.*`)
	binary := filepath.Join(t.TempDir(), "handrail")
	if out, err := exec.Command("go", "build", "-o", binary, "handrail").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for _, file := range []string{"Dockerfile", "handrail.service", "handrail-users.service", "handrail@.service"} {
		line := serve.FindString(textOf(t, "hosting/"+file))
		args := regexp.MustCompile(`[^\s",\[\]]+`).FindAllString(line, -1)
		if len(args) < 4 {
			t.Errorf("%s starts %q", file, line)
			continue
		}
		at := slices.Index(args, "--config")
		if args[at+1] == config.ManagedFile {
			t.Errorf("%s: the machine's configuration counts for everybody's Handrail, and this is the server's", file)
		}
		args[at+1] = "/nonexistent/config.yaml"
		out, err := exec.Command(binary, args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "/nonexistent") || strings.Contains(string(out), "handrail help") {
			t.Errorf("%s: %v: %s", file, args, out)
		}
	}
}

// The files of compose are there or named in the README, nothing is privileged,
// and the database is not for the world.
func TestCompose(t *testing.T) {
	var c struct {
		Services map[string]struct {
			Build       struct{ Context, Dockerfile string }
			Privileged  bool
			Ports       []string
			Volumes     []string
			Networks    []string
			CapAdd      []string `yaml:"cap_add"`
			SecurityOpt []string `yaml:"security_opt"`
		}
		Networks map[string]struct{ Internal bool }
		Secrets  map[string]struct{ File string }
	}
	if err := yaml.Unmarshal([]byte(textOf(t, "hosting/compose.yaml")), &c); err != nil {
		t.Fatal(err)
	}
	readme := textOf(t, "hosting/README.md")
	for name, s := range c.Services {
		if s.Privileged || len(s.CapAdd) > 0 {
			t.Errorf("%s is privileged", name)
		}
		if len(s.Ports) > 0 != (name == "proxy") {
			t.Errorf("%s publishes %v", name, s.Ports)
		}
		for _, v := range s.Volumes {
			if from, _, _ := strings.Cut(v, ":"); strings.HasPrefix(from, "./") && from != "./tls" {
				textOf(t, "hosting/"+from)
			}
		}
	}
	if d := c.Services["handrail"].Build; d.Dockerfile == "" || textOf(t, filepath.Join("hosting", d.Context, d.Dockerfile)) == "" {
		t.Error("the image has no definition")
	}
	if db := c.Services["db"].Networks; !slices.Equal(db, []string{"back"}) || !c.Networks["back"].Internal {
		t.Error("the database can be reached from elsewhere")
	}
	for _, s := range c.Secrets {
		if !strings.Contains(readme, strings.TrimPrefix(s.File, "./")) {
			t.Errorf("README.md does not say what is in %s", s.File)
		}
	}
	if docker := textOf(t, "hosting/Dockerfile"); !strings.Contains(docker, "\nUSER handrail\n") || !strings.Contains(docker, "bubblewrap") {
		t.Error("the image runs as root, or without a sandbox")
	}
}

// systemd takes the units.
func TestUnits(t *testing.T) {
	analyze := testkit.Require(t, "systemd-analyze", "apt-get install systemd")
	dir := t.TempDir()
	for from, to := range map[string]string{"handrail.service": "handrail.service", "handrail-users.service": "handrail-users.service", "handrail@.service": "handrail@daemon.service"} {
		text := strings.ReplaceAll(textOf(t, "hosting/"+from), "/usr/local/bin/handrail", "/bin/true")
		unit := filepath.Join(dir, to)
		if err := os.WriteFile(unit, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(analyze, "verify", "--man=no", unit).CombinedOutput()
		if err != nil || strings.Contains(string(out), filepath.Base(unit)+":") {
			t.Errorf("%s: %v\n%s", from, err, out)
		}
	}
}
