package rules

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"handrail/guard"
)

// banned are the commands that the strict profile never runs.
// Source: agentkit, policy.BannedCommands.
var banned = []string{
	"alias", "aria2c", "axel", "chrome", "curl", "curlie", "firefox", "http-prompt", "httpie", "links", "lynx", "nc", "netcat", "ncat", "safari", "scp", "sftp", "ssh", "telnet", "w3m", "wget", "xh",
	"doas", "su", "sudo", "pkexec", "gksudo", "kdesudo",
	"apk", "apt", "apt-cache", "apt-get", "dnf", "dpkg", "emerge", "home-manager", "makepkg", "opkg", "pacman", "paru", "pkg", "pkg_add", "pkg_delete", "portage", "rpm", "yay", "yum", "zypper", "snap", "flatpak", "nix-env",
	"at", "batch", "chkconfig", "crontab", "fdisk", "mkfs", "mount", "parted", "service", "systemctl", "umount", "shutdown", "reboot", "poweroff", "init", "telinit",
	"firewall-cmd", "ifconfig", "ip", "iptables", "ip6tables", "nft", "netstat", "pfctl", "route", "ufw", "nmcli", "networkctl",
	"useradd", "userdel", "usermod", "groupadd", "groupdel", "groupmod", "passwd", "chpasswd", "adduser", "deluser",
	"shred", "wipe", "dd", "losetup", "setcap", "getcap", "chroot", "unshare", "nsenter",
}

// bannedUse is a command with the words or options that make it banned: all of
// args in this order, and one of flags where there are any.
type bannedUse struct {
	command     string
	args, flags []string
}

// bannedUses come from agentkit, policy.BannedSubcommandPatterns. Those of
// commands that are banned anyway are left out.
var bannedUses = []bannedUse{
	{"brew", []string{"install"}, nil}, {"cargo", []string{"install"}, nil}, {"gem", []string{"install"}, nil}, {"go", []string{"install"}, nil},
	{"npm", []string{"install"}, []string{"--global", "-g"}}, {"pip", []string{"install"}, []string{"--user", "--system"}}, {"pip3", []string{"install"}, []string{"--user", "--system"}},
	{"pnpm", []string{"add"}, []string{"--global", "-g"}}, {"yarn", []string{"global", "add"}, nil}, {"go", []string{"test"}, []string{"-exec"}},
	{"git", []string{"config", "--global"}, nil}, {"git", []string{"config", "--system"}, nil},
	{"docker", []string{"run"}, []string{"--privileged", "-v", "/:/"}}, {"podman", []string{"run"}, []string{"--privileged"}},
}

// agentFiles come from agentkit, policy.ProtectedFiles.
var agentFiles = []string{"agent.toml", "credentials.toml", "policy.toml"}

