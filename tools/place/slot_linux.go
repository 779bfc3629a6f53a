package place

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

func Exchange(dir int, a, b string) error {
	return unix.Renameat2(dir, a, dir, b, unix.RENAME_EXCHANGE)
}

// renameNew renames temp to name, which must not exist.
func renameNew(dir int, temp, name string) error {
	err := unix.Renameat2(dir, temp, dir, name, unix.RENAME_NOREPLACE)
	if err != unix.EINVAL && err != unix.ENOSYS {
		return err
	}
	return linkNew(dir, temp, name)
}

func linkNew(dir int, temp, name string) error {
	if err := unix.Linkat(dir, temp, dir, name, 0); err != nil {
		return err
	}
	return unix.Unlinkat(dir, temp, 0)
}

func modified(st *unix.Stat_t) unix.Timespec { return st.Mtim }

// copyAttributes copies ACL, security label and user attributes, each where
// that is allowed.
func copyAttributes(from, to *os.File) {
	list := make([]byte, 64<<10)
	n, err := unix.Flistxattr(int(from.Fd()), list)
	if err != nil {
		return
	}
	value := make([]byte, 64<<10)
	for name := range strings.SplitSeq(string(list[:n]), "\x00") {
		if !strings.HasPrefix(name, "user.") && name != "system.posix_acl_access" && name != "security.selinux" {
			continue
		}
		if n, err := unix.Fgetxattr(int(from.Fd()), name, value); err == nil {
			_ = unix.Fsetxattr(int(to.Fd()), name, value[:n], 0)
		}
	}
}
