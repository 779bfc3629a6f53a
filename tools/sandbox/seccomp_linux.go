package sandbox

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sockets says which sockets a filter lets a command make. The zero value is
// none but pairs of Unix sockets.
type sockets uint8

const (
	noSockets  sockets = iota
	tcpClients         // TCP over IPv4 and IPv6 that connects, where a gate does it (see gate)
	ipSockets          // IPv4, IPv6 and routing netlink; the network namespace says whereto
)

// filter is what the seccomp program of a command lets pass, beside what every
// program needs. A call of a foreign architecture kills the process; what is
// newer than its deny list is not stopped by it, so revise the list with each
// kernel (last: 7.0).
type filter struct {
	Sockets sockets
	Unix    bool // Unix sockets; pairs of them always
	// Shared says that no namespace parts the command from the other processes of
	// the user and their shared memory, queues and semaphores: then it gets no call
	// that changes those.
	Shared bool
}

// What a program returns (linux/seccomp.h).
const (
	seccompKill  = unix.SECCOMP_RET_KILL_PROCESS
	seccompErrno = unix.SECCOMP_RET_ERRNO
	seccompAllow = unix.SECCOMP_RET_ALLOW
)

// systemCall is a call of the kernel: a filter of ours wants its number, one that
// an engine makes its name.
type systemCall struct {
	name string
	nr   uint32
}

// deniedCalls get EPERM: other ways to namespaces and mounts, to the memory and
// descriptors of other processes, to keys, to large attack surface of the
// kernel, and past the file rules of the sandbox (io_uring, handles).
// Source: the default profiles of docker and sandbox-runtime; syscall tables of
// Linux up to 7.0.
var deniedCalls = []systemCall{
	{"io_uring_setup", unix.SYS_IO_URING_SETUP}, {"io_uring_enter", unix.SYS_IO_URING_ENTER}, {"io_uring_register", unix.SYS_IO_URING_REGISTER},
	{"ptrace", unix.SYS_PTRACE}, {"process_vm_readv", unix.SYS_PROCESS_VM_READV}, {"process_vm_writev", unix.SYS_PROCESS_VM_WRITEV}, {"process_madvise", unix.SYS_PROCESS_MADVISE}, {"kcmp", unix.SYS_KCMP}, {"pidfd_getfd", unix.SYS_PIDFD_GETFD},
	{"unshare", unix.SYS_UNSHARE}, {"setns", unix.SYS_SETNS}, {"listns", unix.SYS_LISTNS},
	{"mount", unix.SYS_MOUNT}, {"umount2", unix.SYS_UMOUNT2}, {"pivot_root", unix.SYS_PIVOT_ROOT}, {"chroot", unix.SYS_CHROOT}, {"move_mount", unix.SYS_MOVE_MOUNT}, {"open_tree", unix.SYS_OPEN_TREE}, {"open_tree_attr", unix.SYS_OPEN_TREE_ATTR},
	{"fsopen", unix.SYS_FSOPEN}, {"fsmount", unix.SYS_FSMOUNT}, {"fsconfig", unix.SYS_FSCONFIG}, {"fspick", unix.SYS_FSPICK}, {"mount_setattr", unix.SYS_MOUNT_SETATTR},
	{"keyctl", unix.SYS_KEYCTL}, {"add_key", unix.SYS_ADD_KEY}, {"request_key", unix.SYS_REQUEST_KEY},
	{"bpf", unix.SYS_BPF}, {"perf_event_open", unix.SYS_PERF_EVENT_OPEN}, {"userfaultfd", unix.SYS_USERFAULTFD}, {"fanotify_init", unix.SYS_FANOTIFY_INIT}, {"open_by_handle_at", unix.SYS_OPEN_BY_HANDLE_AT}, {"lsm_set_self_attr", unix.SYS_LSM_SET_SELF_ATTR},
	{"kexec_load", unix.SYS_KEXEC_LOAD}, {"init_module", unix.SYS_INIT_MODULE}, {"finit_module", unix.SYS_FINIT_MODULE}, {"delete_module", unix.SYS_DELETE_MODULE},
	{"quotactl", unix.SYS_QUOTACTL}, {"quotactl_fd", unix.SYS_QUOTACTL_FD}, {"swapon", unix.SYS_SWAPON}, {"swapoff", unix.SYS_SWAPOFF}, {"reboot", unix.SYS_REBOOT}, {"syslog", unix.SYS_SYSLOG}, {"acct", unix.SYS_ACCT},
	{"settimeofday", unix.SYS_SETTIMEOFDAY}, {"clock_settime", unix.SYS_CLOCK_SETTIME}, {"vhangup", unix.SYS_VHANGUP},
}

