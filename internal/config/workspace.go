package config

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
)

// Workspace resolves the directories that are to be the workspace. It refuses
// those that would make everything the workspace: the root of the file system,
// the home directory and what lies above it, and where systems keep everybody's.
func Workspace(dirs []string, home string) ([]string, error) {
	homes := []string{home}
	// HOME can be set to anything; the machine knows better.
	if u, err := user.Current(); err == nil && filepath.IsAbs(u.HomeDir) {
		homes = append(homes, resolved(u.HomeDir))
	}
	var roots []string
	for _, dir := range dirs {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, fmt.Errorf("workspace: %w", err)
		}
		if abs, err = filepath.EvalSymlinks(abs); err != nil {
			return nil, fmt.Errorf("workspace: %w", err)
		}
		if info, err := os.Stat(abs); err != nil {
			return nil, fmt.Errorf("workspace: %w", err)
		} else if !info.IsDir() {
			return nil, fmt.Errorf("workspace: %s is not a directory", abs)
		}
		for _, h := range homes {
			if abs == "/" || abs == "/home" || abs == "/Users" || h != "/" && within(h, abs) {
				return nil, fmt.Errorf("%s is too much for a workspace: everything below it could be changed without a question; pass the directory of one project, as in --root %s",
					abs, filepath.Join(home, "src", "project"))
			}
		}
		roots = append(roots, abs)
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

// Refuse says why a directory (absolute, resolved) cannot be a workspace root:
// it belongs to the machine; or under this configuration: the file that was read, or a link to it, lies in the
// workspace, where the agent could change it, or in the repository around it,
// whose client configuration may have named both.
func (c *Config) Refuse(root string) error {
	if slices.Contains(systems, root) || within(root, "/proc") || within(root, "/sys") {
		return fmt.Errorf("%s is a directory of the machine, not a workspace: everything below it could be changed without a question; pass the directory of one project", root)
	}
	if c.File == "" {
		return nil
	}
	tree := c.repository(root)
	for _, path := range append([]string{c.File}, c.trail...) {
		if within(path, root) {
			return fmt.Errorf("the configuration %s lies inside the workspace %s, where the agent could change it: move it to %s", path, root, c.Dir)
		}
		if tree != "" && within(path, tree) && !c.atHome() {
			return fmt.Errorf("the configuration %s lies in the repository %s, whose authors would then set the guard in your place: move it out of there", path, tree)
		}
	}
	return nil
}

// atHome reports whether the file is where the user's own one is, whatever the
// environment says.
func (c *Config) atHome() bool {
	u, err := user.Current()
	return err == nil && c.File == filepath.Join(resolved(u.HomeDir), ".config", "handrail", "config.yaml")
}

// repository is the outermost directory around root that has a .git, below the
// home directory; empty where there is none.
func (c *Config) repository(root string) (tree string) {
	for dir := root; dir != filepath.Dir(dir) && !within(c.Home, dir); dir = filepath.Dir(dir) {
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
