package tools

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"handrail/guard/text"
	"handrail/tools/sandbox"
)

// What programs say when the kernel refuses them something, by what it was.
var (
	saysNetwork = text.Pattern(`(?i)could not resolve|name or service not known|temporary failure in name resolution|network is unreachable|no such host|unable to resolve host|\b(ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH)\b|failed to lookup address|Could not connect to server|unable to look ?up|dial tcp|getaddrinfo|nodename nor servname`)
	saysSocket  = text.Pattern(`(?i)ssh-agent|SSH_AUTH_SOCK|docker daemon|docker\.sock|podman\.sock|D-?Bus|gpg failed to sign|gpg-agent|Host key verification failed|Permission denied \(publickey`)
	saysWrite   = text.Pattern(`(?i)read-only file system|\bEROFS\b|device or resource busy`)
	saysDenied  = text.Pattern(`(?i)permission denied|operation not permitted|\b(EACCES|EPERM)\b`)
	saysMissing = text.Pattern(`(?i)no such file or directory|\bENOENT\b|cannot find`)
	saysInput   = text.Pattern(`(?i)EOFError|EOF when reading|not a (tty|terminal)|no tty|inappropriate ioctl for device|end of file.*(input|prompt)|/dev/tty: No such|could not read (Username|Password)|interactive (mode|terminal)|must be run (in|from) a terminal`)
	pathIn      = text.Pattern(`[^\s'"` + "`" + `:,;()<>|]*/[^\s'"` + "`" + `:,;()<>|]+`)
)

// maxRefusals is how many refusals a result names.
const maxRefusals = 5

// refusals says what the output of a failed run shows that the sandbox refused.
// It is a guess from words, made only to advise: nothing is decided by it.
func (c *confined) refusals(output string) (seen []string) {
	add := func(what string) {
		if len(seen) < maxRefusals && !slices.Contains(seen, what) {
			seen = append(seen, what)
		}
	}
	p := c.plan.policy
	for line := range strings.Lines(output) {
		if len(line) > 1000 {
			continue
		}
		switch {
		case saysSocket().MatchString(line):
			add("sockets and agents of the user (ssh, docker, signing)")
		case p.Network != sandbox.Full && saysNetwork().MatchString(line):
			if name, here := hostIn(line); p.Network == sandbox.NoNetwork && !here {
				add(strings.TrimSpace(network + " " + name))
			}
		case saysWrite().MatchString(line):
			add("writing " + c.pathOf(line, "outside the workspace, or a protected file"))
		case saysDenied().MatchString(line):
			if path := c.pathOf(line, ""); path != "" {
				add("access to " + path)
			}
		case saysMissing().MatchString(line):
			if path := c.pathOf(line, ""); path != "" && c.unseen(path) {
				add("reading " + path)
			}
		}
	}
	return seen
}

// pathOf is the path outside the workspace, or obeyed by other programs, that a
// line names, or other.
func (c *confined) pathOf(line, other string) string {
	for _, path := range pathIn().FindAllString(line, 8) {
		if !filepath.IsAbs(path) {
			path = filepath.Join(c.roots[0], path)
		}
		if !below(path, c.roots) && !below(path, []string{c.plan.policy.Scratch}) || obeyed(path) || below(path, c.plan.policy.Secrets) {
			return path
		}
	}
	return other
}

// unseen reports whether path is there outside the sandbox, below the home
// directory or another that is private inside.
func (c *confined) unseen(path string) bool {
	_, err := os.Lstat(path)
	return err == nil && !below(path, open)
}

// What a refusal is often about, and what to do then; on a server for several
// principals, where nobody can approve more, that is hosted.
var advices = []struct {
	says       func() *regexp.Regexp
	do, hosted string
}{
	{text.Pattern(`(?i)gpg failed to sign|failed to write commit object|Couldn't load public key|No secret key|incorrect passphrase supplied to decrypt private key`),
		"a signature needs the user's key, which no sandbox has: `git commit --no-gpg-sign` leaves it out, `escalate` asks for it",
		"a signature needs a key, which no sandbox has: `git commit --no-gpg-sign` leaves it out"},
	{text.Pattern(`(?i)(127\.0\.0\.1|localhost|::1)[^\n]*(refused|connect)|(refused|connect)[^\n]*(127\.0\.0\.1|localhost|::1)`),
		"localhost is the sandbox's own: what it started is reached there, a service of this machine by `escalate`",
		"localhost is the sandbox's own: what it started is reached there, no service of the server's machine"},
}

// advice says what to do about what the output of a failed run shows.
func (c *confined) advice(output string) []string {
	notes := advice(output, c.shared)
	if c.box.Enforcement().Tier == sandbox.Landlock { // it has no localhost of its own
		notes = slices.DeleteFunc(notes, func(n string) bool { return strings.HasPrefix(n, "localhost is") })
	}
	return notes
}

// advice is that, on a server for several principals (hosted) or elsewhere.
func advice(output string, hosted bool) (notes []string) {
	for _, a := range advices {
		switch {
		case !a.says().MatchString(output):
		case hosted:
			notes = append(notes, a.hosted)
		default:
			notes = append(notes, a.do)
		}
	}
	return notes
}

// waited reports whether the output of a failed command shows that it wanted to
// ask somebody.
func waited(output string) bool { return saysInput().MatchString(output) }
