package sandbox

// DefaultToolchains are the paths below the home directory that commands can
// read: programs, and settings that programs need. A user's list can replace it.
var DefaultToolchains = []string{
	".asdf", ".bun", ".cargo", ".deno", ".dotnet", ".fnm", ".gem", ".ghcup", ".goenv", ".julia", ".juliaup", ".jdks", ".local/bin", ".local/lib",
	".local/share/fnm", ".local/share/mise", ".local/share/pnpm", ".local/share/pypoetry", ".local/share/rtx", ".local/share/uv", ".local/share/virtualenv",
	".m2/wrapper", ".nix-profile", ".nodenv", ".nvm", ".opam", ".phpenv", ".pyenv", ".rbenv", ".rustup", ".rvm", ".sdkman", ".swiftly", ".volta",
	"go", "miniconda3", "anaconda3", "mambaforge", "miniforge3", "n", "sdk",
	".config/git", ".config/mise", ".config/go", ".gitconfig", ".gitignore_global", ".editorconfig", ".terminfo",
}

// DefaultCredentials are the paths below the home directory that no command
// reads, though they may lie in a toolchain: a policy that names one exactly
// gives it. A user's list can replace it.
var DefaultCredentials = []string{
	".cargo/credentials", ".cargo/credentials.toml", ".config/git/credentials", ".git-credentials", ".gem/credentials",
	".local/share/gem/credentials", ".netrc", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".m2/settings.xml", ".m2/settings-security.xml",
	".gradle/gradle.properties", ".config/pip/pip.conf", ".pip/pip.conf", ".config/pypoetry/auth.toml", ".local/share/uv/credentials", ".rvm/user",
	".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".config/gcloud", ".config/gh", ".config/hub", ".config/op", ".password-store",
	".local/share/keyrings", ".vault-token", ".terraform.d/credentials.tfrc.json", ".config/rclone", ".config/sops", ".nuget/NuGet/NuGet.Config",
	".bash_history", ".zsh_history", ".python_history", ".psql_history", ".mysql_history", ".pgpass", ".my.cnf",
}

// DefaultCaches returns the package caches below home that commands read
// through an overlay.
func DefaultCaches(home string) []string {
	var all []string
	for _, p := range []string{
		".cache/go-build", "go/pkg/mod", ".npm", ".cache/yarn", ".yarn/berry/cache", ".local/share/pnpm/store", ".cache/pnpm", ".bun/install/cache",
		".cache/node", ".cache/pip", ".cache/uv", ".cache/pypoetry", ".cargo/registry", ".cargo/git", ".m2/repository", ".gradle/caches", ".gradle/wrapper",
		".nuget/packages", ".cache/deno", ".cache/ccache", ".ccache", ".cache/sccache", ".cache/bazel", ".cache/zig", ".cache/golangci-lint", ".cache/pre-commit",
	} {
		all = append(all, home+"/"+p)
	}
	return all
}

// rootSecrets are what user 0 could read without any capability, as its owner.
var rootSecrets = []string{
	"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssl/private", "/etc/krb5.keytab", "/etc/wireguard",
	"/etc/ssh/ssh_host_rsa_key", "/etc/ssh/ssh_host_ecdsa_key", "/etc/ssh/ssh_host_ed25519_key", "/etc/NetworkManager/system-connections",
	"/etc/kubernetes", "/etc/rancher", "/etc/letsencrypt", "/var/lib/docker", "/var/lib/containerd", "/var/lib/kubelet", "/var/lib/rancher", "/var/lib/sss",
	"/var/lib/postgresql", "/var/lib/mysql", "/var/lib/redis", "/var/backups", "/var/spool/cron", "/var/mail", "/var/spool/mail", "/var/log", "/boot",
}
