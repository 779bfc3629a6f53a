package sandbox

import "golang.org/x/sys/unix"

// tcpULP is TCP_ULP of linux/tcp.h: it can put another protocol, which Landlock
// does not know as TCP, on a TCP socket.
const tcpULP = 31

// pairs adds what socketpair may be called with. Where no Unix socket may be made,
// one of a pair of datagram sockets would be one: it sends to whatever address it
// is given (unix(7)). Those of the other kinds stay with each other.
func (f filter) pairs(a *assembler) {
	a.argument(0)
	if f.Unix {
		a.branch(opEqual, unix.AF_UNIX, "allow", "deny")
		return
	}
	a.branch(opEqual, unix.AF_UNIX, "", "deny")
	a.argument(1)
	a.emit(opAnd, 0xf) // without SOCK_NONBLOCK and SOCK_CLOEXEC
	a.branch(opEqual, unix.SOCK_STREAM, "allow", "")
	a.branch(opEqual, unix.SOCK_SEQPACKET, "allow", "deny")
}

// clients adds that connect is asked of who holds the listener of the filter, and
// denies what of TCP goes round it (tcp(7), ip(7), socket(7)): a connection by
// the first message (MSG_FASTOPEN) or put off to it, listening on a port that was
// not bound, another protocol on the socket, and what sends the packets of a
// connection another way than its address says (a route in the options of IP, a
// device).
func (f filter) clients(on func(uint32, func()), a *assembler) {
	on(unix.SYS_CONNECT, func() { a.emit(opReturn, unix.SECCOMP_RET_USER_NOTIF) })
	for _, send := range []struct{ nr, flags uint32 }{{unix.SYS_SENDTO, 3}, {unix.SYS_SENDMSG, 2}, {unix.SYS_SENDMMSG, 3}} {
		on(send.nr, func() { a.argument(send.flags); a.branch(opAnyBit, unix.MSG_FASTOPEN, "deny", "allow") })
	}
	on(unix.SYS_LISTEN, func() { a.argument(0); a.branch(opAtLeast, 0, "deny", "deny") })
	on(unix.SYS_SETSOCKOPT, func() {
		a.argument(1)
		a.branch(opEqual, unix.IPPROTO_TCP, "tcp options", "")
		a.branch(opEqual, unix.IPPROTO_IP, "ip options", "")
		a.branch(opEqual, unix.SOL_SOCKET, "", "allow")
		a.argument(2)
		a.branch(opEqual, unix.SO_BINDTODEVICE, "deny", "")
		a.branch(opEqual, unix.SO_BINDTOIFINDEX, "deny", "allow")
		a.label("tcp options")
		a.argument(2)
		a.branch(opEqual, unix.TCP_FASTOPEN_CONNECT, "deny", "")
		a.branch(opEqual, tcpULP, "deny", "allow")
		a.label("ip options") // only what programs set of them, and leads nowhere
		a.argument(2)
		a.branch(opEqual, unix.IP_TOS, "allow", "")
		a.branch(opEqual, unix.IP_TTL, "allow", "")
		a.branch(opEqual, unix.IP_RECVERR, "allow", "")
		a.branch(opEqual, unix.IP_MTU_DISCOVER, "allow", "deny")
	})
}
