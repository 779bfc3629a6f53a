package place

import (
	"os"

	"golang.org/x/sys/unix"
)

func Exchange(dir int, a, b string) error {
	return unix.RenameatxNp(dir, a, dir, b, unix.RENAME_SWAP)
}

// renameNew renames temp to name, which must not exist.
func renameNew(dir int, temp, name string) error {
	return unix.RenameatxNp(dir, temp, dir, name, unix.RENAME_EXCL)
}

func modified(st *unix.Stat_t) unix.Timespec { return st.Mtim }

// copyAttributes copies extended attributes, each where that is allowed.
func copyAttributes(from, to *os.File) {
	list := make([]byte, 64<<10)
	n, err := unix.Flistxattr(int(from.Fd()), list)
	if err != nil {
		return
	}
	value := make([]byte, 64<<10)
	for _, name := range splitNUL(list[:n]) {
		if n, err := unix.Fgetxattr(int(from.Fd()), name, value); err == nil {
			_ = unix.Fsetxattr(int(to.Fd()), name, value[:n], 0)
		}
	}
}

func splitNUL(b []byte) (names []string) {
	start := 0
	for i, c := range b {
		if c == 0 {
			names, start = append(names, string(b[start:i])), i+1
		}
	}
	return names
}
