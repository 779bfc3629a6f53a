package oracle

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"handrail/guard"
)

// law compares the events of one run with the facts.
//
// Every path that is created, changed or removed lies at or below the target of
// a Write or Delete effect; every program that starts is a command of the
// facts. Only this is excepted: scratch files; what a command makes beside a
// target of its own and what is gone when it ends; backups beside a target;
// empty directories above one;
// git's own files; the caches of toolchains; helpers that a program always
// brings along (helpers); and whatever is done by code of which the facts say
// that it runs without having been read (a Code effect).
type law struct {
	*guard.Facts
	*cell
}

// helpers are the installed programs that a listed program starts on its own
// account, whatever it is told: itself or through others.
var helpers = map[string]string{
	"git":         "git git-* cat sh tar gzip man uname basename sed envsubst gettext gettext.sh perl cut",
	"go":          "compile asm link vet cgo buildid cover gofmt git gcc as nm",
	"g++":         "cc1plus as collect2 ld *-ld ld.bfd",
	"gcc":         "cc1 as collect2 ld *-ld ld.bfd objcopy",
	"cc":          "cc1 as collect2 ld *-ld ld.bfd objcopy",
	"tar":         "sh gzip bzip2 xz zstd lzma",
	"man":         "groff nroff troff grotty tbl preconv col locale less pager cat gzip zsoelim manpath eqn",
	"zcat":        "gzip",
	"gunzip":      "gzip",
	"zgrep":       "sed gzip grep mktemp cat rm expr",
	"zdiff":       "cmp diff gzip mktemp rm sed",
	"zless":       "less gzip lesspipe",
	"xzgrep":      "xz grep sed",
	"bzgrep":      "bzip2 grep sed",
	"egrep":       "grep",
	"fgrep":       "grep",
	"ldd":         "ld-linux-x86-64.so.2 ld-linux.so.2 ld-linux-*",
	"patch":       "ed",
	"rsync":       "rsync",
	"ctags":       "sh sort",
	"apt":         "dpkg",
	"apt-cache":   "dpkg",
	"dpkg":        "dpkg-query dpkg-deb",
	"bash":        "id mesg dircolors locale-check", // what /etc/profile starts, in a login shell
	"python3":     "lsb_release uname ldconfig gcc ld",
	"python":      "lsb_release uname ldconfig gcc ld",
	"lsb_release": "getopt cut tr sed grep head",
	"npm":         "git sh node",
	"npx":         "sh node",
	"awk":         "sh",
	"gawk":        "sh",
	"mawk":        "sh",
	"flock":       "sh",
	"script":      "sh bash",
	"zip":         "sh unzip",
	"cpp":         "cc1",
	"diff3":       "diff",
	"sdiff":       "diff",
	"rg":          "gzip xz bzip2 zstd",
	"xargs":       "echo",
	"watch":       "sh",
	"file":        "gzip bzip2 xz zstd",
	"parallel":    "sh bash perl ps hostname lscpu echo rm sleep false cat uname",
}

// caches are directories in the home of the user in which toolchains keep
// what they made and how they were used.
var caches = map[string]string{
	"go": ".cache/go-build go .config/go", "gofmt": ".config/go",
	"npm": ".npm", "npx": ".npm", "node": ".npm .cache/node",
	"parallel": ".parallel", "top": ".config/procps", "cargo": ".cargo", "pip": ".cache/pip", "pip3": ".cache/pip",
}

// manifests are what installing packages changes in a project.
const manifests = "package.json package-lock.json node_modules node_modules/* node_modules/*/* go.mod go.sum Cargo.lock"

// check returns what breaks the law, and what was seen, to be counted.
func (l law) check(events []event) (broken, seen []finding) {
	passing := l.passing(events)
	changed, started := false, false
	for i, e := range events {
		if e.call == "execve" || e.call == "execveat" {
			if i > 0 { // the first is the shell that runs the script
				started = true
				if !l.mayStart(e) {
					broken = append(broken, finding{"a program that is not in the facts: " + filepath.Base(e.path),
						fmt.Sprintf("%s %s, started by %s", e.path, e.argv, e.by[0])})
				}
			}
			continue
		}
		changed = changed || !l.private(e.path)
		if !l.mayChange(e) && !passing[e.path] {
			broken = append(broken, finding{"a change that is not in the facts: " + filepath.Base(e.by[0]),
				fmt.Sprintf("%s %s by %s", e.call, e.path, e.by[0])})
		}
	}
	if changed {
		seen = append(seen, finding{what: "changed something"})
	}
	if started {
		seen = append(seen, finding{what: "started a program"})
	}
	return few(broken), seen
}

// few leaves one offence of a kind.
func few(broken []finding) []finding {
	slices.SortStableFunc(broken, func(a, b finding) int { return strings.Compare(a.what, b.what) })
	return slices.CompactFunc(broken, func(a, b finding) bool { return a.what == b.what })
}

