//go:build linux || darwin

package sandbox

import (
	_ "embed"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// seatbeltBase is what every command of the tier seatbelt may do. It closes by
// default; later rules win over earlier ones.
//
//go:embed seatbelt.sb
var seatbeltBase string

// profile is a Seatbelt profile and the values of its parameters, NAME=value.
// Paths stand in parameters, so that none of them can be read as a rule.
type profile struct {
	text   strings.Builder
	params []string
	pinned []string
}

// param gives path a parameter and returns the expression for it.
func (f *profile) param(path string) string {
	name := "P" + strconv.Itoa(len(f.params))
	f.params = append(f.params, name+"="+path)
	return `(param "` + name + `")`
}

// rule adds a rule about paths and what lies below them: literal as well as
// subpath, since a subpath that does not exist does not cover its own making.
func (f *profile) rule(what string, paths ...string) {
	for _, path := range paths {
		p := f.param(path)
		fmt.Fprintf(&f.text, "(%s (literal %s) (subpath %s))\n", what, p, p)
	}
}

// seatbelt makes the profile of p. port is that of the proxy on the loopback,
// and counts with Domains only. It is a function of its arguments and of what
// stands in the roots.
func (s *Settings) seatbelt(p *Policy, port int) (*profile, error) {
	f := &profile{}
	for _, root := range p.Roots {
		if !filepath.IsAbs(root) || root == "/" || strings.ContainsFunc(root, func(r rune) bool { return r == '"' || r > unicode.MaxASCII || !unicode.IsPrint(r) }) {
			return nil, fmt.Errorf("%q cannot be a workspace root in Seatbelt: its protected names have to be written as regular expressions", root)
		}
	}
	if p.Open {
		f.text.WriteString("(version 1)\n(allow default)\n(deny appleevent-send)\n(deny lsopen)\n")
	} else {
		f.text.WriteString(seatbeltBase)
		toolchains := s.Toolchains
		if toolchains == nil {
			toolchains = DefaultToolchains
		}
		for _, name := range toolchains {
			f.rule("allow file-read*", firmlink(filepath.Join(p.Home, name)))
		}
		f.rule("allow file-read*", firmlinks(p.Read)...)
		for _, path := range firmlinks(slices.Concat(p.Roots, []string{s.Scratch, p.Scratch}, p.Write)) {
			f.rule("allow file-read* file-write*", path)
		}
		f.network(p.Network, port)
	}
	f.protect(p)
	for _, path := range firmlinks(s.unread().of(p)) {
		f.rule("deny file-read* file-write*", path)
		f.pin(p.Roots, path)
	}
	return f, nil
}

// network adds what p reaches. Unix sockets are none of it.
func (f *profile) network(n Network, port int) {
	switch n {
	case Domains:
		fmt.Fprintf(&f.text, "(allow system-socket)\n(allow network-outbound (remote tcp \"localhost:%d\"))\n", port)
	case Full:
		f.text.WriteString(`(allow system-socket)
(allow network-outbound (remote ip "*:*"))
(allow network-inbound (local ip "*:*"))
(allow network-bind (local ip "*:*"))
(allow network-outbound (literal "/private/var/run/mDNSResponder"))
(allow mach-lookup (global-name "com.apple.SystemConfiguration.configd") (global-name "com.apple.SystemConfiguration.DNSConfiguration")
	(global-name "com.apple.trustd") (global-name "com.apple.trustd.agent") (global-name "com.apple.networkd"))
`)
	}
}

// protect adds the protected paths, by their own spelling and in any letter
// case, existing or not, and pins the directories above them.
func (f *profile) protect(p *Policy) {
	var configs []string
	for _, root := range p.Roots {
		for _, git := range once.gitDirs(root) {
			configs = append(configs, filepath.Join(git, "config"), filepath.Join(git, "config.worktree"))
		}
	}
	for _, path := range slices.Concat(Protected(p.Roots), p.Protected, p.Secrets) {
		if below(p.Allowed, path) || p.GitConfig && slices.Contains(configs, path) {
			continue
		}
		f.rule("deny file-write*", firmlink(path))
		for _, root := range p.Roots {
			if rel, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(rel) && rel != "." {
				fmt.Fprintf(&f.text, "(deny file-write* (regex #\"^%s/%s(/|$)\"))\n", regexp.QuoteMeta(firmlink(root)), anyCase(rel))
			}
		}
		f.pin(p.Roots, path)
	}
}

// pin forbids to rename or remove the directories between path and its root,
// and the root.
func (f *profile) pin(roots []string, path string) {
	for _, root := range roots {
		if !below([]string{root}, path) || path == root {
			continue
		}
		for dir := filepath.Dir(path); below([]string{root}, dir); dir = filepath.Dir(dir) {
			real := firmlink(dir)
			if slices.Contains(f.pinned, real) {
				continue
			}
			f.pinned = append(f.pinned, real)
			fmt.Fprintf(&f.text, "(deny file-write-unlink (literal %s))\n", f.param(real))
		}
	}
}

// anyCase is a regular expression for rel in any letter case.
func anyCase(rel string) string {
	var b strings.Builder
	for _, r := range rel {
		lower, upper := unicode.ToLower(r), unicode.ToUpper(r)
		if lower != upper {
			b.WriteString("[" + string(lower) + string(upper) + "]")
		} else {
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	return b.String()
}

// firmlink is path as the kernel of macOS names it: /tmp, /var and /etc are
// links to below /private.
func firmlink(path string) string {
	for _, dir := range []string{"/tmp", "/var", "/etc"} {
		if below([]string{dir}, path) {
			return "/private" + path
		}
	}
	return path
}

// firmlinks are paths so, without those that are empty.
func firmlinks(paths []string) []string {
	var all []string
	for _, p := range paths {
		if p != "" {
			all = append(all, firmlink(p))
		}
	}
	return all
}
