package sandbox

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// freshProc gives this PID namespace its own /proc, in this mount namespace.
func freshProc() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	for _, name := range procOfSystem {
		if err := coverReadOnly("/proc/" + name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// procOfSystem are parts of /proc that change the whole system: what user 0 owns
// it writes there without any capability (sysctl_perm of the kernel).
var procOfSystem = []string{"sys", "sysrq-trigger", "irq", "bus", "fs", "scsi", "acpi", "mtrr", "latency_stats"}

// coverReadOnly makes path a mount of its own that cannot be written.
func coverReadOnly(path string) error {
	if err := unix.Mount(path, path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("cover %s: %w", path, err)
	}
	if err := unix.Mount("", path, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("cover %s: %w", path, err)
	}
	return nil
}
