package shell

import (
	"path"
	"slices"
	"strings"

	"handrail/guard"
)

// programs are variables whose value is a command that some program will run,
// and the values that do nothing.
var programs = map[string]string{
	"PAGER": "page", "GIT_PAGER": "page", "MANPAGER": "page", "SYSTEMD_PAGER": "page", "AWS_PAGER": "page", "GH_PAGER": "page",
	"PSQL_PAGER": "page", "BAT_PAGER": "page", "DELTA_PAGER": "page", "HGPAGER": "page",
	"EDITOR": "edit", "VISUAL": "edit", "GIT_EDITOR": "edit", "GIT_SEQUENCE_EDITOR": "edit", "KUBE_EDITOR": "edit", "FCEDIT": "edit",
	"PSQL_EDITOR": "edit", "SYSTEMD_EDITOR": "edit", "SUDO_EDITOR": "edit", "HGEDITOR": "edit", "GH_EDITOR": "edit",
	"GIT_SSH": "ssh", "GIT_SSH_COMMAND": "ssh", "RSYNC_RSH": "ssh", "CVS_RSH": "ssh", "SVN_SSH": "ssh",
	"GIT_ASKPASS": "ask", "SSH_ASKPASS": "ask", "SUDO_ASKPASS": "ask",
	"CC": "tool", "CXX": "tool", "CPP": "tool", "LD": "tool", "AR": "tool", "AS": "tool", "RUSTC": "tool", "RUSTC_WRAPPER": "tool",
	"CARGO_BUILD_RUSTC_WRAPPER": "tool", "FC": "tool", "NM": "tool", "RANLIB": "tool", "STRIP": "tool", "HOSTCC": "tool",
	"SHELL": "tool", "PYTHON": "tool", "PYTHONBREAKPOINT": "none", "BROWSER": "ask", "LESSOPEN": "none", "LESSCLOSE": "none",
	"PROMPT_COMMAND": "none", "PS4": "prompt", "PS1": "prompt", "PS2": "prompt", "PS0": "prompt", "GIT_EXTERNAL_DIFF": "none",
	"GIT_PROXY_COMMAND": "none", "BASH_ENV": "none", "ENV": "none", "PERL5DB": "none", "MANROFFOPT": "none",
}

// loaders are variables that bring code or settings into innocent programs.
var loaders = map[string]bool{
	"LD_PRELOAD": true, "LD_LIBRARY_PATH": true, "LD_AUDIT": true, "GCONV_PATH": true, "SHELLOPTS": true, "BASHOPTS": true,
	"PYTHONSTARTUP": true, "PYTHONHOME": true, "PERL5OPT": true, "RUBYOPT": true, "JAVA_TOOL_OPTIONS": true, "_JAVA_OPTIONS": true,
	"JDK_JAVA_OPTIONS": true, "GIT_EXEC_PATH": true, "GIT_TEMPLATE_DIR": true, "GIT_DIR": true, "GIT_WORK_TREE": true,
	"GIT_COMMON_DIR": true, "GIT_INDEX_FILE": true, "GIT_OBJECT_DIRECTORY": true, "GIT_ALTERNATE_OBJECT_DIRECTORIES": true,
	"GIT_CONFIG": true, "GIT_CONFIG_GLOBAL": true, "GIT_CONFIG_SYSTEM": true, "GIT_CONFIG_COUNT": true, "GIT_CONFIG_PARAMETERS": true,
	"GIT_ALLOW_PROTOCOL": true, "GIT_SSL_NO_VERIFY": true, "HOME": true, "XDG_CONFIG_HOME": true, "XDG_DATA_HOME": true, "ZDOTDIR": true,
	"INPUTRC": true, "TAR_OPTIONS": true, "MAKEFLAGS": true, "GNUMAKEFLAGS": true, "MFLAGS": true, "HOSTALIASES": true, "TERMINFO": true,
	"DOCKER_HOST": true, "KUBECONFIG": true, "ANSIBLE_CONFIG": true, "PYTEST_PLUGINS": true, "LUA_INIT": true, "PHPRC": true,
	"PHP_INI_SCAN_DIR": true, "OPENSSL_CONF": true, "OPENSSL_MODULES": true, "PIP_INDEX_URL": true, "PIP_EXTRA_INDEX_URL": true,
	"PIP_CONFIG_FILE": true, "UV_INDEX_URL": true, "NPM_CONFIG_REGISTRY": true, "NPM_CONFIG_SCRIPT_SHELL": true, "NPM_CONFIG_USERCONFIG": true,
	"http_proxy": true, "https_proxy": true, "all_proxy": true, "HTTP_PROXY": true, "HTTPS_PROXY": true, "ALL_PROXY": true, "GOPROXY": true,
	"GONOSUMDB": true, "GONOSUMCHECK": true, "GOINSECURE": true, "GOENV": true, "SSH_AUTH_SOCK": true, "CURL_HOME": true, "WGETRC": true,
	"NODE_TLS_REJECT_UNAUTHORIZED": true, "GLOBIGNORE": true, "CDPATH": true, "HISTFILE": true, "EXINIT": true, "VIMINIT": true,
	"DYLD_INSERT_LIBRARIES": true, "DYLD_LIBRARY_PATH": true, "DYLD_FRAMEWORK_PATH": true, "ELECTRON_RUN_AS_NODE": true,
	"CARGO_HOME": true, "POSIXLY_CORRECT": true, "RUSTUP_HOME": true, "GEM_HOME": false, "CARGO_REGISTRY_DEFAULT": true,
}

