package sandbox

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// filters are all option sets.
func filters() []filter {
	var all []filter
	for _, s := range []sockets{noSockets, tcpClients, ipSockets} {
		all = append(all, filter{s, false, false}, filter{s, true, false}, filter{s, false, true})
	}
	return all
}

// under runs f on a thread of its own that has the filter (nil: none), and
// that ends with it.
func under(t *testing.T, with *filter, f func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		var err error
		if with != nil {
			err = with.load()
		}
		if err == nil {
			f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// TestFilterIsTakenByTheKernel: the kernel's checker takes the program of every
// option set, and no jump of it leads out.
func TestFilterIsTakenByTheKernel(t *testing.T) {
	for _, f := range filters() {
		prog, err := f.program()
		if err != nil {
			t.Fatal(err)
		}
		for i, in := range prog {
			if in.Code&7 == unix.BPF_JMP && i+1+int(max(in.Jt, in.Jf)) >= len(prog) {
				t.Errorf("%+v: instruction %d jumps out of %d", f, i, len(prog))
			}
		}
		under(t, &f, func() {})
	}
}

// bad is a pointer that no program has.
const bad = 1

// arguments that make a call harmless where it is not denied; others get none.
var harmless = map[uint32][4]uintptr{
	unix.SYS_ACCT:              {bad},
	unix.SYS_KEXEC_LOAD:        {0, 0, 0, ^uintptr(0)},
	unix.SYS_KEYCTL:            {^uintptr(0)},
	unix.SYS_BPF:               {^uintptr(0)},
	unix.SYS_USERFAULTFD:       {^uintptr(0)},
	unix.SYS_SETNS:             {^uintptr(0)},
	unix.SYS_PTRACE:            {^uintptr(0)},
	unix.SYS_PROCESS_VM_READV:  {^uintptr(0)},
	unix.SYS_PROCESS_VM_WRITEV: {^uintptr(0)},
	unix.SYS_PROCESS_MADVISE:   {^uintptr(0)},
	unix.SYS_PIDFD_GETFD:       {^uintptr(0)},
	unix.SYS_KCMP:              {^uintptr(0)},
	unix.SYS_FANOTIFY_INIT:     {^uintptr(0), ^uintptr(0)},
	unix.SYS_SETTIMEOFDAY:      {bad, bad},
	unix.SYS_CLOCK_SETTIME:     {^uintptr(0), bad},
	unix.SYS_IO_URING_ENTER:    {^uintptr(0)},
	unix.SYS_IO_URING_REGISTER: {^uintptr(0)},
	unix.SYS_FSCONFIG:          {^uintptr(0)},
	unix.SYS_FSMOUNT:           {^uintptr(0)},
	unix.SYS_MOVE_MOUNT:        {^uintptr(0), bad, ^uintptr(0), bad},
	unix.SYS_OPEN_TREE:         {^uintptr(0), bad},
	unix.SYS_OPEN_TREE_ATTR:    {^uintptr(0), bad},
	unix.SYS_MOUNT_SETATTR:     {^uintptr(0), bad},
	unix.SYS_OPEN_BY_HANDLE_AT: {^uintptr(0)},
	unix.SYS_FINIT_MODULE:      {^uintptr(0)},
	unix.SYS_QUOTACTL_FD:       {^uintptr(0)},
	unix.SYS_LSM_SET_SELF_ATTR: {bad, bad, bad, bad},
}

// TestDeniedCalls makes each call of the deny list for real, with arguments that
// make it harmless, without the filter and under each.
func TestDeniedCalls(t *testing.T) {
	var calls []uint32
	for _, c := range slices.Concat(deniedCalls, deniedHere) {
		calls = append(calls, c.nr)
	}
	try := func() map[uint32]syscall.Errno {
		got := map[uint32]syscall.Errno{}
		for _, nr := range calls {
			if nr == unix.SYS_VHANGUP { // takes no argument that makes it harmless
				continue
			}
			a := harmless[nr]
			_, _, got[nr] = unix.Syscall6(uintptr(nr), a[0], a[1], a[2], a[3], 0, 0)
		}
		return got
	}
	var control map[uint32]syscall.Errno
	under(t, nil, func() { control = try() })
	reached := 0
	for nr, errno := range control {
		if errno != unix.EPERM {
			reached++
		} else if os.Geteuid() == 0 {
			t.Logf("control: call %d is refused without the filter too", nr)
		}
	}
	if reached < 15 || os.Geteuid() == 0 && reached < len(control)-3 {
		t.Errorf("control: only %d of %d calls pass without the filter", reached, len(control))
	}
	for _, f := range filters() {
		var got map[uint32]syscall.Errno
		under(t, &f, func() { got = try(); _, _, got[unix.SYS_VHANGUP] = unix.Syscall(unix.SYS_VHANGUP, 0, 0, 0) })
		for _, nr := range calls {
			if got[nr] != unix.EPERM {
				t.Errorf("%+v: call %d: %v", f, nr, got[nr])
			}
		}
	}
}

// attempt is one call with arguments that matter.
type attempt struct {
	name string
	do   func() error
	ok   func(filter) bool // whether it passes; nil: never
}

func socket(family, kind, protocol int) func() error {
	return func() error {
		fd, err := unix.Socket(family, kind, protocol)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
}

func pairOf(kind int) func() error {
	return func() error {
		fds, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
		if err == nil {
			unix.Close(fds[0])
			unix.Close(fds[1])
		}
		return err
	}
}

func call(nr uintptr, a ...uintptr) func() error {
	return func() error {
		a := append(a, make([]uintptr, 6-len(a))...)
		if _, _, errno := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
			return errno
		}
		return nil
	}
}

func start(flags uintptr) func() error {
	return func() error {
		c := exec.Command("/bin/true")
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
		return c.Run()
	}
}

// highWord is a bit that the kernel does not look at in an int.
const highWord = ^uintptr(0) ^ ^uintptr(0)>>1

func attempts(t *testing.T) []attempt {
	always := func(filter) bool { return true }
	ip := func(f filter) bool { return f.Sockets == ipSockets }
	tcp := func(f filter) bool { return f.Sockets != noSockets }
	free := func(f filter) bool { return f.Sockets != tcpClients }
	alone := func(f filter) bool { return !f.Shared }
	const nobody = 1 << 30 // no process has this number
	return []attempt{
		{"start a program", start(0), always},
		{"clone into a user namespace", start(unix.CLONE_NEWUSER), nil},
		{"clone into user and mount namespaces", start(unix.CLONE_NEWUSER | unix.CLONE_NEWNS), nil},
		{"clone into user and network namespaces", start(unix.CLONE_NEWUSER | unix.CLONE_NEWNET), nil},
		{"socketpair unix", pairOf(unix.SOCK_STREAM), always},
		{"socketpair unix of messages", pairOf(unix.SOCK_SEQPACKET | unix.SOCK_CLOEXEC), always},
		{"socketpair unix datagram", pairOf(unix.SOCK_DGRAM), func(f filter) bool { return f.Unix }},
		{"socketpair unix raw", pairOf(unix.SOCK_RAW | unix.SOCK_NONBLOCK), func(f filter) bool { return f.Unix }}, // the same to the kernel
		{"socket unix", socket(unix.AF_UNIX, unix.SOCK_STREAM, 0), func(f filter) bool { return f.Unix }},
		{"socket tcp", socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0), tcp},
		{"socket tcp by protocol", socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_TCP), tcp},
		{"socket tcp6", socket(unix.AF_INET6, unix.SOCK_STREAM, 0), tcp},
		{"socket mptcp", socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP), ip},
		{"socket udp", socket(unix.AF_INET, unix.SOCK_DGRAM, 0), ip},
		{"socket udp6", socket(unix.AF_INET6, unix.SOCK_DGRAM, 0), ip},
		{"socket route", socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE), ip},
		{"socket netfilter", socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER), nil},
		{"socket vsock", socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0), nil},
		{"socket packet", socket(unix.AF_PACKET, unix.SOCK_DGRAM, 0), nil},
		{"socket alg", socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0), nil},
		{"ptracer", call(unix.SYS_PRCTL, unix.PR_SET_PTRACER, 0), nil},
		{"dumpable", call(unix.SYS_PRCTL, unix.PR_GET_DUMPABLE), always},
		{"TIOCSTI", call(unix.SYS_IOCTL, ^uintptr(0), unix.TIOCSTI), nil},
		{"TIOCSTI with a high word", call(unix.SYS_IOCTL, ^uintptr(0), unix.TIOCSTI|highWord), nil},
		{"TIOCLINUX", call(unix.SYS_IOCTL, ^uintptr(0), tiocLinux), nil},
		{"own limits", call(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_CORE), always},
		{"limits of another process", call(unix.SYS_PRLIMIT64, nobody), alone},
		{"own priority", call(unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, 0, 0), always},
		{"priority of another process", call(unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, nobody), alone},
		{"scheduling of another process", call(unix.SYS_SCHED_SETSCHEDULER, nobody), alone},
		{"input priority of another process", call(unix.SYS_IOPRIO_SET, 1, nobody, 0), alone},
		{"shared memory", call(unix.SYS_SHMGET, 1, 0, 0), alone},
		{"queue", call(unix.SYS_MSGGET, 1, 0), alone},
		{"queue by name", call(unix.SYS_MQ_OPEN, 0, 0), alone},
		{"sendto", call(unix.SYS_SENDTO, ^uintptr(0), 0, 0, 0), always},
		{"sendto fast open", call(unix.SYS_SENDTO, ^uintptr(0), 0, 0, unix.MSG_FASTOPEN), free},
		{"sendmsg fast open", call(unix.SYS_SENDMSG, ^uintptr(0), 0, unix.MSG_FASTOPEN), free},
		{"sendmmsg fast open", call(unix.SYS_SENDMMSG, ^uintptr(0), 0, 0, unix.MSG_FASTOPEN), free},
		{"listen", call(unix.SYS_LISTEN, ^uintptr(0), 1), free},
		{"setsockopt TCP_ULP", call(unix.SYS_SETSOCKOPT, ^uintptr(0), unix.IPPROTO_TCP, tcpULP), free},
		{"setsockopt TCP_FASTOPEN_CONNECT", call(unix.SYS_SETSOCKOPT, ^uintptr(0), unix.IPPROTO_TCP, unix.TCP_FASTOPEN_CONNECT), free},
		{"setsockopt IP_OPTIONS", call(unix.SYS_SETSOCKOPT, ^uintptr(0), unix.IPPROTO_IP, unix.IP_OPTIONS), free},
		{"setsockopt SO_BINDTODEVICE", call(unix.SYS_SETSOCKOPT, ^uintptr(0), unix.SOL_SOCKET, unix.SO_BINDTODEVICE), free},
		{"setsockopt SO_BINDTOIFINDEX", call(unix.SYS_SETSOCKOPT, ^uintptr(0), unix.SOL_SOCKET, unix.SO_BINDTOIFINDEX), free},
		{"setsockopt IP_TOS", call(unix.SYS_SETSOCKOPT, ^uintptr(0), unix.IPPROTO_IP, unix.IP_TOS), always},
		{"setsockopt SO_KEEPALIVE", call(unix.SYS_SETSOCKOPT, ^uintptr(0), unix.SOL_SOCKET, unix.SO_KEEPALIVE), always},
		{"setsockopt TCP_NODELAY", call(unix.SYS_SETSOCKOPT, ^uintptr(0), unix.IPPROTO_TCP, unix.TCP_NODELAY), always},
	}
}

