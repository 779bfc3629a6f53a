package tools

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// fixed are the variables that every command gets: they keep programs from
// asking, paging, colouring and looking for their own updates, and git from running what a repository's own
// configuration names. Settings that would change what git does for its user
// (core.hooksPath, core.sshCommand, diff.external) are not among them. CI is
// not set: many programs behave otherwise with it.
var fixed = map[string]string{
	"TERM": "dumb", "NO_COLOR": "1", "PAGER": "cat", "GIT_PAGER": "cat",
	"GIT_TERMINAL_PROMPT": "0", "DEBIAN_FRONTEND": "noninteractive", "PIP_NO_INPUT": "1",
	"npm_config_update_notifier": "false", "PIP_DISABLE_PIP_VERSION_CHECK": "1",
	"GIT_CONFIG_COUNT": "3",
	"GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": "false",
	"GIT_CONFIG_KEY_1": "protocol.ext.allow", "GIT_CONFIG_VALUE_1": "never",
	"GIT_CONFIG_KEY_2": "safe.bareRepository", "GIT_CONFIG_VALUE_2": "explicit",
}

// Offline are variables that runs without a network have beside those of
// Environment: a package manager that tries again there only waits, for a minute
// and more.
var Offline = map[string]string{
	"npm_config_fetch_retries": "0", "PIP_RETRIES": "0", "CARGO_NET_RETRY": "0", "UV_HTTP_RETRIES": "0", "BUNDLE_RETRY": "0",
}

// form says what the value of a passed variable must look like.
type form uint8

const (
	plain  form = iota // any text
	abroad             // an absolute path outside the workspace roots
	link               // URLs without a user name or password
	flags              // compiler flags that start no other program
)

// passed are the variables of the server that commands get too, where they
// have their form. Whatever is not listed stays behind: tokens and sockets of
// agents, and what makes an innocent program run other code (LD_PRELOAD,
// BASH_ENV, NODE_OPTIONS, PYTHONPATH, ...).
var passed = map[string]form{
	"HOME": plain, "USER": plain, "LOGNAME": plain, "TZ": plain, "LANG": plain, "LANGUAGE": plain,
	"LC_ALL": plain, "LC_CTYPE": plain, "LC_COLLATE": plain, "LC_MESSAGES": plain, "LC_NUMERIC": plain, "LC_TIME": plain,
	"XDG_CACHE_HOME": abroad, "XDG_CONFIG_HOME": abroad, "XDG_DATA_HOME": abroad,
	"GOPATH": abroad, "GOROOT": abroad, "GOMODCACHE": abroad, "GOCACHE": abroad, "GOBIN": abroad,
	"GOFLAGS": flags, "GOPROXY": link, "GOSUMDB": plain, "GOPRIVATE": plain, "GONOPROXY": plain, "GONOSUMDB": plain,
	"GOTOOLCHAIN": plain, "CGO_ENABLED": plain,
	"CARGO_HOME": abroad, "RUSTUP_HOME": abroad, "RUSTUP_TOOLCHAIN": plain,
	"NVM_DIR": abroad, "FNM_DIR": abroad, "VOLTA_HOME": abroad, "PNPM_HOME": abroad,
	"npm_config_registry": link, "npm_config_cache": abroad, "COREPACK_HOME": abroad,
	"JAVA_HOME": abroad, "MAVEN_HOME": abroad, "GRADLE_USER_HOME": abroad, "ANDROID_HOME": abroad,
	"VIRTUAL_ENV": plain, "CONDA_PREFIX": abroad, "PYENV_ROOT": abroad, "PYENV_VERSION": plain,
	"PIP_INDEX_URL": link, "PIP_CACHE_DIR": abroad, "UV_CACHE_DIR": abroad,
	"RBENV_ROOT": abroad, "GEM_HOME": abroad, "DOTNET_ROOT": abroad,
	"HTTP_PROXY": link, "HTTPS_PROXY": link, "NO_PROXY": plain,
	"http_proxy": link, "https_proxy": link, "no_proxy": plain,
	"SSL_CERT_FILE": abroad, "SSL_CERT_DIR": abroad, "NODE_EXTRA_CA_CERTS": abroad, "REQUESTS_CA_BUNDLE": abroad,
}

// system are the directories that end every PATH.
var system = []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}

// Environment returns the environment that commands get, by name. It is built,
// not inherited: fixed settings, and the listed variables of the server where
// they are in order. PATH has the server's directories that are absolute,
// outside the roots and not writable by everybody, then those of the system.
// Roots are absolute and resolved; scratch becomes TMPDIR where not empty.
// Give the same map to shell.Reader.Env.
func Environment(roots []string, scratch string) map[string]string {
	return environment(os.Environ(), roots, scratch)
}

func environment(server, roots []string, scratch string) map[string]string {
	env := maps.Clone(fixed)
	path, seen := "", trail{}
	for _, kv := range server {
		name, value, _ := strings.Cut(kv, "=")
		if name == "PATH" {
			path = value
		}
		if f, ok := passed[name]; ok && f.fits(value, roots, seen) {
			env[name] = value
		}
	}
	env["PATH"] = searchPath(path, roots, seen)
	if scratch != "" {
		env["TMPDIR"] = scratch
	}
	return env
}

// fits reports whether value has the form.
func (f form) fits(value string, roots []string, t trail) bool {
	switch f {
	case abroad:
		return filepath.IsAbs(value) && !below(t.resolved(value), roots)
	case link:
		return !strings.Contains(value, "@")
	case flags:
		return !strings.Contains(value, "exec") && !strings.Contains(value, "-overlay")
	}
	return !strings.ContainsAny(value, "\x00\n")
}

// searchPath filters a PATH and appends the system's directories.
func searchPath(path string, roots []string, t trail) string {
	var dirs []string
	for _, dir := range append(filepath.SplitList(path), system...) {
		if !filepath.IsAbs(dir) || slices.Contains(dirs, dir) {
			continue
		}
		if end := t.resolved(dir); !below(end, roots) && t.directory(end) {
			dirs = append(dirs, dir)
		}
	}
	return strings.Join(dirs, string(filepath.ListSeparator))
}

// below reports whether path (absolute, cleaned) is one of roots or below one.
func below(path string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		return path == root || strings.HasPrefix(path, strings.TrimSuffix(root, "/")+"/")
	})
}

// Scratch makes a directory of mode 0700 for the temporary files of this
// server's commands (TMPDIR). remove deletes it with all that is in it.
func Scratch() (dir string, remove func() error, err error) {
	dir, err = os.MkdirTemp("", "handrail-")
	if err != nil {
		return "", nil, err
	}
	made := dir
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", nil, err
	}
	return dir, func() error { return os.RemoveAll(made) }, nil
}