// sharedCalls reach what other processes share by a number or a name that any
// process of the user can use (sysvipc(7), mq_overview(7)).
var sharedCalls = []systemCall{
	{"shmget", unix.SYS_SHMGET}, {"shmat", unix.SYS_SHMAT}, {"shmctl", unix.SYS_SHMCTL}, {"semget", unix.SYS_SEMGET}, {"semop", unix.SYS_SEMOP}, {"semtimedop", unix.SYS_SEMTIMEDOP}, {"semctl", unix.SYS_SEMCTL},
	{"msgget", unix.SYS_MSGGET}, {"msgsnd", unix.SYS_MSGSND}, {"msgrcv", unix.SYS_MSGRCV}, {"msgctl", unix.SYS_MSGCTL}, {"mq_open", unix.SYS_MQ_OPEN}, {"mq_unlink", unix.SYS_MQ_UNLINK},
}

// newNamespaces are the flags of clone that make a namespace.
const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// tiocLinux is TIOCLINUX of ioctl_console(2), which pastes into a console.
const tiocLinux = 0x541C

// program assembles the filter for this machine's architecture. It fails on one
// that has no table here.
func (f filter) program() ([]unix.SockFilter, error) {
	if auditArch == 0 {
		return nil, fmt.Errorf("no seccomp filter for %s", runtime.GOARCH)
	}
	a := &assembler{}
	a.load(offArch)
	a.branch(opEqual, auditArch, "", "kill")
	a.load(offCall)
	if foreignCalls != 0 {
		a.branch(opAtLeast, foreignCalls, "unknown", "")
	}
	a.branch(opEqual, unix.SYS_CLONE3, "unknown", "") // its flags are behind a pointer; libc falls back to clone
	lists := [][]systemCall{deniedCalls, deniedHere}
	if f.Shared {
		lists = append(lists, sharedCalls)
	}
	for _, calls := range lists {
		for _, c := range calls {
			a.branch(opEqual, c.nr, "deny", "")
		}
	}
	f.arguments(a)
	a.label("allow")
	a.emit(opReturn, seccompAllow)
	a.label("deny")
	a.emit(opReturn, seccompErrno|uint32(unix.EPERM))
	a.label("unknown")
	a.emit(opReturn, seccompErrno|uint32(unix.ENOSYS))
	a.label("kill")
	a.emit(opReturn, seccompKill)
	return a.assemble()
}

// arguments adds the calls that depend on an argument. Each block loads it over
// the call's number, so its last branch must leave on both sides.
func (f filter) arguments(a *assembler) {
	on := func(nr uint32, block func()) {
		next := fmt.Sprintf("after %d", nr)
		a.branch(opEqual, nr, "", next)
		block()
		a.label(next)
	}
	on(unix.SYS_CLONE, func() { a.argument(0); a.branch(opAnyBit, newNamespaces, "deny", "allow") })
	on(unix.SYS_PRCTL, func() { a.argument(0); a.branch(opEqual, unix.PR_SET_PTRACER, "deny", "allow") })
	on(unix.SYS_IOCTL, func() {
		a.argument(1)
		a.branch(opEqual, unix.TIOCSTI, "deny", "")
		a.branch(opEqual, tiocLinux, "deny", "allow")
	})
	on(unix.SYS_SOCKETPAIR, func() { f.pairs(a) })
	on(unix.SYS_SOCKET, func() { f.families(a) })
	if f.Shared {
		f.others(on, a)
	}
	if f.Sockets == tcpClients {
		f.clients(on, a)
	}
}

