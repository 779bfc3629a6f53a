package rules

import (
	"path"
	"slices"
	"strings"

	"handrail/guard"
)

// danger is the family of what is denied with no override.
func danger(pol Policy) []guard.Rule {
	t := newTrees(pol.Home)
	return []guard.Rule{
		fixed(each("fs/system-tree",
			"Denies deleting, moving away or recursively changing mode or owner of the root directory, a home directory or a system tree, in any spelling. "+
				"What lies strictly inside a workspace root is not a system tree. Source: the deny list of BitCode's tool guards; GNU coreutils --preserve-root.",
			func(e guard.Effect) bool {
				return e.Kind == guard.Delete && e.Action != "discard" || e.Kind == guard.Write && e.Action == "metadata"
			},
			t.judge)),
		fixed(each("disk/device",
			"Denies writing to, formatting or removing disks, memory and other device nodes; and formatting anything but a file in the workspace. "+
				"The standard streams, null, zero and the terminal are no disks. Source: the deny list of BitCode's tool guards (mkfs, dd of=/dev/...).",
			changes, judgeDevice)),
		fixed(each("sys/accounts",
			"Denies overwriting the files that say who may log in and who may become root: without their content nobody can. Programs that change lines in place, and additions, ask.",
			func(e guard.Effect) bool {
				return e.Kind == guard.Write && e.Action == "" && e.Exact && slices.Contains(accounts, strings.ToLower(e.Target))
			},
			func(p *guard.Pass, i int, e guard.Effect) {
				if c := p.CommandOf(i); c != nil && slices.Contains(editors, c.Name) {
					return // fs/outside asks
				}
				p.Report(i, guard.VerdictDeny, would(p, i)+", without which nobody can log in", "let the user change accounts, with `usermod` or `visudo`")
			})),
		fixed(each("proc/fork-bomb",
			"Denies a function or script that starts itself without end. Source: the deny list of BitCode's tool guards.",
			only(guard.System, "fork-bomb"),
			func(p *guard.Pass, i int, e guard.Effect) {
				p.Report(i, guard.VerdictDeny, "this starts processes without end: "+e.Target, "start a bounded number of processes")
			})),
	}
}

// accounts are the files that say who may log in and become root; editors change
// lines of a file and keep the others.
var (
	accounts = []string{"/etc/passwd", "/etc/shadow", "/etc/group", "/etc/gshadow", "/etc/sudoers", "/private/etc/passwd", "/private/etc/group", "/private/etc/sudoers", "/private/etc/master.passwd"}
	editors  = []string{"sed", "perl", "awk", "gawk", "patch", "ed", "ex", "vi", "vim", "nvim", "nano", "emacs"}
)

// trees are the directories whose loss or recursive change ends a system or a
// home.
type trees struct {
	home string
	// whole are the trees themselves; vital those in which every directory below
	// counts as well.
	whole, vital []string
}

// handedOver are trees that users are told to take over as a whole (Homebrew's
// installation does): changing their owner or mode is asked about, no more.
var handedOver = []string{"/usr/local", "/usr/local/bin", "/usr/local/lib", "/usr/src", "/opt", "/opt/homebrew", "/srv", "/mnt", "/media"}

func newTrees(home string) *trees {
	t := &trees{home: strings.ToLower(home)}
	t.vital = []string{"/bin", "/boot", "/dev", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/sbin", "/sys", "/usr/bin", "/usr/sbin",
		"/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/system", "/private/etc/ssh", "/etc/ssh", "/etc/pam.d", "/etc/systemd", "/etc/sudoers.d",
		"/var/lib/dpkg", "/var/lib/rpm", "/var/lib/pacman", "/var/lib/apk", "/usr/share", "/usr/include"}
	t.whole = append([]string{"/", "/etc", "/usr", "/var", "/opt", "/root", "/run", "/srv", "/home", "/mnt", "/media", "/nix", "/nix/store", "/snap",
		"/usr/local", "/usr/local/bin", "/usr/local/lib", "/usr/src", "/var/lib", "/var/log", "/var/spool", "/var/mail", "/var/run", "/var/db", "/var/backups",
		"/etc/passwd", "/etc/shadow", "/etc/group", "/etc/gshadow", "/etc/sudoers", "/etc/fstab",
		"/users", "/library", "/applications", "/volumes", "/network", "/cores", "/private", "/private/etc", "/private/var", "/private/var/db", "/opt/homebrew"}, t.vital...)
	return t
}