// names are the programs that the facts name.
func (l law) names() []string {
	var names []string
	for _, c := range l.Commands {
		names = append(names, filepath.Base(c.Name))
		for _, v := range c.Via {
			names = append(names, filepath.Base(v))
		}
	}
	for _, e := range l.Effects {
		if e.Kind == guard.Exec || e.Kind == guard.Code {
			names = append(names, filepath.Base(e.Target))
		}
	}
	return names
}

// codes are the programs that run code which was not read.
func (l law) codes() []string {
	var names []string
	for _, e := range l.Effects {
		if e.Kind != guard.Code || slices.ContainsFunc(l.Sources, func(s guard.Source) bool { return s.Path == e.Target }) {
			continue
		}
		if e.Command >= 0 {
			names = append(names, filepath.Base(l.Commands[e.Command].Name))
		}
		names = append(names, filepath.Base(e.Target))
	}
	return names
}

// free reports whether a process is, or was started by, unread code.
func (l law) free(by []string) bool {
	codes := l.codes()
	return slices.ContainsFunc(by, func(p string) bool { return slices.Contains(codes, filepath.Base(p)) })
}

func (l law) mayStart(e event) bool {
	name := filepath.Base(e.path)
	if slices.Contains(l.names(), name) || l.free(e.by) {
		return true
	}
	for _, p := range e.by {
		if matches(helpers[filepath.Base(p)], name) {
			return true
		}
	}
	return false
}

// matches reports whether name is one of some patterns.
func matches(patterns, name string) bool {
	return slices.ContainsFunc(strings.Fields(patterns), func(p string) bool { ok, _ := filepath.Match(p, name); return ok })
}

func (l law) mayChange(e event) bool {
	if l.private(e.path) || l.free(e.by) {
		return true
	}
	for _, p := range e.by {
		name := filepath.Base(p)
		if strings.HasPrefix(name, "python") && strings.Contains(e.path+"/", "/__pycache__/") {
			return true
		}
		if name == "git" && within(l.project+"/.git", e.path) {
			return true
		}
		for _, dir := range strings.Fields(caches[name]) {
			if within(filepath.Join(l.home, dir), e.path) {
				return true
			}
		}
	}
	for _, f := range l.Effects {
		if f.Kind == guard.Install && matches(manifests, strings.TrimPrefix(e.path, l.project+"/")) {
			return true
		}
		if f.Kind != guard.Write && f.Kind != guard.Delete {
			continue
		}
		if within(f.Target, e.path) || f.Exact && backup(f.Target, e.path) {
			return true
		}
		if above := strings.HasPrefix(e.call, "mkdir") || e.call == "rmdir"; above && within(e.path, f.Target) {
			return true // mkdir -p, rmdir -p
		}
	}
	return false
}

// backup reports whether p stands beside a target and has its name, and a
// prefix or suffix.
func backup(target, p string) bool {
	return filepath.Dir(target) == filepath.Dir(p) && strings.Contains(filepath.Base(p), filepath.Base(target))
}

// private reports whether a path is a device, a pipe or a scratch file.
func (l law) private(p string) bool {
	switch p {
	case "/dev/null", "/dev/tty", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom":
		return true
	}
	return !filepath.IsAbs(p) || within("/dev/pts", p) || within("/dev/shm", p) || within("/proc", p) || p == l.scratch || within(l.scratch, p) ||
		p == l.dir("stdout") || p == l.dir("stderr")
}

// passing are the paths that were not there before, that one process made
// beside a target of the facts, and that are gone at its end.
func (l law) passing(events []event) map[string]bool {
	first, last := map[string]event{}, map[string]event{}
	for _, e := range events {
		if !e.done {
			continue
		}
		if _, ok := first[e.path]; !ok {
			first[e.path] = e
		}
		last[e.path] = e
	}
	all := map[string]bool{}
	for p, f := range first {
		if f.call != "openat" && f.call != "open" && !strings.HasPrefix(f.call, "mk") && !strings.HasPrefix(f.call, "link") && !strings.HasPrefix(f.call, "symlink") {
			continue
		}
		end := last[p].call
		if f.pid != last[p].pid || !strings.HasPrefix(end, "rename") && !strings.HasPrefix(end, "unlink") || l.exists(p) || l.before(p) {
			continue
		}
		for _, t := range l.Effects {
			if (t.Kind == guard.Write || t.Kind == guard.Delete) && (filepath.Dir(t.Target) == filepath.Dir(p)) {
				all[p] = true
			}
		}
	}
	return all
}

func (c *cell) exists(p string) bool { return lies(c.outside(p)) }

// before reports whether the fixture has a path.
func (c *cell) before(p string) bool {
	rest, ok := strings.CutPrefix(p, c.project)
	return ok && lies(filepath.Join(c.template, "project", rest))
}

// outside is where a path of the sandbox lies outside of it.
func (c *cell) outside(p string) string {
	if rest, ok := strings.CutPrefix(p, c.home+"/"); ok {
		return filepath.Join(c.dir("home"), rest)
	}
	return p
}

func lies(p string) bool { _, err := os.Lstat(p); return err == nil }

func within(dir, p string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, dir+"/")
}