// others adds the calls that change another process by its number; 0 is the
// caller. Who may signal it is Landlock's to say, who may trace it too.
func (f filter) others(on func(uint32, func()), a *assembler) {
	for _, nr := range []uint32{unix.SYS_PRLIMIT64, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETATTR} {
		on(nr, func() { a.argument(0); a.branch(opEqual, 0, "allow", "deny") })
	}
	for _, of := range []struct{ nr, user uint32 }{{unix.SYS_SETPRIORITY, unix.PRIO_USER}, {unix.SYS_IOPRIO_SET, ioprioUser}} {
		on(of.nr, func() {
			a.argument(0)
			a.branch(opAtLeast, of.user, "deny", "")
			a.argument(1)
			a.branch(opEqual, 0, "allow", "deny")
		})
	}
}

// ioprioUser is IOPRIO_WHO_USER of ioprio_set(2): all processes of a user.
const ioprioUser = 3

// families adds what socket may be called with: AF_VSOCK, AF_PACKET, AF_ALG and
// all others that are not named are denied.
func (f filter) families(a *assembler) {
	a.argument(0)
	if f.Unix {
		a.branch(opEqual, unix.AF_UNIX, "allow", "")
	}
	switch f.Sockets {
	case ipSockets:
		a.branch(opEqual, unix.AF_INET, "allow", "")
		a.branch(opEqual, unix.AF_INET6, "allow", "")
		a.branch(opEqual, unix.AF_NETLINK, "", "deny")
		a.argument(2)
		a.branch(opEqual, unix.NETLINK_ROUTE, "allow", "deny")
	case tcpClients:
		a.branch(opEqual, unix.AF_INET, "type", "")
		a.branch(opEqual, unix.AF_INET6, "type", "deny")
		a.label("type")
		a.argument(1)
		a.emit(opAnd, 0xf) // without SOCK_NONBLOCK and SOCK_CLOEXEC
		a.branch(opEqual, unix.SOCK_STREAM, "", "deny")
		a.argument(2)
		a.branch(opEqual, 0, "allow", "")
		a.branch(opEqual, unix.IPPROTO_TCP, "allow", "deny") // MPTCP is another protocol
	default:
		a.branch(opAtLeast, 0, "deny", "deny")
	}
}

// load puts the filter on the calling thread and what it starts, for ever. The
// goroutine must be locked to its thread, and must end without unlocking it.
func (f filter) load() error {
	_, err := f.install(0)
	return err
}

// install is load with flags of seccomp(2), and returns what the call does.
func (f filter) install(flags uintptr) (int, error) {
	prog, err := f.program()
	if err != nil {
		return -1, err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, fmt.Errorf("no_new_privs: %w", err)
	}
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&fprog)))
	if errno != 0 {
		return -1, fmt.Errorf("seccomp: %w", errno)
	}
	return int(fd), nil
}

// file returns the program in a file in memory, as bwrap --seccomp reads it.
// The caller closes it.
func (f filter) file() (*os.File, error) {
	prog, err := f.program()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	for _, i := range prog {
		_ = binary.Write(&b, binary.NativeEndian, i)
	}
	fd, err := unix.MemfdCreate("seccomp", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memfd: %w", err)
	}
	file := os.NewFile(uintptr(fd), "seccomp")
	if _, err = file.Write(b.Bytes()); err == nil {
		_, err = file.Seek(0, 0)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("seccomp program: %w", err)
	}
	return file, nil
}
