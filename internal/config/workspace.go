package config

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
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

// Refuse says why a directory (absolute, resolved) cannot be a workspace root
// under this configuration: the agent could write the file that was read.
func (c *Config) Refuse(root string) error {
	if c.File != "" && within(c.File, root) {
		return fmt.Errorf("the configuration %s lies inside the workspace %s, where the agent could change it: move it to %s", c.File, root, c.Dir)
	}
	return nil
}
