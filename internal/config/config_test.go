package config

import (
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"handrail/guard"
)

// userOf gives the test a user of its own: home and XDG directories.
func userOf(t testing.TB) (home string) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("XDG_STATE_HOME", "")
	return home
}

func write(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDefault(t *testing.T) {
	home := userOf(t)
	c, err := Load("", nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.State != filepath.Join(home, ".local/state/handrail") || c.Dir != filepath.Join(home, ".config/handrail") || c.Fallback != Contain {
		t.Errorf("defaults: %+v", c)
	}
	t.Setenv("XDG_STATE_HOME", "/elsewhere")
	t.Setenv("XDG_CONFIG_HOME", "relative/is/ignored")
	if c, err = Load("", nil); err != nil || c.State != "/elsewhere/handrail" || c.Dir != filepath.Join(home, ".config/handrail") {
		t.Errorf("with XDG: %+v, %v", c, err)
	}
}

func TestFile(t *testing.T) {
	home := userOf(t)
	project := filepath.Join(home, "src", "p")
	os.MkdirAll(project, 0o700)
	write(t, filepath.Join(home, ".config/handrail/config.yaml"), `# mine
roots: [~/src/p]
hosts: [example.org, "*.example.net"]
approval: {ask_timeout: 2m}
fallback: deny
profile: standard
state: ~/log
`)
	c, err := Load("", nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.Roots, []string{project}) || !slices.Equal(c.Hosts, []string{"example.org", "*.example.net"}) ||
		c.Approval.AskTimeout != 2*time.Minute || c.Fallback != Deny || c.State != filepath.Join(home, "log") {
		t.Errorf("%+v", c)
	}
	for _, own := range []string{c.State, c.File, c.Dir, filepath.Join(home, ".handrail")} {
		if !slices.Contains(c.Own(), own) {
			t.Errorf("%s is not protected: %v", own, c.Own())
		}
	}
	other := filepath.Join(home, "other")
	os.Mkdir(other, 0o700)
	if c, err = Load("", []string{other}); err != nil || !slices.Equal(c.Roots, []string{other}) {
		t.Errorf("--root did not replace the file's roots: %+v, %v", c, err)
	}
}

func TestEmptyFiles(t *testing.T) {
	home := userOf(t)
	for _, content := range []string{"", "# nothing\n", "---\n", "{}\n"} {
		if _, err := Load(write(t, filepath.Join(home, "c.yaml"), content), nil); err != nil {
			t.Errorf("%q: %v", content, err)
		}
	}
}

// Every fault names file:line and what would be right.
func TestFaults(t *testing.T) {
	home := userOf(t)
	for content, want := range map[string]string{
		"hosts: []\nfalback: ask\n":                          `c.yaml:2: unknown setting "falback"; did you mean "fallback"?`,
		"zzzzzzzzzz: 1\n":                                    `c.yaml:1: unknown setting "zzzzzzzzzz"; there are approval, audit, default_deny, fallback`,
		"ask_timeout: 45s\n":                                 `c.yaml:1: unknown setting "ask_timeout" here; did you mean approval.ask_timeout?`,
		"fallback: allow\n":                                  `c.yaml:1: fallback: want one of deny, ask, contain, not "allow"`,
		"fallback: llm\n":                                    `want one of deny, ask, contain`,
		"approval:\n\n  # x\n  ask_timeout: soon\n":          `c.yaml:4: approval.ask_timeout: want 1s to 1h`,
		"approval: {ask_timeout: 0s}\n":                      `want 1s to 1h`,
		"approval: {ask_timeout: 48h}\n":                     `want 1s to 1h`,
		"approval:\n  grant_expry: 1d\n":                     `c.yaml:2: unknown setting "approval.grant_expry"; did you mean "grant_expiry"?`,
		"approval: {grant_expiry: 2y}\n":                     `want 1h to 365d`,
		"approval: 45s\n":                                    `c.yaml:1: approval: want settings, as in`,
		"profile: wild\n":                                    `want one of standard, strict, yolo`,
		"hosts: example.org\n":                               `c.yaml:1: hosts: want a list`,
		"hosts:\n  - example.org\n  - '*'\n":                 `c.yaml:3: hosts: "*": want example.org`,
		"hosts: ['https://example.org/']\n":                  `want example.org`,
		"roots: [relative]\n":                                `must be an absolute path`,
		"roots: [~/missing]\n":                               `missing`,
		"roots: [/]\n":                                       `is the root of the file system, which cannot be a workspace`,
		"state: state\n":                                     `must be an absolute path`,
		"state: ~/\n":                                        `more than a state directory`,
		"state: /\n":                                         `more than a state directory`,
		"state:\n":                                           `want a word`,
		"hosts: []\nhosts: []\n":                             `hosts is set twice`,
		"- hosts\n":                                          `c.yaml:1: want settings`,
		"hosts: [\n":                                         `c.yaml:1: `,
		"hosts: []\n---\nhosts: []\n":                        `one YAML document`,
		"\xff\xff":                                           `c.yaml:1: `,
		"a: &a [*a]\n":                                       `c.yaml:1: unknown setting "a"`,
		"default_deny: maybe\n":                              `want true or false`,
		"tools:\n  safe_bsh: {}\n":                           `c.yaml:2: unknown setting "tools.safe_bsh"; did you mean "safe_bash"?`,
		"tools:\n  safe_read:\n    allow_commands: [ls]\n":   `c.yaml:3: unknown setting "tools.safe_read.allow_commands" here; did you mean tools.safe_bash.allow_commands?`,
		"tools: {safe_bash: {rate_limit: 0}}\n":              `want 1 to 100000`,
		"tools: {safe_bash: {deny_commands: ['a | b']}}\n":   `is no command`,
		"tools: {safe_read: {allow: ['../x']}}\n":            `want a path below a root`,
		"tools: {safe_read: {allow: ['a[b']}}\n":             `only *, ** and ?`,
		"tools: {safe_read: {allowed_dirs: ['src/*']}}\n":    `without * and ?`,
		"tools: {safe_bash: {allow_domains: [localhost]}}\n": `want example.org`,
		"security: {patterns: ['no-colon']}\n":               `want name:regex`,
		"security: {patterns: ['x:(']}\n":                    `c.yaml:1: security.patterns: x: error parsing regexp`,
		"levels: {net/sned: deny}\n":                         `c.yaml:1: levels: there is no rule "net/sned"; did you mean "net/send"?`,
		"levels: {net/send: never}\n":                        `want one of allow, llm, ask, deny`,
		"levels: {self/protected: allow}\n":                  `cannot be loosened`,
		"levels: {code/hidden: allow}\n":                     `cannot be loosened`,
		"levels:\n  net/send: deny\n  net/send: allow\n":     `c.yaml:3: levels: net/send is set twice`,
		"protected_files: [/]\n":                             ``,
	} {
		_, err := Load(write(t, filepath.Join(home, "c.yaml"), content), nil)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", content, err, want)
		}
	}
}

// A file that another could have written is not read (a repository's .mcp.json
// can name one).
func TestUntrustedFile(t *testing.T) {
	home := userOf(t)
	project := filepath.Join(home, "project")
	os.Mkdir(project, 0o700)
	refuse := func(name, file, want string) {
		t.Helper()
		if _, err := Load(file, []string{project}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", name, err, want)
		}
	}
	inside := write(t, filepath.Join(project, "c.yaml"), "fallback: ask\n")
	refuse("inside a root", inside, "inside the workspace")
	link := filepath.Join(home, "link.yaml")
	os.Symlink(inside, link)
	refuse("a link into a root", link, "inside the workspace")
	open := write(t, filepath.Join(home, "open.yaml"), "")
	os.Chmod(open, 0o664)
	refuse("group-writable", open, "chmod go-w")
	shared := write(t, filepath.Join(home, "shared", "c.yaml"), "")
	os.Chmod(filepath.Dir(shared), 0o777)
	refuse("in a directory of everybody", shared, "chmod go-w")
	above := write(t, filepath.Join(home, "shared", "mine", "c.yaml"), "")
	refuse("below a directory of everybody", above, "chmod go-w "+filepath.Join(home, "shared"))
	refuse("missing", filepath.Join(home, "none.yaml"), "no such file")
	refuse("a directory", home, "not a regular file")
	if os.Getuid() == 0 {
		foreign := write(t, filepath.Join(home, "foreign.yaml"), "")
		os.Chown(foreign, 65534, 65534)
		refuse("foreign", foreign, "belongs to user 65534")
	}
	c, err := Load(write(t, filepath.Join(home, "c.yaml"), ""), nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Refuse(home) == nil || c.Refuse(project) != nil {
		t.Error("Refuse does not tell a root that holds the configuration from one that does not")
	}
}

// A repository can name a root and a configuration in its own .mcp.json. The
// configuration must not be its own, in whatever way it gets there.
func TestConfigurationOfARepository(t *testing.T) {
	home := userOf(t)
	repo := filepath.Join(home, "repo")
	write(t, filepath.Join(repo, ".git", "HEAD"), "")
	mine := write(t, filepath.Join(home, "mine", "loose.yaml"), "profile: yolo\n")
	root := filepath.Join(repo, "sub")
	own := write(t, filepath.Join(repo, "evil.yaml"), "profile: yolo\n")
	link, dir := filepath.Join(root, "link.yaml"), filepath.Join(root, "dir")
	for _, err := range []error{os.MkdirAll(root, 0o700), os.Symlink(mine, link), os.Symlink(filepath.Dir(mine), dir)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, file := range map[string]string{"beside the root": own, "a link": link, "a linked directory": filepath.Join(dir, "loose.yaml")} {
		if c, err := Load(file, []string{root}); err == nil {
			t.Errorf("%s: profile %s", name, c.Profile)
		}
	}
	if _, err := Load(mine, []string{root}); err != nil {
		t.Errorf("the user's own file: %v", err)
	}
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(repo, "xdg"))
	write(t, filepath.Join(repo, "xdg", "handrail", "config.yaml"), "profile: yolo\n")
	if c, err := Load("", []string{root}); err == nil {
		t.Errorf("by the environment: profile %s", c.Profile)
	}
}

// Nor must anything else be a repository's that Handrail lives by: what was
// approved and trusted, guards, skills. A client's file can set HOME and XDG_*.
func TestBasisOfARepository(t *testing.T) {
	home := userOf(t)
	repo := filepath.Join(home, "repo")
	root := filepath.Join(repo, "sub")
	write(t, filepath.Join(repo, ".git", "HEAD"), "")
	write(t, filepath.Join(root, "x"), "")
	if _, err := Load("", []string{root}); err != nil {
		t.Fatal(err)
	}
	os.MkdirAll(filepath.Join(home, "linked"), 0o700)
	os.Symlink(filepath.Join(repo, "evil"), filepath.Join(home, "linked", "handrail"))
	os.MkdirAll(filepath.Join(repo, "evil"), 0o700)
	for name, env := range map[string][2]string{
		"state in the root":             {"XDG_STATE_HOME", filepath.Join(root, "state")},
		"state in the repository":       {"XDG_STATE_HOME", filepath.Join(repo, "state")},
		"state by a link":               {"XDG_STATE_HOME", filepath.Join(home, "linked")},
		"no configuration yet":          {"XDG_CONFIG_HOME", filepath.Join(root, "config")},
		"configuration by a link":       {"XDG_CONFIG_HOME", filepath.Join(home, "linked")},
		"a home in the root":            {"HOME", filepath.Join(root, "home")},
		"a home in the repository":      {"HOME", filepath.Join(repo, "home")},
		"the repository itself as home": {"HOME", repo},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(env[0], env[1])
			if env[0] == "HOME" { // and what is found there
				t.Setenv("XDG_CONFIG_HOME", "")
				t.Setenv("XDG_STATE_HOME", "")
				os.MkdirAll(env[1], 0o700)
				write(t, filepath.Join(env[1], ".handrail/guards/all.yaml"), "match: '.*'\nverdict: allow\n")
			}
			if c, err := Load("", []string{root}); err == nil {
				t.Errorf("accepted: home %s, state %s, configuration %s", c.Home, c.State, c.Dir)
			}
			c, err := Load("", nil)
			if err == nil && c.Refuse(root) == nil { // a root that a client names later
				t.Errorf("not refused: home %s, state %s", c.Home, c.State)
			}
		})
	}
}

