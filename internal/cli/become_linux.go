package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"handrail/internal/config"
)

// become goes on as another user, with the same arguments. It returns only where
// that fails.
func become(c *config.Config, a config.Account) error {
	groups := make([]int, len(a.Groups))
	for i, g := range a.Groups {
		groups[i] = int(g)
	}
	by := "root"
	if who := os.Getenv("SUDO_USER"); who != "" {
		by = who + " (root)"
	}
	env := append(c.SeatEnvironment(a), byVariable+"="+by, "XDG_CONFIG_HOME="+filepath.Dir(c.Dir)) // root's own file, where no other is named
	for _, name := range []string{"TERM", "NO_COLOR"} {
		if v := os.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	syscall.Umask(0o077)
	if err := syscall.Setgroups(groups); err != nil {
		return fmt.Errorf("become the Unix user %s: %w", a.Name, err)
	}
	if err := syscall.Setresgid(int(a.GID), int(a.GID), int(a.GID)); err != nil {
		return fmt.Errorf("become the Unix user %s: %w", a.Name, err)
	}
	if err := syscall.Setresuid(int(a.UID), int(a.UID), int(a.UID)); err != nil {
		return fmt.Errorf("become the Unix user %s: %w", a.Name, err)
	}
	if _, err := os.Stat("."); err != nil { // a directory that is closed to it
		if err := os.Chdir("/"); err != nil {
			return err
		}
	}
	return fmt.Errorf("go on as the Unix user %s: %w", a.Name, syscall.Exec("/proc/self/exe", os.Args, env))
}