// TestArguments makes the calls whose arguments decide, without the filter and
// under each.
func TestArguments(t *testing.T) {
	all := attempts(t)
	passes := make([]bool, len(all))
	under(t, nil, func() {
		for i, a := range all {
			err := a.do()
			if passes[i] = !errors.Is(err, unix.EPERM); !passes[i] {
				t.Logf("control: %s is refused without the filter too: %v", a.name, err)
			}
		}
	})
	for _, f := range filters() {
		under(t, &f, func() {
			for i, a := range all {
				err := a.do()
				want := a.ok != nil && a.ok(f)
				if passed := !errors.Is(err, unix.EPERM); passed != want && passes[i] {
					t.Errorf("%+v: %s: %v", f, a.name, err)
				}
			}
			// Left to a supervisor, which is not there.
			if _, _, errno := unix.Syscall(unix.SYS_CONNECT, ^uintptr(0), 0, 0); (errno == unix.ENOSYS) != (f.Sockets == tcpClients) {
				t.Errorf("%+v: connect: %v", f, errno)
			}
			for name, nr := range map[string]uintptr{"clone3": unix.SYS_CLONE3, "x32 getpid": 0x40000000 | 39} {
				if _, _, errno := unix.Syscall(nr, 0, 0, 0); errno != unix.ENOSYS {
					t.Errorf("%+v: %s: %v", f, name, errno)
				}
			}
		})
	}
}

// TestFilterFile: what bwrap gets is the program, from its first byte.
func TestFilterFile(t *testing.T) {
	file, err := filter{}.file()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	prog, _ := filter{}.program()
	got := make([]unix.SockFilter, len(prog))
	if err := binary.Read(file, binary.NativeEndian, got); err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if got[i] != prog[i] {
			t.Fatalf("instruction %d is %v, want %v", i, got[i], prog[i])
		}
	}
	if st, err := file.Stat(); err != nil || st.Size() != int64(len(prog))*int64(unsafe.Sizeof(prog[0])) {
		t.Errorf("size %v, %v", st, err)
	}
}
