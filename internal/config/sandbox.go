package config

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"handrail/tools/sandbox"
)

// Sandbox is what is set about holding commands.
type Sandbox struct {
	// Tier is one of sandbox.Tier, or "auto": the first that works, never none.
	Tier string
	// Image is what the containers of docker and podman are made of; Engine is
	// their socket, absolute, or "" for the usual one.
	Image, Engine string
	// Packages are the hosts that package managers reach when a call installs, Git
	// those of a repository's own remotes that need no question.
	Packages, Git []string
	// Networks are ranges of private addresses that contained commands may reach
	// by name.
	Networks []string
	// Toolchains are paths below the home directory that commands can read, beside
	// sandbox.DefaultToolchains; Hidden are paths that none can.
	Toolchains, Hidden []string
	// Limits of one call, in MiB where they are sizes; zero is the default.
	Processes, Memory, FileSize, Disk int
}

// tiers are what can be chosen, "auto" first.
var tiers = []string{"auto", string(sandbox.Bwrap), string(sandbox.Namespaces), string(sandbox.Landlock), string(sandbox.Docker), string(sandbox.Podman), string(sandbox.Seatbelt), string(sandbox.None)}

func sandboxSection() field {
	list := func(key, doc, sample string, at func(*Sandbox) *[]string, f form[[]string]) field {
		return setting(key, doc, sample, func(c *Config) *[]string { return at(&c.Sandbox) }, f, common(coversHost)).in(private)
	}
	size := func(key, doc, sample string, at func(*Sandbox) *int) field {
		return setting(key, doc, sample, func(c *Config) *int { return at(&c.Sandbox) }, number(1, 1<<30), least[int])
	}
	return section("sandbox", "What holds the commands of safe_bash while they run. `handrail doctor` shows what is in force.",
		setting("tier", "auto takes the first that works here and refuses commands where none does; none runs commands with all of your rights, and project code then asks once per session and program.", "auto",
			func(c *Config) *string { return &c.Sandbox.Tier }, oneOf(tiers...), held).in(private),
		setting("image", "The image of the tiers docker and podman, with bash and the tools of your projects. It is never pulled.", "localhost/tools:1",
			func(c *Config) *string { return &c.Sandbox.Image }, plain(nil), first).in(private),
		setting("engine", "The socket of Docker or Podman; without it, the usual one.", "/run/user/1000/podman/podman.sock",
			func(c *Config) *string { return &c.Sandbox.Engine }, plain(func(w string) error {
				if !filepath.IsAbs(w) {
					return fmt.Errorf("want the path of a socket, not %q", w)
				}
				return nil
			}), first).in(private),
		list("packages", "Hosts that package managers reach when a call installs something: hosts, or the lists registries and forges.", "[registries]",
			func(s *Sandbox) *[]string { return &s.Packages }, words(hostEntry)),
		list("git", "Hosts that git may fetch from, where the repository's own remotes name them, beside `hosts`.", "[forges]",
			func(s *Sandbox) *[]string { return &s.Git }, words(hostEntry)),
		list("networks", "Private networks that contained commands may reach by name, for a registry inside a company.", "[10.1.0.0/16]",
			func(s *Sandbox) *[]string { return &s.Networks }, words(addressRange)),
		list("toolchains", "Directories below your home directory that commands can read, beside the usual ones.", "[~/tools]",
			func(s *Sandbox) *[]string { return &s.Toolchains }, words(func(c *Config, w string) (string, error) { return c.path(w) })),
		setting("hidden", "Files and directories that no command can read.", "[~/notes]",
			func(c *Config) *[]string { return &c.Sandbox.Hidden }, words(func(c *Config, w string) (string, error) { return c.path(w) }), union).adding(),
		section("limits", "Bounds of one call, where the system can hold them.",
			size("processes", "Processes at once; 4096 where it is not set.", "4096", func(s *Sandbox) *int { return &s.Processes }),
			size("memory", "MiB of memory of all its processes together; three quarters of the machine's where it is not set.", "8192", func(s *Sandbox) *int { return &s.Memory }),
			size("file_size", "MiB of one file that it writes; 16384 where it is not set.", "16384", func(s *Sandbox) *int { return &s.FileSize }),
			size("disk", "MiB by which it may let the workspace grow; 32768 where it is not set.", "32768", func(s *Sandbox) *int { return &s.Disk })))
}

// held is the stricter of two tiers: any is stricter than none, and one that is
// named than auto.
func held(a, b string) string {
	if a == string(sandbox.None) || a == "auto" && b != string(sandbox.None) {
		return b
	}
	return a
}

func addressRange(_ *Config, w string) (string, error) {
	if _, err := netip.ParsePrefix(w); err != nil {
		return "", fmt.Errorf("want a range as 10.1.0.0/16, not %q", w)
	}
	return w, nil
}

