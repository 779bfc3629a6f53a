package rules

import (
	"path"
	"slices"
	"strings"

	"handrail/guard"
)

// The tables of sensitive names. All are in lower case and compared with the
// lower-cased path: file systems of macOS and Windows fold case
// (CVE-2025-59944). A name pattern is matched against the last part of the
// path; a tree pattern against any run of its parts, and covers what lies below.

// secretNames hold secrets wherever they lie: changing one asks.
// Source: the sensitive files of BitCode's tool guards; TruffleHog's and gitleaks' lists.
var secretNames = []string{
	".env", ".env.*", "*.env", "*credential*", "*secret*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk",
	"id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "authorized_keys*", "known_hosts*", ".netrc", "_netrc", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc",
	".git-credentials", ".pgpass", ".my.cnf", ".mylogin.cnf", ".htpasswd", ".vault-token", ".s3cfg", ".boto", ".dockercfg",
}

// secretTrees hold secrets, or decide who may log in where.
var secretTrees = []string{".ssh", ".gnupg", ".aws", ".azure", ".kube/config", ".docker/config.json", ".config/gcloud", ".config/gh", ".config/hub", ".config/op", ".config/rclone", ".config/doctl",
	".password-store", ".local/share/keyrings", "library/keychains", ".terraform.d", ".fly", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", "etc/ssl/private", "etc/sudoers.d"}

// harmlessNames mark examples and public halves.
var harmlessNames = []string{".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults", ".env.schema", ".env.*.example", ".env.*.sample", ".env.*.template",
	"example.env", "sample.env", "template.env"}

// readNames are files whose content is a secret: reading asks.
var readNames = []string{
	"*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.pem",
	"id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".netrc", "_netrc", ".pypirc", ".git-credentials", ".pgpass", ".mylogin.cnf", ".vault-token", ".s3cfg", ".boto", ".dockercfg",
	"ssh_host_*_key", "*.keytab",
}

// readTrees are stores of credentials.
var readTrees = []string{
	".ssh", ".gnupg", ".password-store", ".aws/credentials", ".aws/sso/cache", ".aws/cli/cache", ".azure", ".kube/config", ".kube/cache/oidc-login", ".docker/config.json",
	".config/gcloud", ".config/gh/hosts.yml", ".config/hub", ".config/op", ".config/rclone/rclone.conf", ".config/doctl/config.yaml", ".config/glab-cli/config.yml",
	".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".terraform.d/credentials.tfrc.json", ".fly/config.yml", ".local/share/keyrings", "library/keychains",
	".mozilla/firefox", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/bravesoftware", ".config/microsoft-edge", ".config/vivaldi", ".config/opera", "snap/firefox",
	"library/application support/google/chrome", "library/application support/firefox", "library/application support/bravesoftware", "library/application support/microsoft edge",
	"library/application support/arc", "library/cookies", "library/safari", ".config/1password", ".config/bitwarden", ".config/keybase",
	"etc/shadow", "etc/shadow-", "etc/gshadow", "etc/gshadow-", "etc/sudoers", "etc/sudoers.d", "etc/ssl/private", "etc/letsencrypt", "etc/krb5.keytab", "run/secrets", "var/run/secrets",
	"etc/kubernetes/pki", "etc/kubernetes/admin.conf", "etc/rancher", "var/lib/docker",
}

// publicNames are in those stores or look like keys, and are none.
var publicNames = []string{"*.pub", "known_hosts*", "authorized_keys*", "*cert*.pem", "*ca.pem", "ca-*.pem", "*chain*.pem", "*public*.pem", "*.pub.pem", "*.crt.pem", "dhparam*.pem", "*bundle*.pem"}

// publicTrees hold certificates and packages, not keys.
var publicTrees = []string{"/etc/ssl/certs", "/etc/pki/ca-trust", "/etc/pki/tls/certs", "/usr", "/lib", "/lib64", "/nix/store", "/System", "/Library/Frameworks", "/etc/ca-certificates"}

// wholeTrees are directories of which clients obey only some parts, but
// removing or moving them takes those parts too.
var wholeTrees = []string{".vscode", ".config"}

// nameIs reports whether the last part of lower matches one of patterns.
func nameIs(patterns []string, lower string) bool {
	base := path.Base(lower)
	return slices.ContainsFunc(patterns, func(p string) bool { return fits(p, base) })
}

// fits is path.Match for the patterns of the tables, most of which have a star
// at their ends only.
func fits(pattern, base string) bool {
	middle := strings.Trim(pattern, "*")
	front, back := pattern[0] == '*', pattern[len(pattern)-1] == '*'
	switch {
	case strings.IndexByte(middle, '*') >= 0:
		ok, err := path.Match(pattern, base)
		return ok || err != nil
	case front && back:
		return strings.Contains(base, middle)
	case front:
		return strings.HasSuffix(base, middle)
	case back:
		return strings.HasPrefix(base, middle)
	}
	return pattern == base
}

// inTree reports whether lower is one of trees or below one.
func inTree(trees []string, lower string) bool {
	return slices.ContainsFunc(trees, func(t string) bool {
		for rest, off := lower, 0; ; {
			i := strings.Index(rest[off:], t)
			if i < 0 {
				return false
			}
			i += off
			end := i + len(t)
			if i > 0 && rest[i-1] == '/' && (end == len(rest) || rest[end] == '/') {
				return true
			}
			off = i + 1
		}
	})
}

// secretName reports whether file is named like one that holds secrets.
func secretName(file string) bool {
	lower := strings.ToLower(file)
	return !nameIs(harmlessNames, lower) && (nameIs(secretNames, lower) || inTree(secretTrees, lower))
}

// gitFile reports whether file is one that git obeys: all in a .git, since
// commondir, HEAD, index and the files of worktrees and modules can lead git to
// another configuration, and a file named .git, which leads to another
// repository. Locks that a git left behind and messages of commits are not.
func gitFile(file string) bool {
	lower := strings.ToLower(file)
	if !inTree(guard.GitTrees, lower) && nameIs([]string{"*.lock", "*_editmsg", "*_msg"}, lower) {
		return false
	}
	return inTree([]string{".git"}, lower)
}

// secretFile says what secret the content of file is, or is empty.
func secretFile(file string, pol Policy) string {
	lower := strings.ToLower(file)
	what := ""
	switch {
	case processSecret(lower):
		return "the memory or environment of a process"
	case inTree(readTrees, lower) && !(path.Base(lower) == "config" && inTree([]string{".ssh"}, lower)):
		what = "a credential store"
	case nameIs(readNames, lower) && !inside(publicTrees, file):
		what = "a private key or credential"
	}
	if what != "" && nameIs(publicNames, lower) {
		return ""
	}
	return what
}

// processSecret reports whether a path of /proc shows what another process, or
// the kernel, keeps to itself.
func processSecret(lower string) bool {
	rest, ok := strings.CutPrefix(lower, "/proc/")
	if !ok {
		return false
	}
	if rest == "kcore" || rest == "kmem" {
		return true
	}
	pid, what, ok := strings.Cut(rest, "/")
	own := pid == "self" || pid == "thread-self"
	if !ok || !own && strings.Trim(pid, "0123456789") != "" {
		return false
	}
	if own { // maps and fd of a program itself tell nothing new; its environment may hold secrets
		return slices.Contains([]string{"environ", "mem"}, path.Base(what))
	}
	return slices.Contains([]string{"environ", "mem", "maps", "smaps", "auxv", "stack"}, path.Base(what)) || within("fd", what) || within("root", what) || within("cwd", what)
}