// searched are lists of directories in which programs look for code.
var searched = map[string]bool{"PATH": true, "PYTHONPATH": true, "NODE_PATH": true, "PERL5LIB": true, "PERLLIB": true, "RUBYLIB": true,
	"CLASSPATH": true, "LUA_PATH": true, "GEM_PATH": true, "GOPATH": false, "MANPATH": false}

// environment emits an effect where an assignment can make an innocent program
// run other code.
func (w *reading) environment(n string, t text, typed string, cmd int) {
	why := w.danger(n, t)
	if why == "" {
		return
	}
	w.emit(guard.Effect{Kind: guard.System, Action: "environment", Target: n, Written: typed, Note: why, Exact: t.class == exact, Command: cmd})
	w.changed = w.changed || n == "PATH"
	if t.class == exact {
		w.value(n, t.s)
	}
}

// value reads what a variable makes bash, or a shell that another program
// starts, run later: the substitutions of a prompt, or a command.
func (w *reading) value(n, v string) {
	kind := programs[n]
	if kind == "" || !strings.ContainsAny(v, " \t\n;|&`$(") || len(v) > w.limits.Bytes || unreadable(v) != "" {
		return
	}
	st := &state{dirs: []string{w.facts.Dir}, src: v, zero: known("bash"), out: &stream{cmd: -1}, maybe: 1}
	switch {
	case kind == "prompt":
		w.embedded(st, v)
	case n == "PROMPT_COMMAND", kind == "page", kind == "edit", kind == "ssh", n == "GIT_EXTERNAL_DIFF", n == "LESSOPEN", n == "LESSCLOSE":
		if w.enter() {
			w.source(st, v)
			w.leave()
		}
	}
}

