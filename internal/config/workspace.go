package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"handrail/guard/owner"
	"handrail/guard/plugin"
	"handrail/skills"
	"handrail/tools/place"
)

// Workspace resolves the directories that are to be the workspace. It refuses
// those that would make too much the workspace; see place.Root. HOME can be
// set to anything, and the machine knows better: both are home directories.
func Workspace(dirs []string, home string) ([]string, error) {
	var roots []string
	for _, dir := range dirs {
		root, err := place.Root(dir, append(place.Homes(), home))
		if err != nil {
			return nil, fmt.Errorf("%s: %w; pass the directory of one project, as in --root %s", dir, err, filepath.Join(home, "src", "project"))
		}
		roots = append(roots, root)
	}
	return roots, nil
}

// UseDir makes dir the workspace where no roots are set.
func (c *Config) UseDir(dir string) error {
	if len(c.Roots) > 0 {
		return nil
	}
	roots, err := Workspace([]string{dir}, c.Home)
	if err != nil {
		return err
	}
	for _, root := range roots {
		if err := c.Refuse(root); err != nil {
			return err
		}
	}
	c.Roots = roots
	return nil
}

// systems are directories of the machine, which no project is. What lies below
// them may be one: /usr/src/app, /var/www, /etc/nixos.
var systems = []string{"/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib32", "/lib64", "/libx32", "/lost+found", "/media", "/mnt", "/nix", "/nix/store", "/opt", "/proc",
	"/root", "/run", "/sbin", "/snap", "/srv", "/sys", "/usr", "/usr/bin", "/usr/lib", "/usr/lib64", "/usr/local", "/usr/local/bin", "/usr/local/lib", "/usr/sbin", "/usr/share",
	"/var", "/var/lib", "/var/log", "/Applications", "/Library", "/System", "/Users", "/Volumes", "/private", "/private/etc", "/private/var"}

// Refuse says why a directory (absolute, resolved) cannot be a workspace root
// under this configuration: it belongs to the machine; or what Handrail lives by
// lies in it, where the agent could change it, or in the repository around it,
// whose client configuration may have named both (--config, HOME, XDG_*).
func (c *Config) Refuse(root string) error {
	if slices.Contains(systems, root) || within(root, "/proc") || within(root, "/sys") {
		return fmt.Errorf("%s is a directory of the machine, not a workspace: everything below it could be changed without a question; pass the directory of one project", root)
	}
	tree := c.repository(root)
	for _, own := range c.basis() {
		if own.path != c.File && usual(own.path) && !within(own.path, root) {
			continue // the user's own place; where it leads by a link is protected as it is
		}
		for _, path := range append(own.trail, resolved(own.path)) {
			if within(path, root) {
				return fmt.Errorf("%s %s lies inside the workspace %s, where the agent could change it: move it to %s", own.what, path, root, own.instead)
			}
			if tree != "" && within(path, tree) && !usual(path) {
				return fmt.Errorf("%s %s lies in the repository %s, whose authors would then set the guard in your place: move it to %s", own.what, path, tree, own.instead)
			}
		}
	}
	return nil
}

// basis is one thing that Handrail lives by: what it loosens by comes from there.
type basis struct {
	what, path, instead string
	trail               []string
}

// basis lists them: the configuration, what was approved and trusted, and the
// directories of the user's own guards and skills.
func (c *Config) basis() []basis {
	all := []basis{
		{"the configuration directory", c.Dir, "another place (XDG_CONFIG_HOME)", nil},
		{"the state directory", c.State, "another place (`state:`, XDG_STATE_HOME)", nil}}
	if c.File != "" {
		all = append([]basis{{"the configuration", c.File, c.Dir, c.trail}}, all...)
	}
	for _, dir := range slices.Concat(plugin.Dirs(c.Home), skills.Dirs(c.Home)) {
		all = append(all, basis{"the directory of your guards", dir, "another home directory (HOME)", nil})
	}
	for i := range all {
		all[i].trail = append(all[i].trail, trail(all[i].path)...)
	}
	return all
}

// usual reports whether a path is below the user's home directory where it would
// be whatever the environment says.
func usual(path string) bool {
	u, err := owner.User()
	if err != nil || !filepath.IsAbs(u.HomeDir) {
		return false
	}
	for _, dir := range []string{".config/handrail", ".local/state/handrail", ".handrail", ".agents", ".claude"} {
		if within(path, filepath.Join(resolved(u.HomeDir), dir)) {
			return true
		}
	}
	return false
}

// repository is the outermost directory around root that has a .git, below the
// user's home directory as the machine knows it; empty where there is none.
func (c *Config) repository(root string) (tree string) {
	home := c.Home
	if u, err := owner.User(); err == nil && filepath.IsAbs(u.HomeDir) { // HOME may be the repository's
		home = resolved(u.HomeDir)
	}
	for dir := root; dir != filepath.Dir(dir) && !within(home, dir); dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			tree = dir
		}
	}
	return tree
}

// trail lists where path and each of its directories stand: what a link in one
// of them leads to can be changed there.
func trail(path string) (places []string) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil
	}
	for p := abs; p != filepath.Dir(p); p = filepath.Dir(p) {
		places = append(places, filepath.Join(resolved(filepath.Dir(p)), filepath.Base(p)))
	}
	return places
}