func TestWorkspace(t *testing.T) {
	home := userOf(t)
	project := filepath.Join(home, "project")
	os.Mkdir(project, 0o700)
	link := filepath.Join(home, "link")
	os.Symlink(home, link)
	file := write(t, filepath.Join(home, "file"), "")
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"/", "/home", home, filepath.Dir(home), link, file, filepath.Join(home, "none"), me.HomeDir} {
		if roots, err := Workspace([]string{dir}, home); err == nil {
			t.Errorf("%s became %v", dir, roots)
		}
	}
	dotted := filepath.Join(home, ".dotfiles")
	os.Mkdir(dotted, 0o700)
	if roots, err := Workspace([]string{dotted}, home); err != nil || !slices.Equal(roots, []string{dotted}) {
		t.Errorf("a hidden directory directly in the home directory: %v, %v", roots, err)
	}
	t.Chdir(project)
	if roots, err := Workspace([]string{".", project}, home); err != nil || !slices.Equal(roots, []string{project, project}) {
		t.Errorf("%v, %v", roots, err)
	}
}

// A directory of the machine is no workspace, whoever names it: --root, the
// working directory, a client.
func TestSystemDirectories(t *testing.T) {
	home := userOf(t)
	for _, dir := range []string{"/etc", "/usr", "/home", "/var", "/proc/self", "/sys/kernel"} {
		resolved, err := filepath.EvalSymlinks(dir)
		if err != nil {
			continue // not on this machine
		}
		if _, err := Load("", []string{dir}); err == nil || !strings.Contains(err.Error(), "workspace") {
			t.Errorf("--root %s: %v", dir, err)
		}
		if err := (&Config{Home: home}).Refuse(resolved); err == nil {
			t.Errorf("a client may name %s", resolved)
		}
	}
	if err := (&Config{Home: home}).Refuse("/usr/src/app"); err != nil {
		t.Error(err)
	}
}

