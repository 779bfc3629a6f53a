package shell

import (
	"net/netip"
	"strconv"
	"strings"

	"handrail/guard"
	"handrail/guard/command"
	"handrail/guard/disk"
)

// hostOf returns the host[:port] of a URL, of user@host:path, or of a host.
func (k *work) hostOf(s string) string {
	if h, ok := command.Authority(s); ok {
		return h
	}
	if i := strings.LastIndexByte(s, '@'); i >= 0 && !strings.Contains(s[:i], "/") {
		s = s[i+1:]
	}
	return led(s)
}

// led is where HOST:PORT:ADDRESS or HOST:PORT:HOST:PORT leads, as curl takes them
// for --resolve and --connect-to; anything else stays as it is.
func led(s string) string {
	parts := strings.SplitN(s, ":", 3)
	if len(parts) < 3 {
		return s
	}
	if _, err := netip.ParseAddr(s); err == nil {
		return s
	}
	if _, err := strconv.ParseUint(parts[1], 10, 16); err != nil || parts[0] == "" {
		return s
	}
	if a, err := netip.ParseAddr(strings.Trim(parts[2], "[]")); err == nil {
		return a.String()
	}
	to, port, ok := strings.Cut(parts[2], ":")
	if _, err := strconv.ParseUint(port, 10, 16); !ok || err != nil || to == "" || strings.ContainsAny(to, ",/@[]") {
		return s
	}
	return parts[2]
}

// host emits an effect on a host.
func (k *work) host(kind guard.Kind, action string, p command.Part, target string) int {
	t := k.text(p)
	k.from = k.from.with(t.from)
	e := guard.Effect{Kind: kind, Action: action, Target: target, Written: k.typedOf(p), Command: k.index}
	// A URL whose host is complete is known well enough.
	e.Exact = t.class == exact || target != "" && !strings.HasSuffix(t.s, target) && strings.Contains(t.s, target)
	if target == "" && !e.Exact {
		k.hide(k.index, "which host is meant is not known", e.Written)
	}
	i := k.emit(e)
	if kind == guard.Network {
		k.flow(i, t.from)
		if action == "" || action == "send" {
			k.net = k.net.with(taint{i})
		}
		if action == "send" || action == "shell" {
			k.puts = append(k.puts, i)
		}
	}
	return i
}

// url is what is fetched, or where data goes when the call sends any.
func (k *work) url(p command.Part) {
	t := k.text(p)
	if rest, ok := strings.CutPrefix(t.s, "file://"); ok {
		p.Word.Text = rest
		p.Index = -1
		k.path(p, guard.Read, "")
		return
	}
	action := ""
	if p.Role == command.SendURL || k.sends || len(t.from) > 0 && k.secret(t.from) {
		action = "send"
	}
	k.host(guard.Network, action, p, k.hostOf(t.s))
}

// secret reports whether data of files or secrets is in a text: in a URL it goes out.
func (k *work) secret(from taint) bool {
	for _, i := range from {
		if i < len(k.facts.Effects) {
			e := k.facts.Effects[i]
			if e.Kind == guard.Read && e.Action == "" || e.Kind == guard.System && e.Action == "secret" {
				return true
			}
		}
	}
	return false
}

// upload is data to be sent: "@path" and "name=@path" read a file.
func (k *work) upload(p command.Part) {
	t := k.text(p)
	k.from = k.from.with(t.from)
	s := t.s
	if i := strings.Index(s, "=@"); i >= 0 {
		s = s[i+1:]
	} else if i := strings.Index(s, "=<"); i >= 0 {
		s = "@" + s[i+2:]
	}
	file, ok := strings.CutPrefix(s, "@")
	if !ok {
		return
	}
	file, _, _ = strings.Cut(file, ";")
	if file == "-" {
		k.fed = true
		return
	}
	p.Word.Text = file
	k.reads = k.reads.with(k.path(p, guard.Read, ""))
}

// peer is a path, or a place on another machine.
func (k *work) peer(p command.Part, destination bool) {
	t := k.text(p)
	host, remote := remotePeer(t.s)
	switch {
	case remote && destination:
		k.host(guard.Network, "send", p, host)
	case remote:
		k.host(guard.Network, "", p, host)
	case destination:
		p.Deep = true
		k.puts = append(k.puts, k.path(p, guard.Write, "")...)
	default:
		k.path(p, guard.Read, "")
	}
}