// strict is what the strict profile adds to the standard one.
func strict() []guard.Rule {
	deny := guard.VerdictDeny
	return []guard.Rule{
		{ID: "strict/banned", Doc: "Denies commands that the strict profile never runs: network clients, package managers, privilege, services, disks. Source: agentkit, BannedCommands and BannedSubcommandPatterns.",
			Evaluate: reportBanned},
		each("strict/piped-code", "Denies code that comes down a pipe from a download or a decoder. Source: agentkit, DangerousPipePatterns.",
			func(e guard.Effect) bool { return e.Kind == guard.Code || e.Kind == guard.Unknown },
			func(p *guard.Pass, i int, e guard.Effect) {
				if from := feeder(p, e.Command); from != "" {
					p.Report(i, deny, fmt.Sprintf("%s would run code that %s brings", actor(p, i), from), "save it to a file of the workspace and read it first")
				}
			}),
		each("strict/agent-files", "Denies changing an agent's own configuration. Source: agentkit, ProtectedFiles.", changes,
			func(p *guard.Pass, i int, e guard.Effect) {
				if nameIs(agentFiles, strings.ToLower(e.Target)) {
					p.Report(i, deny, would(p, i)+", an agent's configuration", "ask the user to change it")
				}
			}),
		each("strict/delete", "Denies recursive deletion and shredding, asks before any other deletion. Source: clippy-code, destructive operations.", only(guard.Delete),
			func(p *guard.Pass, i int, e guard.Effect) {
				if e.Deep || e.Action == "shred" {
					p.Report(i, deny, would(p, i), "name the files that should go and let the user delete them")
					return
				}
				p.Report(i, guard.VerdictAsk, would(p, i), "leave the file and say why it should go")
			}),
		each("strict/system-files", "Denies changing anything in the system's trees. Source: clippy-code, system file modifications and file system attacks.", changes,
			func(p *guard.Pass, i int, e guard.Effect) {
				system := []string{"/etc", "/boot", "/sys", "/proc", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/dev", "/var", "/System", "/Library", "/private/etc"}
				if inside(system, e.Target) && !inside(p.Roots, e.Target) && !isStream(e.Target) && !within("/var/tmp", e.Target) && !within("/dev/shm", e.Target) {
					p.Report(i, deny, would(p, i)+", a file of the system", "write inside the workspace instead")
				}
			}),
		each("strict/kernel", "Denies changes to the kernel. Source: clippy-code, system file modifications.", only(guard.System, "kernel"), says(deny, "%s would change the kernel: %s")),
		each("strict/install", "Denies installing for the user or the machine, asks before any other installation. Source: clippy-code, software installation.", only(guard.Install),
			func(p *guard.Pass, i int, e guard.Effect) {
				verdict := guard.VerdictAsk
				if e.Action == "global" || e.Action == "system" {
					verdict = deny
				}
				p.Report(i, verdict, fmt.Sprintf("%s would install or remove packages: %s", actor(p, i), e.Target), "name the packages and let the user install them")
			}),
		each("strict/download-run", "Denies running what was downloaded. Source: clippy-code, network security risks.", only(guard.Code, "downloaded"), says(deny, "%s would run downloaded code: %s")),
		each("strict/scan", "Denies scanning hosts. Source: clippy-code, network security risks.", only(guard.Network, "scan"), says(deny, "%s would scan %s")),
		each("strict/privilege", "Denies gaining rights. Source: clippy-code, privilege escalation.", only(guard.Privilege, ""), says(deny, "%s would run with more rights than you gave (%s)")),
		each("strict/network", "Asks before any host but this machine is reached. Source: clippy-code, network security risks.", only(guard.Network),
			func(p *guard.Pass, i int, e guard.Effect) {
				if !e.Exact || !loopback(e.Target) {
					p.Report(i, guard.VerdictAsk, actor(p, i)+" would reach "+hostName(e), "use what is in the workspace")
				}
			}),
	}
}

// says reports one verdict; format takes the program and the target.
func says(v guard.Verdict, format string) func(*guard.Pass, int, guard.Effect) {
	return func(p *guard.Pass, i int, e guard.Effect) {
		p.Report(i, v, fmt.Sprintf(format, actor(p, i), e.Target), "ask the user to do it")
	}
}

func reportBanned(p *guard.Pass) {
	for _, c := range p.Facts.Commands {
		for _, name := range append([]string{c.Name}, c.Via...) {
			name = path.Base(name)
			if slices.Contains(banned, name) || strings.HasPrefix(name, "mkfs.") {
				p.Report(-1, guard.VerdictDeny, name+" is banned in the strict profile", "do it with what is in the workspace, or ask the user to do it")
			}
		}
		for _, use := range bannedUses {
			if use.fits(c) {
				p.Report(-1, guard.VerdictDeny, strings.Join(append([]string{use.command}, use.args...), " ")+" is banned in the strict profile in this way", "ask the user to do it")
			}
		}
	}
}

// fits reports whether c is such a use. Options between the words do not hide
// them.
func (u bannedUse) fits(c guard.Command) bool {
	if c.Name != u.command {
		return false
	}
	next := 0
	flag := len(u.flags) == 0
	for _, w := range c.Args {
		if next < len(u.args) && w.Text == u.args[next] {
			next++
		}
		flag = flag || slices.ContainsFunc(u.flags, func(f string) bool {
			return w.Text == f || strings.HasPrefix(w.Text, f+"=") || f == "/:/" && strings.HasPrefix(w.Text, f)
		})
	}
	return next == len(u.args) && flag
}

// feeder names the download or decoder that feeds a command's standard input,
// or is empty.
func feeder(p *guard.Pass, command int) string {
	for n := 0; command >= 0 && command < len(p.Facts.Commands) && n < len(p.Facts.Commands); n++ {
		if command = p.Facts.Commands[command].From; command < 0 || command >= len(p.Facts.Commands) {
			break
		}
		if name := p.Facts.Commands[command].Name; slices.Contains([]string{"curl", "wget", "base64", "base32", "xxd", "uudecode", "openssl"}, name) {
			return name
		}
	}
	return ""
}