// Settings are what a session's sandbox is opened with, for commands that get
// env.
func (c *Config) settings(env map[string]string) sandbox.Settings {
	s := sandbox.Settings{Home: c.Home, State: filepath.Join(c.ownState(), "sandbox"),
		Hidden: slices.Concat(c.Own(), c.hidden(), c.Sandbox.Hidden), Emptied: c.emptied(env["PATH"]), Toolchains: c.toolchains(env), Caches: caches(c.Home, env),
		Image: c.Sandbox.Image, Engine: c.Sandbox.Engine}
	if c.Sandbox.Tier != "auto" {
		s.Tier = sandbox.Tier(c.Sandbox.Tier)
	}
	return s
}

// toolchains are the paths below the home directory that commands can read: the
// usual ones, those of the configuration, and those that the environment of
// commands names.
func (c *Config) toolchains(env map[string]string) []string {
	all := slices.Clone(sandbox.DefaultToolchains)
	add := func(path string) {
		rel, err := filepath.Rel(c.Home, resolved(path))
		if err == nil && rel != "." && filepath.IsLocal(rel) && !slices.Contains(all, rel) {
			all = append(all, rel)
		}
	}
	for _, path := range c.Sandbox.Toolchains {
		add(path)
	}
	for _, name := range []string{"GOROOT", "GOPATH", "CARGO_HOME", "RUSTUP_HOME", "NVM_DIR", "FNM_DIR", "VOLTA_HOME", "PNPM_HOME", "JAVA_HOME", "MAVEN_HOME", "CONDA_PREFIX", "PYENV_ROOT", "RBENV_ROOT", "GEM_HOME", "DOTNET_ROOT", "VIRTUAL_ENV", "ANDROID_HOME"} {
		if filepath.IsAbs(env[name]) {
			add(env[name])
		}
	}
	for _, dir := range filepath.SplitList(env["PATH"]) {
		add(dir)
		if top := filepath.Dir(dir); filepath.Base(dir) == "bin" && filepath.Dir(top) != c.Home && filepath.Base(top) != ".local" {
			add(top) // what its programs are made of
		}
	}
	return all
}

// caches are the package caches that commands read through an overlay.
func caches(home string, env map[string]string) []string {
	all := sandbox.DefaultCaches(home)
	all = append(all, moved(home, env, all)...)
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "npm_config_cache", "PIP_CACHE_DIR", "UV_CACHE_DIR"} {
		if filepath.IsAbs(env[name]) {
			all = append(all, resolved(env[name]))
		}
	}
	for name, below := range map[string]string{"GOPATH": "pkg/mod", "CARGO_HOME": "registry", "GRADLE_USER_HOME": "caches"} {
		if filepath.IsAbs(env[name]) {
			all = append(all, filepath.Join(resolved(env[name]), below))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// moved returns where caches lie for programs that follow the environment (XDG
// Base Directory Specification). Settings do not move with it: credentials lie
// among them.
func moved(home string, env map[string]string, caches []string) (all []string) {
	for name, usual := range map[string]string{"XDG_CACHE_HOME": ".cache", "XDG_DATA_HOME": ".local/share"} {
		for _, path := range caches {
			if rest, ok := strings.CutPrefix(path, home+"/"+usual+"/"); ok && filepath.IsAbs(env[name]) {
				all = append(all, filepath.Join(resolved(env[name]), rest))
			}
		}
	}
	return all
}

// limits are those of the configuration.
func (s *Sandbox) limits() sandbox.Limits {
	const mib = 1 << 20
	return sandbox.Limits{Processes: s.Processes, Memory: int64(s.Memory) * mib, FileSize: int64(s.FileSize) * mib, Disk: int64(s.Disk) * mib}
}

// unset says what holds where the setting at path is not set.
func unset(path string) string {
	const mib = 1 << 20
	l := sandbox.DefaultLimits()
	n := map[string]int64{"sandbox.limits.processes": int64(l.Processes), "sandbox.limits.memory": l.Memory / mib,
		"sandbox.limits.file_size": l.FileSize / mib, "sandbox.limits.disk": l.Disk / mib}[path]
	if n == 0 {
		return "not set"
	}
	return fmt.Sprintf("%d  # default", n)
}

// advice says what to do where no sandbox can be opened.
func advice(err error) error {
	return fmt.Errorf("%w\nno command runs without a sandbox unless the user says so: install what is missing (`handrail doctor` tells), or set `sandbox: {tier: none}` in the user's config.yaml", err)
}

// upstream is the proxy of the user's own network, by which contained commands
// go too.
func upstream() string {
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
		if v := os.Getenv(name); strings.Contains(v, "://") {
			return v
		}
	}
	return ""
}
