package sandbox

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// gate connects the sockets of a command to its proxy, and to nothing else. The
// command cannot do it itself: Landlock refuses it every address, and the filter
// leaves connect to who holds its listener (seccomp_unotify(2)), which is the
// warden. Once the gate is gone the call fails.
//
// What the command has in its memory only chooses between yes and no: it is read
// once, and the address that is connected to is the gate's own. The call itself is
// never let through, as its arguments could have been changed meanwhile.
type gate struct {
	listener int
	proxy    uint16        // its port on 127.0.0.1
	shut     chan struct{} // closed when no process has the filter any more
}

// doormen is how many calls a gate serves at once: one takes as long as a
// connection to this machine, and their threads are there before the command
// begins, which may leave none.
const doormen = 4

// mostAddress is the size in bytes of the longest address that connect takes.
const mostAddress = 128

// notification and verdict are struct seccomp_notif and seccomp_notif_resp of
// linux/seccomp.h.
type notification struct {
	id     uint64
	thread int32 // of the command, as the warden sees it
	_      uint32
	_      int32 // the call
	_      uint32
	_      uint64
	args   [6]uint64
}

type verdict struct {
	id    uint64
	value int64
	errno int32 // negative
	flags uint32
}

// openGate puts the filter on the calling thread, as load does, and serves what it
// asks for.
func (f filter) openGate(proxy uint16) (*gate, error) {
	// Once a call is being answered only death ends it: else a signal would make
	// the program call again, for a socket that is connected already.
	listener, err := f.install(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
	if err != nil {
		return nil, fmt.Errorf("hold a command to its proxy: %w", err)
	}
	g := &gate{listener: listener, proxy: proxy, shut: make(chan struct{})}
	var ready, serving sync.WaitGroup
	ready.Add(doormen)
	for range doormen {
		serving.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			ready.Done()
			g.serve()
		})
	}
	ready.Wait()
	go func() {
		serving.Wait()
		unix.Close(listener)
		close(g.shut)
	}()
	return g, nil
}

// serve answers calls until nobody can make one.
func (g *gate) serve() {
	for {
		var n notification
		switch errno := g.order(unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); {
		case errno == 0:
			v := verdict{id: n.id, errno: -int32(g.connect(&n))}
			_ = g.order(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&v)) // who asked may be gone
		case errno == unix.EINTR, errno == unix.ENOENT && !g.left():
		default:
			return
		}
	}
}

func (g *gate) order(request uintptr, with unsafe.Pointer) syscall.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(g.listener), request, uintptr(with))
	return errno
}

// left reports whether no process has the filter any more.
func (g *gate) left() bool {
	fds := []unix.PollFd{{Fd: int32(g.listener)}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n == 1 && fds[0].Revents&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0
}

// connect does what a call of the command asks for, if that is to connect a TCP
// socket to the proxy, and returns its error, or 0.
func (g *gate) connect(n *notification) syscall.Errno {
	if size := int32(n.args[2]); size < unix.SizeofSockaddrInet4 || size > mostAddress {
		return unix.EINVAL
	}
	thread, err := unix.PidfdOpen(int(n.thread), unix.PIDFD_THREAD)
	if err != nil {
		return unix.EACCES
	}
	defer unix.Close(thread)
	to := make([]byte, unix.SizeofSockaddrInet4)
	read, err := unix.ProcessVMReadv(int(n.thread), []unix.Iovec{{Base: &to[0], Len: uint64(len(to))}}, []unix.RemoteIovec{{Base: uintptr(n.args[1]), Len: len(to)}}, 0)
	// Still waiting, it was that thread all the time.
	if err != nil || read != len(to) || g.order(unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&n.id)) != 0 {
		return unix.EACCES
	}
	if !slices.Equal(to[:8], g.address()) {
		return unix.EACCES
	}
	fd, err := unix.PidfdGetfd(thread, int(int32(n.args[0])), 0)
	if err != nil {
		return errnoOf(err)
	}
	defer unix.Close(fd)
	for _, want := range []struct{ option, value int }{{unix.SO_DOMAIN, unix.AF_INET}, {unix.SO_TYPE, unix.SOCK_STREAM}, {unix.SO_PROTOCOL, unix.IPPROTO_TCP}} {
		switch is, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, want.option); {
		case err != nil:
			return errnoOf(err)
		case is != want.value:
			return unix.EACCES
		}
	}
	return errnoOf(unix.Connect(fd, &unix.SockaddrInet4{Port: int(g.proxy), Addr: [4]byte{127, 0, 0, 1}}))
}

// address is how the address of the proxy begins in memory (ip(7)); what follows
// means nothing.
func (g *gate) address() []byte {
	b, _ := binary.Append(nil, binary.NativeEndian, uint16(unix.AF_INET))
	return append(binary.BigEndian.AppendUint16(b, g.proxy), 127, 0, 0, 1)
}

// errnoOf is err as the kernel answers a call; 0 where it is nil.
func errnoOf(err error) syscall.Errno {
	errno, ok := err.(syscall.Errno)
	if err != nil && !ok {
		return unix.EACCES
	}
	return errno
}
