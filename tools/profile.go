package tools

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"handrail/guard"
	"handrail/guard/host"
	"handrail/tools/sandbox"
)

// Profile is what every contained command may do; the facts of a call add what
// they name. The zero value gives the workspace and nothing else.
type Profile struct {
	// Home is the user's home directory, absolute and resolved. Commands see of it
	// the toolchains that the sandbox lists, and what their facts name.
	Home string
	// Scratch is writable: the temporary directory of the server's commands.
	Scratch string
	// Hidden cannot be read by any command, wherever it lies.
	Hidden []string
	// Packages are the hosts that package managers reach when a call installs, and
	// Hosts those that git reaches as the repository's own remotes; both as
	// host.Parse reads them.
	Packages, Hosts []string
	Limits          sandbox.Limits

	guarded *guarded // knows files of secrets; nil looks for them anew
}

// plan is how one call runs.
type plan struct {
	policy *sandbox.Policy
	hosts  []string // what the policy's domains are, as host.Parse reads them
	// outside says that the program itself must run outside the sandbox, since a
	// person approved exactly that.
	outside bool
	// env are variables of this run alone.
	env   map[string]string
	notes []string
	// empty are directories that are made before the run, which fills them.
	empty []string
}

// authority is what a call may do by its verdict.
type authority struct {
	facts    *guard.Facts
	roots    []string
	granted  bool // a person said yes to it
	escalate bool // and to more than its facts name
}

// plan says with what power a call runs: the profile, and what the facts of the
// call name. Where code runs beside it that was not read, nothing is widened to
// the directory around a file, no credential is readable, nothing runs outside,
// and what nobody was asked about (a known host, a listing) is not added: that
// code would have the same power, and `ls ~; make` must not be a way to it.
func (p *Profile) plan(a authority) *plan {
	pl := &plan{env: map[string]string{}, policy: &sandbox.Policy{
		Roots: a.roots, Scratch: p.Scratch, Home: p.Home, Hidden: p.Hidden, Limits: p.Limits, Secrets: p.guarded.of(a.roots),
	}}
	if a.escalate && a.granted {
		pl.policy.Open, pl.policy.Network = true, sandbox.Full
		for _, e := range a.facts.Effects { // Landlock lets nothing new be made beside what it protects
			if _, err := os.Lstat(e.Target); err != nil && !below(e.Target, a.roots) && fills(a.facts, e) {
				pl.empty = append(pl.empty, e.Target)
			}
		}
		pl.settle()
		return pl
	}
	known := allRead(a.facts, false)
	online := a.granted || allRead(a.facts, true)
	for i, e := range a.facts.Effects {
		switch e.Kind {
		case guard.Read:
			pl.read(p, a, e, known)
		case guard.Write, guard.Delete:
			pl.write(p, a, e, known)
		case guard.Network:
			pl.reach(a, e, online)
		case guard.Code:
			pl.run(p, a, e)
		case guard.Install:
			pl.hosts = append(pl.hosts, p.Packages...)
		case guard.Remote:
			if online {
				pl.remote(p, a, i)
			}
		}
		if broker(e) && a.granted && allRead(a.facts, true) {
			pl.lend(p, a, e)
		}
		pl.outside = pl.outside || a.granted && known && machine(e)
	}
	pl.git(a, known)
	pl.settle()
	return pl
}

// settle puts what was gathered in order.
func (pl *plan) settle() {
	s := pl.policy
	for _, list := range []*[]string{&s.Read, &s.Write, &s.Allowed, &pl.hosts, &pl.empty} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	s.Secrets = slices.DeleteFunc(s.Secrets, func(path string) bool { return below(path, s.Allowed) })
	if s.Network == sandbox.NoNetwork && len(pl.hosts) > 0 {
		s.Network = sandbox.Domains
	}
	if s.Network != sandbox.Domains {
		pl.hosts = nil
	}
}

// allRead reports whether all that a call runs was read: no code, no program or
// option that the command table does not have, nothing hidden. With hooks, those
// of git may run too.
func allRead(f *guard.Facts, hooks bool) bool {
	return !slices.ContainsFunc(f.Effects, func(e guard.Effect) bool {
		switch e.Kind {
		case guard.Unknown:
			return true
		case guard.Exec:
			return e.Action != ""
		case guard.Code:
			read := slices.ContainsFunc(f.Sources, func(s guard.Source) bool { return s.Path == e.Target })
			return !read && !(hooks && e.Note == "git hooks")
		}
		return false
	})
}

// machine reports whether an effect is one on the machine itself, which no
// sandbox can let through in part.
func machine(e guard.Effect) bool {
	switch e.Kind {
	case guard.Privilege:
		return e.Action == ""
	case guard.System:
		return e.Action != "environment" && e.Action != "fork-bomb"
	case guard.Persist:
		return e.Action == "schedule" || e.Action == "service"
	case guard.Install:
		return e.Action == "system"
	}
	return false
}

