package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"handrail/guard"
)

// hostOf is a configuration with the settings of a file.
func hostOf(t *testing.T, text string) (*Config, string) {
	t.Helper()
	home := userOf(t)
	text = strings.ReplaceAll(text, "WORK", filepath.Join(home, "work"))
	c, err := Load(write(t, filepath.Join(home, ".config/handrail/config.yaml"), text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c, home
}

// A principal has what is set for it alone, in its own place, and everything
// else as everybody.
func TestPrincipals(t *testing.T) {
	c, _ := hostOf(t, `
profile: strict
hosts: [docs.example.org]
principals:
  alice: {workspace: WORK/alice, profile: standard, tools: {safe_write: {enabled: false}}}
  bob: {workspace: WORK/bob, hosts: [b.example], default_deny: true}
`)
	if err := c.CheckPrincipals(); err != nil {
		t.Fatal(err)
	}
	alice, err := c.For("alice")
	if err != nil {
		t.Fatal(err)
	}
	bob, err := c.For("bob")
	if err != nil {
		t.Fatal(err)
	}
	if alice.Profile != "standard" || bob.Profile != "strict" || c.Profile != "strict" {
		t.Error(alice.Profile, bob.Profile, c.Profile)
	}
	if !slices.Equal(alice.Hosts, []string{"docs.example.org"}) || !slices.Equal(bob.Hosts, []string{"b.example"}) {
		t.Error(alice.Hosts, bob.Hosts)
	}
	if alice.Tools.Write.Enabled == bob.Tools.Read.Enabled && alice.Tools.Read.Enabled == bob.Tools.Read.Enabled {
		t.Error("what is denied to bob is denied to alice")
	}
	for _, path := range [][2]string{{alice.Home, bob.Home}, {alice.Roots[0], bob.Roots[0]}, {alice.History(), bob.History()}, {alice.ownState(), bob.ownState()}} {
		if path[0] == path[1] || within(path[0], path[1]) {
			t.Errorf("%s and %s are not apart", path[0], path[1])
		}
	}
	for _, other := range []string{bob.Roots[0], bob.Home} {
		if !slices.Contains(alice.hidden(), other) {
			t.Errorf("%s can be read by alice's commands: %v", other, alice.hidden())
		}
	}
	if slices.ContainsFunc(alice.hidden(), func(h string) bool { return within(alice.Roots[0], h) || within(alice.Home, h) }) {
		t.Errorf("alice's own directories are hidden: %v", alice.hidden())
	}
	if _, err := c.For("carol"); err == nil {
		t.Error("an unknown principal is served")
	}
	if _, err := alice.For("bob"); err == nil {
		t.Error("a principal became another one")
	}
	if alice.AuditLog() != c.AuditLog() || alice.storePlace() != c.storePlace() {
		t.Error("the log or the store is not everybody's")
	}
}

// The environment of a principal's commands leads nowhere into the home of the
// server's user.
func TestPrincipalEnvironment(t *testing.T) {
	c, home := hostOf(t, "principals: {alice: {workspace: WORK/alice}}\n")
	t.Setenv("GOPATH", home+"/go")
	t.Setenv("XDG_CACHE_HOME", home+"/.cache")
	t.Setenv("PATH", home+"/bin:/usr/bin")
	alice, err := c.For("alice")
	if err != nil {
		t.Fatal(err)
	}
	env := alice.commandEnvironment("/tmp/scratch")
	for name, value := range env {
		if strings.Contains(value, home+"/") && name != "HOME" {
			t.Errorf("%s=%s", name, value)
		}
	}
	if env["HOME"] != alice.Home || env["USER"] != "alice" || env["TMPDIR"] != "/tmp/scratch" {
		t.Error(env)
	}
}

// Principals that are not apart, or that could be taken for another, are
// refused when the file is read or the server starts.
func TestPrincipalFaults(t *testing.T) {
	for text, want := range map[string]string{
		"principals: {a: {}}\n":                                                                                   "it needs a workspace",
		"principals: {a: {workspace: rel}}\n":                                                                     "must be an absolute path",
		"principals: {../a: {workspace: /srv/a}}\n":                                                               "is no name",
		"principals: {a: {workspace: /srv/a, llm: {use: off}}}\n":                                                 `unknown setting "llm"`,
		"principals: {a: {workspace: /srv/a, state: /x}}\n":                                                       `unknown setting "state"`,
		"principals: {a: {workspace: /srv/a, principals: {}}}\n":                                                  `unknown setting "principals"`,
		"principals: {a: {workspace: /srv/a, profile: mild}}\n":                                                   "profile: want one of",
		"principals: {a: {workspace: /srv/a, subjects: [s]}, b: {workspace: /srv/b, subjects: [s]}}\n":            `a and b have the subject "s" both`,
		"principals: {a: {workspace: /srv/a, certificates: [s]}, b: {workspace: /srv/b, certificates: [s, x]}}\n": "both",
		"principals: {a: {workspace: /srv/a}, A: {workspace: /srv/b}}\n":                                          "both",
		"principals: {a: {workspace: WORK/a}, b: {workspace: WORK/a/b}}\n":                                        "not apart",
		"principals: {a: {workspace: WORK/a, home: WORK/a/home}}\n":                                               "not apart",
		"principals: {a: {workspace: HOME}}\n":                                                                    "not apart",
		"principals: {a: {workspace: HOME/.config}}\n":                                                            "not apart",
		"principals: {a: {workspace: WORK/a, sandbox: {tier: none}}}\n":                                           "all rights of the server",
		"http: {listen: nowhere}\n":                                                                               "want host:port",
		"http: {listen: 'unix:rel'}\n":                                                                            "want an absolute path",
		"http: {auth: {oidc: {issuer: 'http://login.example.org'}}}\n":                                            "want https",
		"http: {auth: {oidc: {algorithms: [HS256]}}}\n":                                                           "proves nothing",
		"http: {auth: {oidc: {algorithms: [none]}}}\n":                                                            "proves nothing",
		"http: {origins: ['https://a.example/']}\n":                                                               "want scheme://host",
		"http: {names: ['a.example:443']}\n":                                                                      "without a port",
	} {
		home := userOf(t)
		text := strings.NewReplacer("WORK", home+"/work", "HOME", home).Replace(text)
		c, err := Load(write(t, filepath.Join(home, "c.yaml"), text), nil)
		if err == nil {
			err = c.CheckPrincipals()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s%v; want %q", text, err, want)
		}
	}
}

// A project can set nothing of a server.
func TestHostingIsPrivate(t *testing.T) {
	leaves(hostingFields(), func(path string, f *field) {
		if f.reach != private || f.env {
			t.Errorf("%s can be set by others than the user's own file", path)
		}
	})
}

// A principal's quota counts what its directories take, and is open again when
// something was removed.
func TestQuota(t *testing.T) {
	c, home := hostOf(t, "principals: {alice: {workspace: WORK/alice, disk: 3}, bob: {workspace: WORK/bob}}\n")
	if err := c.CheckPrincipals(); err != nil {
		t.Fatal(err)
	}
	of := func(name string) func() error {
		t.Helper()
		p, err := c.For(name)
		if err != nil {
			t.Fatal(err)
		}
		return p.quota()
	}
	if of("bob") != nil {
		t.Error("bob has a quota that nobody set")
	}
	file := filepath.Join(home, "work/alice/deep/file")
	write(t, file, strings.Repeat("x", 2<<20))
	if err := of("alice")(); err != nil {
		t.Error(err)
	}
	write(t, filepath.Join(c.homeOf("alice"), "more"), strings.Repeat("x", 2<<20))
	if err := of("alice")(); err == nil || !strings.Contains(err.Error(), "3 are allowed") {
		t.Error(err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := of("alice")(); err != nil {
		t.Error(err)
	}
}

// The home directory of a user without one is no reason to hide the machine.
func TestRootIsNoHome(t *testing.T) {
	c, _ := hostOf(t, "principals: {alice: {workspace: WORK/alice}}\n")
	alice, err := c.For("alice")
	if err != nil {
		t.Fatal(err)
	}
	alice.operator = "/"
	if list := alice.hidden(); slices.Contains(list, "/usr") || slices.Contains(list, "/etc") {
		t.Error(list)
	}
}

// What a changed configuration means for a principal is told as it is: what counts
// at once, and what waits for a restart.
func TestPrincipalsLive(t *testing.T) {
	c, _ := hostOf(t, "principals:\n  alice: {workspace: WORK/alice, subjects: [a]}\n  bob: {workspace: WORK/bob}\n")
	var told string
	c.Notice = func(s string) { told = s }
	alice, err := c.For("alice")
	if err != nil {
		t.Fatal(err)
	}
	base, err := alice.base()
	if err != nil {
		t.Fatal(err)
	}
	m := &guard.Manager{Rules: base.Rules}
	l := alice.follow(m)
	work := filepath.Dir(alice.Roots[0])
	change := func(text string) string {
		told = ""
		write(t, c.File, strings.ReplaceAll(text, "WORK", work))
		l.mu.Lock()
		defer l.mu.Unlock()
		l.refresh()
		return told
	}
	said := change("principals:\n  alice: {workspace: WORK/alice, subjects: [a], tools: {safe_bash: {rate_limit: 3}}}\n  bob: {workspace: WORK/bob}\n")
	if !strings.Contains(said, "is in force for the principal alice") || strings.Contains(said, "starts") || l.rateLimit("safe_bash", alice.Roots) != 3 {
		t.Errorf("what counts at once: %q", said)
	}
	said = change("principals:\n  alice: {workspace: WORK/alice, subjects: [b], sandbox: {tier: landlock}}\n  carol: {workspace: WORK/carol}\n")
	for _, want := range []string{"when handrail starts", "principals.alice.subjects", "principals.carol (new)", "sandbox.tier"} {
		if !strings.Contains(said, want) {
			t.Errorf("what waits: %q, want %s", said, want)
		}
	}
	if said = change("principals:\n  carol: {workspace: WORK/carol}\n"); !strings.Contains(said, "alice is not among the principals any more") || strings.Contains(said, "in force") {
		t.Errorf("a removed principal: %q", said)
	}
}

func TestUnknownSettingsOfAPrincipal(t *testing.T) {
	for key, want := range map[string]string{"worspace": `did you mean "workspace"`, "subject": `"subjects"`, "certificate": `"certificates"`, "llm": "for the whole server",
		"zzzzz": "certificates, default_deny, disk"} {
		home := userOf(t)
		_, err := Load(write(t, filepath.Join(home, ".config/handrail/config.yaml"), "principals: {a: {workspace: /srv/a, "+key+": {}}}\n"), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", key, err, want)
		}
	}
}
