//go:build linux

package main

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// object makes an object of the kernel: io_uring, bpf, perf, userfaultfd.
func object(_ string, a arguments) error {
	var errno syscall.Errno
	switch a.text(0) {
	case "io_uring":
		var params [120]byte
		_, _, errno = unix.Syscall(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&params)), 0)
	case "bpf": // BPF_MAP_CREATE of an array
		attr := [18]uint32{2, 4, 4, 1}
		_, _, errno = unix.Syscall(unix.SYS_BPF, 0, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	case "perf":
		attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK}
		attr.Size = uint32(unsafe.Sizeof(attr))
		_, err := unix.PerfEventOpen(&attr, 0, -1, -1, 0)
		return err
	case "userfaultfd":
		_, _, errno = unix.Syscall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|1, 0, 0) // 1: of user mode only
	case "fanotify":
		_, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF, 0)
		return err
	default:
		return errors.New("no such object")
	}
	if errno != 0 {
		return errno
	}
	return nil
}

// again runs attack in a copy of this program with new namespaces, where user 0
// is the caller.
func again(flags uintptr, mark string, attack ...string) error {
	cmd := exec.Command("/proc/self/exe", append([]string{mark}, attack...)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
	if flags&syscall.CLONE_NEWUSER != 0 {
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	return cmd.Run()
}

// namespace makes a user namespace.
func namespace(mark string, _ arguments) error {
	return again(syscall.CLONE_NEWUSER, mark, "hold")
}

// mount mounts an empty file system on a directory, in new namespaces.
func mount(mark string, a arguments) error {
	if a.text(1) == "inside" {
		return unix.Mount(mark, a.text(0), "tmpfs", 0, "")
	}
	return again(syscall.CLONE_NEWUSER|syscall.CLONE_NEWNS, mark, "mount", a.text(0), "inside")
}

// seize traces a process.
func seize(_ string, a arguments) error {
	runtime.LockOSThread()
	return unix.PtraceSeize(a.number(0))
}

// peek prints the memory of a process.
func peek(_ string, a arguments) error {
	b := make([]byte, a.number(2))
	local := []unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(len(b))
	_, err := unix.ProcessVMReadv(a.number(0), local, []unix.RemoteIovec{{Base: uintptr(a.number(1)), Len: len(b)}}, 0)
	if err == nil {
		fmt.Printf("%s\n", bytes.ReplaceAll(b, []byte{0}, nil))
	}
	return err
}

// descriptor takes a descriptor out of a process, and prints what it reads.
func descriptor(_ string, a arguments) error {
	pidfd, err := unix.PidfdOpen(a.number(0), 0)
	if err != nil {
		return err
	}
	fd, err := unix.PidfdGetfd(pidfd, a.number(1), 0)
	if err != nil {
		return err
	}
	return show(fd)
}

// show prints the beginning of what fd reads.
func show(fd int) error {
	b := make([]byte, 4096)
	n, err := unix.Pread(fd, b, 0)
	if err == nil {
		fmt.Printf("%s\n", b[:max(n, 0)])
	}
	return err
}

// inherited prints what every descriptor reads that this program was started
// with.
func inherited(string, arguments) error {
	seen := false
	for fd := 3; fd < 1024; fd++ {
		seen = show(fd) == nil || seen
	}
	if !seen {
		return errors.New("none")
	}
	return nil
}

// handle opens a file by the handle that its file system knows it by, and prints
// it: arguments are the type, the handle in hex, a directory of the same file
// system.
func handle(_ string, a arguments) error {
	raw, err := hex.DecodeString(a.text(1))
	if err != nil {
		return err
	}
	dir, err := os.Open(a.text(2))
	if err != nil {
		return err
	}
	fd, err := unix.OpenByHandleAt(int(dir.Fd()), unix.NewFileHandle(int32(a.number(0)), raw), unix.O_RDONLY)
	if err != nil {
		return err
	}
	return show(fd)
}

// typeIn types the mark into the terminal on standard input, as if the user had.
func typeIn(mark string, _ arguments) error {
	for _, c := range []byte(mark) {
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, 0, unix.TIOCSTI, uintptr(unsafe.Pointer(&c))); errno != 0 {
			return errno
		}
	}
	return nil
}

// xattr sets an attribute of a file.
func xattr(mark string, a arguments) error {
	return unix.Setxattr(a.text(0), "user.attack", []byte(mark), 0)
}

// segment writes the mark into the shared memory of a key (System V).
func segment(mark string, a arguments) error {
	id, err := unix.SysvShmGet(a.number(0), 4096, 0)
	if err != nil {
		return err
	}
	b, err := unix.SysvShmAttach(id, 0, 0)
	if err != nil {
		return err
	}
	copy(b, mark)
	return nil
}

// queue sends the mark to a message queue of a key (System V).
func queue(mark string, a arguments) error {
	id, _, errno := unix.Syscall(unix.SYS_MSGGET, uintptr(a.number(0)), 0, 0)
	if errno != 0 {
		return errno
	}
	msg := append([]byte{1, 0, 0, 0, 0, 0, 0, 0}, mark...)
	if _, _, errno = unix.Syscall6(unix.SYS_MSGSND, id, uintptr(unsafe.Pointer(&msg[0])), uintptr(len(mark)), unix.IPC_NOWAIT, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// key puts the mark into the user's keyring.
func key(mark string, _ arguments) error {
	_, err := unix.AddKey("user", mark, []byte(mark), unix.KEY_SPEC_USER_KEYRING)
	return err
}

// device opens a file, whatever it is.
func device(_ string, a arguments) error {
	_, err := unix.Open(a.text(0), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	return err
}