// open are the directories that every command reads, and streams what is no
// file.
var (
	open    = []string{"/bin", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/opt", "/proc", "/sbin", "/sys", "/usr", "/dev", "/System", "/Library"}
	streams = []string{"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/fd", "/proc/self/fd"}
)

// read adds a path to read.
func (pl *plan) read(p *Profile, a authority, e guard.Effect, known bool) {
	if !filepath.IsAbs(e.Target) || e.Target == "/" || below(e.Target, a.roots) || below(e.Target, []string{p.Scratch}) || below(e.Target, open) {
		return
	}
	if !known && (!a.granted || e.Action == "list") {
		pl.notes = append(pl.notes, e.Target+" stays unseen beside code that was not read: look at it in a call of its own")
		return
	}
	if store := p.credential(e.Target); store != "" {
		if !known || !a.granted {
			pl.notes = append(pl.notes, e.Target+" holds credentials and stays unreadable beside code that was not read")
			return
		}
		pl.policy.Read = append(pl.policy.Read, store)
	}
	pl.policy.Read = append(pl.policy.Read, e.Target)
}

// run lets a file that the call names be run where it lies. In home directories
// reading is asked about, so that takes a person's yes.
func (pl *plan) run(p *Profile, a authority, e guard.Effect) {
	if !e.Exact || !filepath.IsAbs(e.Target) || below(e.Target, a.roots) || below(e.Target, open) || p.credential(e.Target) != "" || secretName(filepath.Base(e.Target)) {
		return
	}
	homes := []string{"/home", "/root", "/Users"}
	if p.Home != "" {
		homes = append(homes, p.Home)
	}
	if st, err := os.Stat(e.Target); err == nil && st.Mode().IsRegular() && (a.granted || !below(e.Target, homes)) {
		pl.policy.Read = append(pl.policy.Read, e.Target)
	}
}

// credential returns the credential store that path is in, or is empty.
func (p *Profile) credential(path string) string {
	for _, name := range sandbox.DefaultCredentials {
		if store := filepath.Join(p.Home, name); p.Home != "" && below(path, []string{store}) {
			return store
		}
	}
	return ""
}

// write adds a path to write or remove.
func (pl *plan) write(p *Profile, a authority, e guard.Effect, known bool) {
	if !filepath.IsAbs(e.Target) || e.Target == "/" || below(e.Target, streams) || below(e.Target, []string{p.Scratch}) {
		return
	}
	if e.Exact && obeyed(e.Target) || slices.Contains(pl.policy.Secrets, e.Target) {
		pl.policy.Allowed = append(pl.policy.Allowed, e.Target)
	}
	if below(e.Target, a.roots) {
		return
	}
	at := e.Target
	around := existing(filepath.Dir(at))
	info, err := os.Stat(at)
	switch {
	case err == nil && (info.IsDir() && e.Kind == guard.Write || !replaced(a.facts, e)): // written as it stands
	case known || !wide(p, around):
		at = around // made, removed, or replaced by another file
	case err != nil && fills(a.facts, e):
		pl.empty = append(pl.empty, at)
	case err != nil:
		pl.notes = append(pl.notes, at+" cannot be made beside code that was not read: that code could write all of "+around+"; at most it is in the sandbox's own "+around+", and gone: make it in a call of its own")
		return
	}
	if at != "/" {
		pl.policy.Write = append(pl.policy.Write, at)
	}
}

// replaced reports whether what stands at the target of e goes, or another file
// comes in its place, which needs the directory around it.
func replaced(f *guard.Facts, e guard.Effect) bool {
	if e.Kind == guard.Delete {
		return true
	}
	if e.Action != "" || e.Command < 0 || e.Command >= len(f.Commands) {
		return false
	}
	name := f.Commands[e.Command].Name
	return slices.Contains([]string{"sed", "perl", "mv", "ln", "install", "rsync", "patch", "gofmt", "git", "tar", "unzip"}, name)
}

// existing returns the nearest directory at or above path that is there.
func existing(path string) string {
	for ; path != "/"; path = filepath.Dir(path) {
		if st, err := os.Stat(path); err == nil && st.IsDir() {
			break
		}
	}
	return path
}

// wide reports whether dir is more than one purpose has: the home directory and
// what is above it, and the top of the file system.
func wide(p *Profile, dir string) bool {
	return strings.Count(dir, "/") <= 1 || p.Home != "" && below(p.Home, []string{dir})
}

// reach adds a host.
func (pl *plan) reach(a authority, e guard.Effect, online bool) {
	target := strings.ToLower(e.Target)
	loop := loopback(target)
	name, _, err := host.Target(target, 443)
	switch {
	case e.Exact && loop: // the sandbox has its own
	case !online:
		pl.notes = append(pl.notes, e.Target+" is not reached beside code that was not read: make that a call of its own")
	case e.Action == "listen", e.Action == "scan", e.Action == "shell", !e.Exact, err != nil:
		if a.granted {
			pl.policy.Network = sandbox.Full
		}
	case strings.Contains(target, ":"):
		pl.hosts = append(pl.hosts, target)
	default:
		pl.hosts = append(pl.hosts, name)
	}
}

// loopback reports whether target ("host[:port]") is this machine.
func loopback(target string) bool {
	if ap, err := netip.ParseAddrPort(target); err == nil {
		return ap.Addr().IsLoopback()
	}
	if a, err := netip.ParseAddr(strings.Trim(target, "[]")); err == nil {
		return a.IsLoopback()
	}
	name, _, _ := strings.Cut(target, ":")
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// obeyed reports whether path is named like a file that other programs obey, so
// that it is protected.
func obeyed(path string) bool {
	lower := strings.ToLower(path) + "/"
	base := filepath.Base(strings.ToLower(path))
	return slices.Contains(guard.ClientNames, base) || slices.ContainsFunc(slices.Concat(guard.GitTrees, guard.ClientTrees, []string{".vscode"}), func(t string) bool {
		return strings.Contains(lower, "/"+t+"/")
	})
}
