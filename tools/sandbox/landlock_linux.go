package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Rights on files (linux/landlock.h).
const (
	landRead    = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	landAll     = 1<<16 - 1 // every right of version 5
	landWrite   = landAll &^ unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	landOfFiles = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	landTCP = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
)

// landNeeded is the least version of Landlock: 6 scopes signals and abstract
// sockets. landErratum is the mend that makes the scope of signals hold.
const (
	landNeeded  = 6
	landErratum = 1 << 1
)

// landlockWorks reports why Landlock does not hold commands here.
func landlockWorks() error {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch {
	case errno == unix.ENOSYS:
		return errors.New("the kernel was built without Landlock (CONFIG_SECURITY_LANDLOCK; Linux 6.12 or newer is needed)")
	case errno == unix.EOPNOTSUPP:
		return fmt.Errorf("the kernel has Landlock turned off: add landlock to lsm= on the kernel's command line: %w", errno)
	case errno != 0:
		return fmt.Errorf("landlock: %w", errno)
	case version < landNeeded:
		return fmt.Errorf("the kernel has Landlock in version %d and %d is needed, which scopes signals: Linux 6.12 or newer", version, landNeeded)
	}
	errata, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_ERRATA)
	if errno != 0 || errata&landErratum == 0 {
		return errors.New("this kernel's Landlock has erratum 2 (scope of signals) not mended: take a newer kernel of its series")
	}
	return nil
}

// grant is what Landlock lets be done at or below a path.
type grant struct {
	Path   string
	Access uint64
}

// land is what a command may reach under Landlock: everything else is denied.
type land struct {
	Grants  []grant
	TCP     bool   // connect and bind; else neither
	Proxy   uint16 // its port on 127.0.0.1, to which a gate connects; 0: none
	Sockets sockets
	Unix    bool
}

// enter restricts the calling thread and what it starts, for ever. The gate is
// that to the proxy; nil where there is none.
func (l *land) enter() (*gate, error) {
	if err := l.restrict(); err != nil {
		return nil, err
	}
	f := filter{Sockets: l.Sockets, Unix: l.Unix, Shared: !l.Unix}
	if l.Proxy != 0 {
		return f.openGate(l.Proxy)
	}
	return nil, f.load()
}

// restrict is the part of Landlock.
func (l *land) restrict() error {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: landAll, Scoped: unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL}
	if !l.TCP {
		attr.Handled_access_net = landTCP
	}
	if l.Unix { // with the rights of the user
		attr.Scoped = unix.LANDLOCK_SCOPE_SIGNAL
	}
	const size = 24 // of the attributes of version 6
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return fmt.Errorf("landlock: make a ruleset: %w", errno)
	}
	defer unix.Close(int(fd))
	for _, g := range l.Grants {
		if err := g.add(int(fd)); err != nil {
			return fmt.Errorf("landlock: %s: %w", g.Path, err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("landlock: restrict: %w", errno)
	}
	return nil
}

// add adds the grant to a ruleset. A path that is not there is left out.
func (g grant) add(ruleset int) error {
	fd, err := unix.Open(g.Path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: g.Access, Parent_fd: int32(fd)}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rule.Allowed_access &= landOfFiles
	}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// devices are what every program may use of /dev.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr"}

// land plans what a command of p reaches. It fails where p says what this tier
// cannot hold.
func (s *Settings) land(p *Policy) (*land, error) {
	l := &land{}
	switch {
	case p.Network == Full || p.Open:
		l.TCP, l.Sockets, l.Unix = true, ipSockets, p.Open
	case p.Network == Domains:
		l.Sockets = tcpClients
	}
	hidden := s.unread().of(p)
	for _, dev := range devices {
		l.Grants = append(l.Grants, grant{dev, landAll})
	}
	var protected []string // outside of the roots nothing is put back
	for _, path := range p.Protected {
		if !p.may(path) && !below(p.Roots, path) {
			protected = append(protected, path)
		}
	}
	for _, path := range slices.Concat(p.Roots, []string{s.Scratch, p.Scratch}, p.Write) {
		if path == "" {
			continue
		}
		if kept := within(path, hidden, true); kept != "" {
			return nil, fmt.Errorf("this tier cannot hide %s from a command that may write in %s: use the tier bwrap, or move it elsewhere", kept, path)
		}
		if kept := within(path, protected, false); kept != "" {
			return nil, fmt.Errorf("this tier cannot protect %s from a command that may write in %s: use the tier bwrap", kept, path)
		}
		l.Grants = append(l.Grants, grant{path, landWrite})
	}
	for _, root := range p.Roots {
		if common := once.commonDir(root); common != "" {
			l.Grants = append(l.Grants, grant{common, landWrite})
		}
	}
	if p.Open {
		l.carve("/", landAll, append(protected, hidden...))
		for _, path := range protected {
			l.carve(path, landRead, hidden)
		}
		return l, nil
	}
	private := slices.Concat(emptied, []string{"/dev", p.Home, s.Home, s.State}, hidden)
	l.carve("/", landRead, slices.DeleteFunc(private, func(path string) bool { return path == "" || path == "/" }))
	toolchains := s.Toolchains
	if toolchains == nil {
		toolchains = DefaultToolchains
	}
	var read []string
	for _, name := range toolchains {
		read = append(read, filepath.Join(p.Home, name))
	}
	if p.Network == Full {
		read = append(read, nameService...)
	}
	for _, path := range slices.Concat(read, p.Read, p.Caches, s.Caches) {
		l.carve(path, landRead, hidden)
	}
	return l, nil
}

// within returns the first of paths that is path, below it or above it; with
// there, only one that exists.
func within(path string, paths []string, there bool) string {
	for _, p := range paths {
		if _, err := os.Lstat(p); (!there || err == nil) && (below([]string{path}, p) || below([]string{p}, path)) {
			return p
		}
	}
	return ""
}

// carve grants access at path but not at or below what is left out: Landlock
// only adds, so the entries of every directory above those are granted one by
// one.
func (l *land) carve(path string, access uint64, out []string) {
	path = resolved(path)
	switch {
	case below(out, path):
		return
	case !slices.ContainsFunc(out, func(o string) bool { return below([]string{path}, o) }):
		l.Grants = append(l.Grants, grant{path, access})
		return
	}
	entries, err := readDir(path)
	if err != nil {
		return
	}
	if path != "/" {
		l.Grants = append(l.Grants, grant{path, unix.LANDLOCK_ACCESS_FS_READ_DIR})
	}
	for _, e := range entries {
		if name := filepath.Join(path, e.Name()); e.Type()&os.ModeSymlink == 0 { // where it leads has its own grant, or none
			l.carve(name, access, out)
		}
	}
}