// danger says what a variable with this value can do, or "".
func (w *reading) danger(n string, t text) string {
	if own, ok := w.Env[n]; ok && t.is(own) {
		return "" // what it is anyway
	}
	if kind, ok := programs[n]; ok {
		if t.class == exact && harmlessProgram(kind, t.s) {
			return ""
		}
		return "names a command that other programs run"
	}
	if searched[n] {
		return w.search(n, t)
	}
	fixed := t.class == exact
	switch {
	case loaders[n]:
		if fixed && t.s == "" && !strings.HasPrefix(n, "GIT_CONFIG") {
			return ""
		}
		if n == "MAKEFLAGS" && fixed && strings.Trim(strings.TrimPrefix(t.s, "-j"), "0123456789 ") == "" {
			return ""
		}
		if (n == "DOCKER_HOST" || n == "GOPROXY") && fixed && (strings.HasPrefix(t.s, "unix:///var/run/") || t.s == "off" || officialProxy(t.s)) {
			return ""
		}
		if strings.HasPrefix(n, "GIT_CONFIG_") && fixed && t.s == "/dev/null" {
			return ""
		}
		return "changes what other programs load or where they look"
	case n == "NODE_OPTIONS":
		if fixed && onlyOptions(t.s, "--max-old-space-size", "--max_old_space_size", "--experimental-", "--no-warnings", "--trace-", "--enable-source-maps",
			"--unhandled-rejections", "--openssl-legacy-provider", "--no-deprecation", "--stack-size", "--no-experimental-", "--dns-result-order",
			"--max-semi-space-size", "--expose-gc", "--preserve-symlinks", "--throw-deprecation", "--pending-deprecation", "--max-http-header-size") {
			if !strings.Contains(t.s, "loader") {
				return ""
			}
		}
		return "can make node load other code"
	case n == "GOFLAGS", n == "RUSTFLAGS", n == "CFLAGS", n == "CXXFLAGS", n == "LDFLAGS", n == "CGO_CFLAGS", n == "CGO_LDFLAGS", n == "MAVEN_OPTS",
		n == "GRADLE_OPTS", n == "PYTEST_ADDOPTS", n == "RUSTDOCFLAGS":
		if fixed && !strings.Contains(t.s, "toolexec") && !strings.Contains(t.s, "-exec") && !strings.Contains(t.s, "overlay") &&
			!strings.Contains(t.s, "linker") && !strings.Contains(t.s, "plugin") && !strings.Contains(t.s, "agent") && !strings.Contains(t.s, "-p ") &&
			!strings.Contains(t.s, "-B") && !strings.Contains(t.s, "wrapper") && !strings.Contains(t.s, "specs") {
			return ""
		}
		return "can make the build run other code"
	case strings.HasPrefix(n, "GIT_TRACE") && fixed && strings.HasPrefix(t.s, "/"):
		return "makes git write to a file"
	case strings.HasPrefix(n, "GIT_CONFIG_KEY_"), strings.HasPrefix(n, "GIT_CONFIG_VALUE_"), strings.HasPrefix(n, "BASH_FUNC_"),
		strings.HasPrefix(n, "LD_") && n != "LD_RUN_PATH", strings.HasPrefix(n, "DYLD_"),
		strings.HasPrefix(strings.ToLower(n), "npm_config_") && (strings.HasSuffix(strings.ToLower(n), "shell") || strings.HasSuffix(strings.ToLower(n), "script_shell")):
		return "changes what other programs run"
	case n == "IFS" && !fixed:
		return "changes how words are split"
	}
	return ""
}

// harmlessProgram reports whether a command in a variable does nothing by itself.
func harmlessProgram(kind, v string) bool {
	f := strings.Fields(v)
	if len(f) == 0 {
		return true
	}
	if strings.ContainsAny(v, ";|&$`<>()\n") {
		return kind == "prompt" && !strings.ContainsAny(v, "$`")
	}
	first := f[0]
	switch kind {
	case "page":
		return slices.Contains([]string{"cat", "less", "more", "head", "tail", "most", "true", "bat", "delta"}, first) && !strings.ContainsAny(v, "+!")
	case "edit":
		return (first == "true" || first == ":" || first == "cat" || first == "echo" || len(f) < 3) &&
			slices.Contains([]string{"true", ":", "cat", "echo", "vi", "vim", "nvim", "nano", "emacs", "code", "micro", "subl"}, first) &&
			(len(f) < 2 || slices.Contains([]string{"--wait", "-w"}, f[1]) || first == "echo")
	case "ssh":
		return first == "ssh" && !strings.Contains(strings.ToLower(v), "command") && !strings.Contains(v, "-F") && !strings.Contains(v, "Provider") &&
			!strings.Contains(v, "-S") && !strings.Contains(v, "-E") && !strings.Contains(v, "Include")
	case "ask":
		return v == "true" || v == "false" || v == "echo" || v == "/bin/true" || v == "/bin/false" || v == "/bin/echo" || v == "none"
	case "tool":
		for _, word := range f {
			if strings.Contains(word, "/") && !slices.Contains(systemDirs, path.Dir(word)) || strings.HasPrefix(word, "-B") || strings.Contains(word, "wrapper") {
				return false
			}
		}
		return slices.ContainsFunc([]string{"cc", "c++", "gcc", "g++", "clang", "ld", "ar", "as", "ccache", "sccache", "rustc", "lld", "mold", "gfortran",
			"nm", "ranlib", "strip", "cpp", "bash", "sh", "zsh", "python", "zig", "tcc", "musl"}, func(p string) bool {
			return strings.Contains(path.Base(first), p)
		})
	case "prompt":
		return !strings.ContainsAny(v, "$`")
	}
	return v == "0"
}