func (t *trees) judge(p *guard.Pass, i int, e guard.Effect) {
	folded := e // file systems that fold case take /ETC for /etc
	folded.Target = strings.ToLower(e.Target)
	if !isPath(e.Target) || strings.HasPrefix(folded.Target, "/dev/shm/") || strictlyInside(p.Roots, e.Target) {
		return // fs/outside asks about what is no path
	}
	if !t.covers(p, i, folded) || t.picked(p, i, folded) {
		return
	}
	instead := "name exactly what you want removed inside the workspace, for example `rm build/old.o`"
	if e.Kind == guard.Write {
		instead = "name the files inside the workspace, for example `chmod u+x scripts/run.sh`"
	}
	reason := would(p, i)
	if !e.Exact {
		reason = actor(p, i) + " would " + verb(e) + " what lies in " + e.Target
	}
	p.Report(i, guard.VerdictDeny, reason, instead)
}

// covers reports whether an effect, its target in lower case, takes a tree as a
// whole.
func (t *trees) covers(p *guard.Pass, i int, e guard.Effect) bool {
	if !e.Exact { // somewhere below: a whole tree only if all below goes too
		all := e.Deep || moves(p, i) && wholeDir(e.Written) || t.found(p, i, e)
		return all && slices.ContainsFunc(prefixes(p, i, e), t.holds)
	}
	if e.Kind == guard.Write {
		if !e.Deep {
			return e.Target == "/" || e.Target == t.home
		}
		if slices.Contains(handedOver, e.Target) {
			return false
		}
	}
	if e.Deep && wholeDir(e.Written) && t.tree(path.Dir(e.Target)) {
		return true
	}
	return t.tree(e.Target) || e.Deep && slices.ContainsFunc(t.vital, func(v string) bool { return within(v, e.Target) })
}

// moves reports whether effect i is one of a program that always takes whole
// trees.
func moves(p *guard.Pass, i int) bool {
	c := p.CommandOf(i)
	return c != nil && c.Name == "mv"
}

// found reports whether effect i is done to every file that find meets below a
// tree.
func (t *trees) found(p *guard.Pass, i int, e guard.Effect) bool {
	c := p.CommandOf(i)
	return c != nil && c.Name != "mv" && slices.Contains(c.Via, "find") && t.tree(e.Target)
}

// picked reports whether find was told names to look for, so that effect i takes
// some files of a tree and not the tree. Below the root directory or a home
// directory that makes no difference.
func (t *trees) picked(p *guard.Pass, i int, e guard.Effect) bool {
	at := p.Facts.Effects[i].Command
	if at < 0 || at >= len(p.Facts.Commands) || e.Target == "/" || within(e.Target, t.home) {
		return false
	}
	c := p.Facts.Commands[at]
	if c.Name != "find" && !slices.Contains(c.Via, "find") {
		return false
	}
	for ; at >= 0 && p.Facts.Commands[at].Name != "find"; at-- {
	}
	if at < 0 || c.Name != "find" && !walked(p, at, p.Facts.Effects[i]) {
		return false
	}
	args := p.Facts.Commands[at].Args
	for k, w := range args[:max(0, len(args)-1)] {
		names := []string{"-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex"}
		before := k == 0 || args[k-1].Text != "!" && args[k-1].Text != "-not"
		if slices.Contains(names, w.Text) && before && len(strings.Trim(args[k+1].Text, "*?./[]")) > 1 {
			return !slices.ContainsFunc(args, func(w guard.Word) bool { return w.Text == "-o" || w.Text == "-or" || w.Text == "," })
		}
	}
	return false
}

// walked reports whether e is done to what the find at this index came upon, not
// to a path that its command names by itself.
func walked(p *guard.Pass, find int, e guard.Effect) bool {
	if e.Exact || wholeDir(e.Written) {
		return false
	}
	return slices.ContainsFunc(p.Facts.Effects, func(start guard.Effect) bool {
		return start.Command == find && start.Kind == guard.Read && e.Target == start.Target
	})
}

// wholeDir reports whether a word as typed stands for all there is in a
// directory: the shell has made exact names of it.
func wholeDir(written string) bool {
	base := written[strings.LastIndexByte(written, '/')+1:]
	return base == "*" || base == ".*" || base == "{*,.*}" || base == "{.,}*" || base == "{,.}*"
}

