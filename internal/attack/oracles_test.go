//go:build linux

package attack

import (
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attribute is the extended attribute that the attack sets.
func attribute(path string) string {
	b := make([]byte, 64)
	n, err := unix.Getxattr(path, "user.attack", b)
	if err != nil {
		return ""
	}
	return string(b[:n])
}

func owner(path string) int {
	var st syscall.Stat_t
	if syscall.Stat(path, &st) != nil {
		return -1
	}
	return int(st.Uid)
}

// handleOf is how the file system knows a file: a type and bytes in hex.
func handleOf(path string) string {
	h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, path, 0)
	if err != nil {
		return "0 00"
	}
	return fmt.Sprintf("%d %x", h.Type(), h.Bytes())
}

// residentOf is the memory of a process in bytes.
func residentOf(pid int) int {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	var all, pages int
	_, _ = fmt.Sscan(string(b), &all, &pages)
	return pages * os.Getpagesize()
}

// sameNet looks for a process in the network namespace of the user's program.
func sameNet(m *machine, pids []int) bool {
	theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", m.victim.Process.Pid))
	for _, pid := range pids {
		if mine, fault := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid)); err == nil && fault == nil && mine == theirs {
			return true
		}
	}
	return false
}

// shared makes the shared memory and the message queue of the user's programs,
// and returns what ends them. Their key is the machine's.
func (m *machine) shared() (end func(), err error) {
	segment, err := unix.SysvShmGet(m.key(), 4096, unix.IPC_CREAT|0o666)
	if err != nil {
		return nil, err
	}
	queue, _, errno := unix.Syscall(unix.SYS_MSGGET, uintptr(m.key()), unix.IPC_CREAT|0o666, 0)
	if errno != 0 {
		return nil, errno
	}
	return func() {
		_, _ = unix.SysvShmCtl(segment, unix.IPC_RMID, nil)
		_, _, _ = unix.Syscall(unix.SYS_MSGCTL, queue, unix.IPC_RMID, 0)
	}, nil
}

// key is that of no other machine.
func (m *machine) key() int { return 0x41000000 + int(crc32.ChecksumIEEE([]byte(m.dir))>>8) }

func segmentHas(m *machine, mark string) bool {
	id, err := unix.SysvShmGet(m.key(), 4096, 0)
	if err != nil {
		return false
	}
	b, err := unix.SysvShmAttach(id, 0, 0)
	if err != nil {
		return false
	}
	defer unix.SysvShmDetach(b)
	return strings.HasPrefix(string(b), mark)
}

func queueHas(m *machine, mark string) bool {
	id, _, errno := unix.Syscall(unix.SYS_MSGGET, uintptr(m.key()), 0, 0)
	if errno != 0 {
		return false
	}
	b := make([]byte, 8+256)
	n, _, errno := unix.Syscall6(unix.SYS_MSGRCV, id, uintptr(unsafe.Pointer(&b[0])), 256, 0, unix.IPC_NOWAIT, 0)
	return errno == 0 && string(b[8:8+n]) == mark
}

// keyThere looks for the key in the keyring of the user, and removes it.
func keyThere(mark string) bool {
	id, err := unix.KeyctlSearch(unix.KEY_SPEC_USER_KEYRING, "user", mark, 0)
	if err != nil {
		return false
	}
	_, _ = unix.KeyctlInt(unix.KEYCTL_UNLINK, id, unix.KEY_SPEC_USER_KEYRING, 0, 0)
	return true
}

// shown is what the terminal shows, as its user sees it.
func (m *machine) shown() string { return drain(m.keyboard) }

// typed is what a program that reads the terminal gets.
func (m *machine) typed() string { return drain(m.terminal) }

// drain reads what f has now.
func drain(f *os.File) string {
	fd := int(f.Fd())
	_ = unix.SetNonblock(fd, true)
	defer unix.SetNonblock(fd, false)
	time.Sleep(20 * time.Millisecond)
	b := make([]byte, 4096)
	n, _ := unix.Read(fd, b)
	return string(b[:max(n, 0)])
}

// waiting reports whether a program of attacks has ended and its parent does not
// know yet.
func waiting() bool {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	return slices.ContainsFunc(files, func(f string) bool { return has(f, "(sleep) Z") || has(f, "(program) Z") })
}

// sweep ends what attacks of the mark left.
func sweep(mark string, counted bool) {
	for range 200 { // until they are gone, so that nobody counts them
		pids := marked(mark)
		if len(pids) == 0 {
			break
		}
		for _, pid := range pids {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		time.Sleep(10 * time.Millisecond)
	}
	for range 500 { // and their parents know, as the kernel counts them until then
		if !counted || !waiting() {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	left, _ := filepath.Glob("/dev/shm/handrail-" + mark)
	for _, f := range left {
		_ = os.Remove(f)
	}
}
