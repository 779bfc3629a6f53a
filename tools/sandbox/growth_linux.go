package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// filling reports whether a file system has so much less free than when the call
// began that the call may have written more than it may. Where others free what it
// takes, it does not show.
func (b *bounds) filling() bool {
	return slices.ContainsFunc(b.disk, func(v volume) bool {
		free, ok := freeBytes(v.path)
		return ok && v.free > free && v.free-free > uint64(b.limits.Disk)
	})
}

func freeBytes(dir string) (uint64, bool) {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return 0, false
	}
	return st.Bfree * uint64(st.Bsize), true
}

// written sums the blocks of files in the call's directories that changed since
// it began, in bytes; with made, only of files that it made: how much an older
// one grew is not known.
func (b *bounds) written(made bool) int64 {
	var sum int64
	seen := map[[2]uint64]bool{}
	for _, dir := range b.dirs {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				runtime.Gosched() // calls that wait for a processor go first
				return nil
			}
			fi, err := d.Info()
			if err != nil {
				return nil
			}
			st := fi.Sys().(*syscall.Stat_t)
			if key := [2]uint64{uint64(st.Dev), st.Ino}; st.Ctim.Nano() >= b.began.Add(-tick).UnixNano() && !seen[key] && (!made || b.makes(path)) {
				seen[key] = true
				sum += st.Blocks * 512
			}
			return nil
		})
	}
	return sum
}

// makes reports whether the file was made since the call began.
func (b *bounds) makes(path string) bool {
	return bornAt(path) > b.began.Add(-tick).UnixNano()
}

// nameless sums the blocks of deleted files that processes hold open, in bytes.
func (b *bounds) nameless(pids []int) int64 {
	var sum int64
	seen := map[[2]uint64]bool{}
	for _, pid := range pids {
		runtime.Gosched()
		dir := "/proc/" + strconv.Itoa(pid) + "/fd/"
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			var st syscall.Stat_t
			to, err := os.Readlink(dir + e.Name())
			if err != nil || !strings.HasSuffix(to, " (deleted)") || syscall.Stat(dir+e.Name(), &st) != nil || st.Nlink > 0 || st.Mode&syscall.S_IFMT != syscall.S_IFREG {
				continue
			}
			if key := [2]uint64{uint64(st.Dev), st.Ino}; !seen[key] && !strings.HasPrefix(to, "/memfd:") {
				seen[key] = true
				sum += st.Blocks * 512
			}
		}
	}
	return sum
}