// onlyOptions reports whether every word of s begins with one of the options.
func onlyOptions(s string, options ...string) bool {
	for f := range strings.FieldsSeq(s) {
		if !slices.ContainsFunc(options, func(o string) bool { return strings.HasPrefix(f, o) }) && strings.Trim(f, "0123456789") != "" {
			return false
		}
	}
	return true
}

// search looks at a list of directories: programs and libraries of the system,
// of the user's toolchains and, but for PATH, of the workspace are in order.
func (w *reading) search(n string, t text) string {
	const why = "changes where programs or libraries are found"
	if t.class != exact {
		return why
	}
	for dir := range strings.SplitSeq(t.s, ":") {
		if dir == "" && n == "PATH" {
			return why // the current directory
		}
		if !strings.HasPrefix(dir, "/") || strings.Contains(dir, "..") {
			if n == "PATH" || strings.Contains(dir, "..") {
				return why
			}
			continue
		}
		switch {
		case w.inRoots(dir):
			if n == "PATH" && !strings.HasSuffix(dir, "/node_modules/.bin") && !strings.HasSuffix(dir, "venv/bin") {
				return why
			}
		case strings.HasPrefix(dir, "/usr/"), strings.HasPrefix(dir, "/bin"), strings.HasPrefix(dir, "/sbin"), strings.HasPrefix(dir, "/opt/"),
			strings.HasPrefix(dir, "/snap/"), strings.HasPrefix(dir, "/nix/"), strings.HasPrefix(dir, "/Library/"), strings.HasPrefix(dir, "/home/linuxbrew/"):
		case w.Home != "" && strings.HasPrefix(dir, w.Home+"/") && toolchain(dir[len(w.Home)+1:]):
		default:
			if own, ok := w.Env[n]; ok && slices.Contains(strings.Split(own, ":"), dir) {
				continue
			}
			return why
		}
	}
	return ""
}

// toolchain reports whether a directory of the home directory is one that
// installers of programs use.
func toolchain(rel string) bool {
	for _, p := range [...]string{".cargo/bin", "go/bin", ".local/bin", ".npm-global/", ".nvm/", ".pyenv/", ".rbenv/", ".asdf/", ".volta/", ".bun/bin", ".deno/bin",
		".local/share/", ".yarn/", ".pnpm", ".sdkman/", ".rustup/", ".poetry/bin", ".krew/bin", ".dotnet", ".composer/", ".config/composer/", ".foundry/bin", ".go/bin",
		"sdk/", "Android/", "Library/", "miniconda3/", "anaconda3/", ".gem/", ".ghcup/bin", ".cabal/bin", ".opam/", ".nix-profile/", ".linuxbrew/", ".fzf/bin"} {
		if strings.HasPrefix(rel+"/", p) {
			return true
		}
	}
	return false
}

// officialProxy reports whether a GOPROXY list holds only the Go project's own
// proxy, over HTTPS, and "direct".
func officialProxy(list string) bool {
	for p := range strings.SplitSeq(list, ",") {
		host, ok := strings.CutPrefix(strings.TrimSuffix(p, "/"), "https://")
		if p != "direct" && (!ok || !strings.HasSuffix(host, ".golang.org") || strings.ContainsAny(host, "/@:?#")) {
			return false
		}
	}
	return true
}
