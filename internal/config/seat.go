package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"handrail/guard/owner"
	"handrail/tools"
	"handrail/tools/sandbox"
)

// A server that root starts keeps what it knows in seats: directories of the
// state directory, each of one Unix user alone. The state directory itself is
// root's, so that nobody can put another one in the place of a seat.

// Sit makes the seat of a principal, or for "" that of what listens, the state
// directory of c.
func (c *Config) Sit(principal string) {
	state := resolved(c.State)
	c.homes = state + "-homes"
	c.State = filepath.Join(state, "front")
	if principal != "" {
		c.State = filepath.Join(state, "users", principal)
	}
	c.trusted = OpenTrust(c.State).Has
}

// MakeSeats makes, as root, the seats and the directories of principals that are
// not there and for which nobody else answers. It does not touch what is there.
func (c *Config) MakeSeats(front Account, of map[string]Account) error {
	state := resolved(c.State)
	if info, err := os.Lstat(state); err == nil && owner.Of(info) != 0 {
		return fmt.Errorf("the state directory %s belongs to user %d: a server that root starts needs one that is root's (`state:`)", state, owner.Of(info))
	}
	for _, dir := range []string{state, filepath.Join(state, "users"), state + "-homes", operatorHome(state)} {
		if err := provide(dir, 0o711, Account{}); err != nil {
			return err
		}
		info, err := os.Stat(dir)
		if err == nil {
			err = owner.Check(dir, info)
		}
		if err != nil {
			return fmt.Errorf("the state directory must be root's alone, and so must all above it: %w", err)
		}
		if err := os.Chmod(dir, info.Mode().Perm()|0o011); err != nil { // the users go through
			return err
		}
	}
	if err := provide(filepath.Join(state, "front"), 0o700, front); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		for _, dir := range []string{filepath.Join(state, "users", name), c.homeOf(name), c.Principals[name].Workspace} {
			if err := provide(dir, 0o700, of[name]); err != nil {
				return fmt.Errorf("principal %s: %w", name, err)
			}
		}
	}
	return nil
}

// operatorHome is the home directory of all parts of the server: root's. No
// principal has its name.
func operatorHome(state string) string { return filepath.Join(state+"-homes", ".server") }

// provide makes a directory of a, where nobody but root can change what lies
// above it; elsewhere it is for the user to make, since root must not follow where
// others lead.
func provide(dir string, mode fs.FileMode, a Account) error {
	var missing []string
	top := filepath.Clean(dir)
	for ; ; top = filepath.Dir(top) {
		_, err := os.Lstat(top)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		missing = append(missing, top)
	}
	if len(missing) == 0 {
		return nil
	}
	info, err := os.Stat(top)
	if err != nil {
		return err
	}
	if owner.Check(top, info) != nil {
		return nil
	}
	slices.Reverse(missing)
	for _, path := range missing {
		if err := os.Mkdir(path, 0o700); err != nil { // never through a link that came meanwhile
			return err
		}
		if path != missing[len(missing)-1] {
			if err := os.Chmod(path, 0o711); err != nil {
				return err
			}
		}
	}
	if err := os.Chmod(dir, mode); err != nil {
		return err
	}
	return os.Lchown(dir, int(a.UID), int(a.GID))
}

// CheckSeat says, as the Unix user of a principal, why that cannot be served: its
// directories are not there and cannot be made, are another user's, or cannot be
// used.
func (c *Config) CheckSeat(principal string) error {
	p := c.Principals[principal]
	if p == nil {
		return fmt.Errorf("%q is not among the principals of %s", principal, c.userFile())
	}
	if info, err := os.Stat(c.State); err != nil {
		return fmt.Errorf("its part of the state directory: %w; every user of the server must be able to reach it: set `state:` to a directory such as /var/lib/handrail/state", err)
	} else if owner.Of(info) != os.Geteuid() {
		return fmt.Errorf("%s belongs to user %d, and is to be user %d's: was `user` changed?", c.State, owner.Of(info), os.Geteuid())
	}
	for _, of := range [][2]string{{"workspace", p.Workspace}, {"home", c.homeOf(principal)}} {
		what, dir := of[0], of[1]
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("its %s: %w; make it as that user, or set another one", what, err)
		}
		info, err := os.Stat(dir)
		switch {
		case err != nil:
			return fmt.Errorf("its %s: %w", what, err)
		case owner.Of(info) != os.Geteuid():
			return fmt.Errorf("its %s %s belongs to user %d, and is to be user %d's: `chown -R %d %s`, or set another one", what, dir, owner.Of(info), os.Geteuid(), os.Geteuid(), dir)
		case info.Mode().Perm()&0o002 != 0:
			return fmt.Errorf("its %s %s is writable by everybody: chmod o-w %s", what, dir, dir)
		}
		if err := syscall.Access(dir, 7); err != nil {
			return fmt.Errorf("its %s %s cannot be used by user %d: %w", what, dir, os.Geteuid(), err)
		}
	}
	return nil
}

// unseen are the directories of a server with seats that no command reads: all of
// the state directory, and the home directory of the Unix user.
func (c *Config) unseen() (dirs []string) {
	if c.homes != "" {
		dirs = append(dirs, strings.TrimSuffix(c.homes, "-homes"))
	}
	if home := c.unixHome(); home != "" {
		dirs = append(dirs, home)
	}
	return dirs
}

// unixHome is the home directory of the Unix user of a seat, as the machine knows
// it; empty where it has none of its own.
func (c *Config) unixHome() string {
	if c.homes == "" {
		return ""
	}
	u, err := owner.User()
	if err != nil || !filepath.IsAbs(u.HomeDir) {
		return ""
	}
	home := resolved(u.HomeDir)
	if info, err := os.Stat(home); err != nil || owner.Of(info) != os.Geteuid() || slices.Contains(systems, home) {
		return ""
	}
	return home
}

// SeatEnvironment is what a part of the server gets from root: what commands get
// from a server, its settings, and nothing else. HOME is a directory of root's, so
// that guards and skills are the operator's, and no user's own.
func (c *Config) SeatEnvironment(a Account) []string {
	env := tools.Environment(nil, "")
	for _, kv := range os.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "HANDRAIL_") && name != sandbox.Mark || name == "OLLAMA_HOST" || slices.Contains([]string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"}, name) {
			env[name] = value
		}
	}
	var list []string
	for name, value := range env {
		if !filepath.IsAbs(value) || name == "PATH" || !within(resolved(value), c.Home) { // root's own is closed to users
			list = append(list, name+"="+value)
		}
	}
	list = slices.DeleteFunc(list, func(kv string) bool { return strings.HasPrefix(kv, "XDG_") })
	slices.Sort(list)
	list = append(list, "XDG_STATE_HOME="+filepath.Dir(c.State)) // where `state` is not set
	return append(list, "HOME="+operatorHome(resolved(c.State)), "USER="+a.Name, "LOGNAME="+a.Name)
}