// remotePeer returns the host of [user@]host:path or of a URL.
func remotePeer(s string) (host string, ok bool) {
	if h, isURL := command.Authority(s); isURL && strings.Contains(s, "://") {
		return h, !strings.HasPrefix(s, "file:")
	}
	colon, slash := strings.IndexByte(s, ':'), strings.IndexByte(s, '/')
	if colon <= 0 || slash >= 0 && slash < colon {
		return "", false
	}
	host = s[:colon]
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:]
	}
	return host, true
}

// revision is a revision or a path: a path's uncommitted changes are lost.
func (k *work) revision(p command.Part) {
	t := k.text(p)
	if t.class == exact && !strings.ContainsAny(t.s, "*?[") {
		seen := false
		for _, pl := range k.places(k.st, t, false) {
			seen = seen || k.view.Stat(pl.path).Type != disk.Absent
		}
		if !seen {
			return
		}
	}
	k.path(p, guard.Delete, "discard")
}

// assigned is NAME=VALUE for the environment of what follows.
func (k *work) assigned(p command.Part) {
	t := k.text(p)
	n, v, ok := strings.Cut(t.s, "=")
	if !ok {
		if t.class != exact {
			k.hide(k.index, "an environment variable that is not known", k.typedOf(p))
		}
		return
	}
	t.s = v
	k.environment(n, t, k.typedOf(p), k.index)
	k.st.set(n, value{one: t, exported: true})
}

// config is KEY=VALUE of the program's own configuration.
func (k *work) config(p command.Part) {
	t := k.text(p)
	key, v, _ := strings.Cut(t.s, "=")
	if t.class == exact && harmlessConfig(strings.ToLower(key), v) {
		return
	}
	k.emit(guard.Effect{Kind: guard.System, Action: "environment", Target: key, Written: k.typedOf(p), Exact: t.class == exact,
		Note: "can make " + k.name + " run other code", Command: k.index})
	if body, shell := strings.CutPrefix(v, "!"); t.class == exact && k.b.Path[0] == "git" && (shell || runsShell(strings.ToLower(key))) {
		k.inShell(k.child(), known(body), k.typedOf(p))
	}
}

// runsShell reports whether git gives the value of a setting to a shell.
func runsShell(key string) bool {
	for _, end := range [...]string{".sshcommand", ".editor", ".pager", ".cmd", ".clean", ".smudge", ".textconv", ".driver", ".external", ".command"} {
		if strings.HasSuffix(key, end) {
			return true
		}
	}
	return strings.HasPrefix(key, "pager.") || key == "core.fsmonitor"
}

// harmlessConfig reports whether a git setting can make git run nothing.
func harmlessConfig(key, v string) bool {
	if v == "" || v == "cat" || v == "true" || v == "false" {
		return !strings.HasPrefix(key, "include") && !strings.HasPrefix(key, "core.fsmonitor") || v == "false"
	}
	for _, part := range [...]string{"sshcommand", "pager", "editor", "askpass", "fsmonitor", "hookspath", "external", "textconv",
		"clean", "smudge", "process", "helper", "driver", "cmd", "program", "proxy", "command", "uploadpack", "receivepack",
		"alias.", "include", "templatedir", "attributesfile", "excludesfile", "worktree", "vcs", "insteadof", "cookiefile",
		"protocol.", "sslverify", "safe.", "credential", "difftool", "mergetool", "gpg", "http.", "remote.", "url.",
		"prepend", "append_file", "extension", "hooks.", "linker", "link-arg", "include_path", "ui."} {
		if strings.Contains(key, part) {
			if v == "/dev/null" && part == "hookspath" || part == "http." && strings.Contains(key, "postbuffer") {
				return true
			}
			return false
		}
	}
	return true
}

// sql reads statements for a database.
func (k *work) sql(t text) {
	k.from = k.from.with(t.from)
	if t.class != exact {
		k.hide(k.index, "statements that are not known", t.s)
		return
	}
	role := command.SQLRole(t.s)
	if role == command.Text || role == "" {
		return
	}
	kind, action, ok := role.Kind()
	if !ok {
		return
	}
	k.emit(guard.Effect{Kind: kind, Action: action, Target: k.name, Written: t.s, Exact: true, Command: k.index})
}

// program adds the parts of a sed or awk program.
func (k *work) program(p command.Part, parts []command.Part) {
	t := k.text(p)
	k.from = k.from.with(t.from)
	if t.class != exact {
		if t.class == wild {
			k.hide(k.index, "a "+k.name+" program that is not known", k.typedOf(p))
		}
		return
	}
	for _, q := range parts {
		q.Index = -1
		k.part(q)
	}
}