// tree reports whether file is such a tree itself, or holds the home directory.
func (t *trees) tree(file string) bool {
	if slices.Contains(t.whole, file) || t.home != "" && within(file, t.home) {
		return true
	}
	dir := path.Dir(file)
	return dir == "/home" || dir == "/users"
}

// holds reports whether a tree's path, or that of something directly in one,
// begins with prefix: "/" and "/e" are the beginning of /etc.
func (t *trees) holds(prefix string) bool {
	if dir, ok := strings.CutSuffix(prefix, "/"); ok && (t.tree(path.Clean("/"+dir)) || slices.ContainsFunc(t.vital, func(v string) bool { return within(v, dir) })) {
		return true
	}
	begins := func(tree string) bool { return strings.HasPrefix(tree, prefix) }
	return t.home != "" && begins(t.home) || slices.ContainsFunc(t.whole, begins) ||
		strings.Count(prefix, "/") == 2 && (within("/home", path.Dir(prefix)) || within("/users", path.Dir(prefix)))
}

// prefixes returns what is known of an inexact target: its directory and, from
// the words of the command, how the name in it begins. A word of which nothing
// is known says nothing; without any word that fits, all of the directory is
// meant.
func prefixes(p *guard.Pass, i int, e guard.Effect) []string {
	dir := strings.TrimSuffix(e.Target, "/") + "/"
	c := p.CommandOf(i)
	if c == nil {
		return []string{dir}
	}
	var known []string
	hidden := false
	for _, w := range c.Args {
		switch at := strings.LastIndexByte(w.Text, '/'); {
		case w.Exact:
		case w.Text == "":
			hidden = true
		default:
			name := w.Text[at+1:]
			if name == "." || name == ".." { // .* and the like: all that is hidden, or more
				name = ""
			}
			known = append(known, dir+strings.ToLower(name))
		}
	}
	if len(known) == 0 && (!hidden || e.Target != "/") {
		return []string{dir}
	}
	return known
}

// strictlyInside reports whether file is below one of the roots.
func strictlyInside(roots []string, file string) bool {
	return slices.ContainsFunc(roots, func(r string) bool { return r != file && r != "/" && within(r, file) })
}

// streams are names in /dev that lead to no disk and may be written.
var streams = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/random", "/dev/urandom", "/dev/ptmx"}

func isStream(file string) bool {
	return slices.Contains(streams, file) || within("/dev/fd", file)
}

// replaces are programs that put a new file in the place of what stood there,
// instead of writing into it.
var replaces = []string{"mv", "ln", "install", "rsync", "tar", "unzip", "rename"}

func judgeDevice(p *guard.Pass, i int, e guard.Effect) {
	file := e.Target
	e.Target = strings.ToLower(file)
	switch c := p.CommandOf(i); {
	case isStream(e.Target) && e.Exact:
		if e.Kind == guard.Delete || e.Action == "metadata" || e.Action == "format" || c != nil && slices.Contains(replaces, c.Name) {
			p.Report(i, guard.VerdictDeny, actor(p, i)+" would replace or change the device "+e.Target, "to throw output away, redirect it: `ls > /dev/null`")
		}
	case isDevice(e.Target), isPath(e.Target) && within(e.Target, "/dev") && !e.Exact && e.Target != "/":
		p.Report(i, guard.VerdictDeny, would(p, i)+", a device", "write an image file inside the workspace instead")
	case e.Target == "/proc/sysrq-trigger":
		p.Report(i, guard.VerdictDeny, actor(p, i)+" would make the kernel act at once (reboot, crash, kill) through "+e.Target, "ask the user to do it")
	case e.Action == "format" && !(e.Exact && strictlyInside(p.Roots, file)):
		p.Report(i, guard.VerdictDeny, would(p, i)+", which is no file of the workspace", "format an image file inside the workspace")
	}
}

// isDevice reports whether file names a device node other than a stream, or one
// of the kernel's windows into memory.
func isDevice(file string) bool {
	if file == "/proc/kcore" || file == "/proc/kmem" {
		return true
	}
	return within("/dev", file) && !within("/dev/shm", file) && !within("/dev/pts", file) && !within("/dev/mqueue", file) && !isStream(file)
}