func TestOpen(t *testing.T) {
	home := userOf(t)
	project := filepath.Join(home, "project")
	os.Mkdir(project, 0o700)
	c, err := Load("", []string{project})
	if err != nil {
		t.Fatal(err)
	}
	sys, err := c.Open()
	if err != nil {
		t.Fatal(err)
	}
	scratch := sys.Reader.Env["TMPDIR"]
	if info, err := os.Stat(scratch); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("scratch %q: %v", scratch, err)
	}
	judge := func(j *Judge) guard.Verdict {
		return j.Guard.Judge(&guard.EvalContext{ToolName: "safe_bash", WorkingDir: project, Roots: []string{project}, Facts: j.Reader.Read("chown daemon README", project)}).Verdict
	}
	want := guard.VerdictLLM
	if os.Geteuid() == 0 {
		want = guard.VerdictAsk
	}
	if got := judge(sys.Judge); got != want {
		t.Errorf("chown as this user: %s, want %s", got, want)
	}
	fresh, err := Load("", []string{project})
	if err != nil {
		t.Fatal(err)
	}
	if j, err := fresh.Judge(nil); err != nil || judge(j) != guard.VerdictLLM {
		t.Errorf("what is only judged depends on who asks: %v, %v", judge(j), err)
	}
	if sys.Guard.Revision == "" || len(sys.Guard.Rules) == 0 || len(sys.Guard.Default) == 0 {
		t.Errorf("the guard is not complete: %+v", sys.Guard)
	}
	if err := sys.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(scratch); !os.IsNotExist(err) {
		t.Errorf("the scratch directory stays: %v", err)
	}
	c.Hosts = []string{"example.org"}
	other, err := c.Judge(nil)
	if err != nil {
		t.Fatal(err)
	}
	if other.Guard.Revision == sys.Guard.Revision {
		t.Error("another policy has the same revision")
	}
}

// Without a log there is no system, and the error says what to do.
func TestNoState(t *testing.T) {
	home := userOf(t)
	c, err := Load("", nil)
	if err != nil {
		t.Fatal(err)
	}
	c.State = filepath.Join(write(t, filepath.Join(home, "file"), ""), "state")
	if _, err := c.Open(); err == nil || !strings.Contains(err.Error(), "what cannot be recorded is not run") || !strings.Contains(err.Error(), "state:") {
		t.Errorf("Open = %v", err)
	}
}

func TestNearest(t *testing.T) {
	names := []string{"serve", "check", "eval", "ask_timeout"}
	for word, want := range map[string]string{"srve": "serve", "chekc": "check", "ask-timeout": "ask_timeout", "x": "", "completely": ""} {
		if got := Nearest(word, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
