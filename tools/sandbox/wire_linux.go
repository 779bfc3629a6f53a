package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// order is what the server tells the process that stands at the head of a
// command (see keep): first one with Run, then one with End.
type order struct {
	Run *launch        `json:",omitempty"`
	End *time.Duration `json:",omitempty"` // the grace
}

// launch is a command as it crosses into the sandbox. Its three streams travel
// beside it.
type launch struct {
	Path  string
	Args  []string
	Dir   string
	Env   []string
	Unix  bool  // Unix sockets are allowed
	Land  *land `json:",omitempty"` // for a warden
	Proxy bool  // hand back a listener on proxyAddress before the start
}

// news is what comes back: that it started or why not, how the command ended,
// how many others were ended. Where the command leaves nothing, its end is the
// end of all, and no order for that is waited for: whether it serves again may
// then be said after it.
type news struct {
	Started bool    `json:",omitempty"`
	Failed  string  `json:",omitempty"` // nothing ran
	Status  *Status `json:",omitempty"`
	Ended   *int    `json:",omitempty"`
	Asked   bool    `json:",omitempty"` // with Ended: it answers an order
	Again   bool    `json:",omitempty"` // it waits for another command
	Later   bool    `json:",omitempty"` // with Ended: Again, or the end of the stream, comes next
}

// pair returns the two ends of a private stream, both closed on exec; mine tells
// who sends.
func pair() (mine *net.UnixConn, theirs *os.File, err error) {
	outer, theirs, err := ends()
	if err != nil {
		return nil, nil, err
	}
	if mine, err = conn(outer); err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return mine, theirs, nil
}

// ends returns the two ends of a stream. Outer tells who sends: the option must
// be set before the first message is sent.
func ends() (outer, inner *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	outer, inner = os.NewFile(uintptr(fds[0]), "outer"), os.NewFile(uintptr(fds[1]), "inner")
	if err := unix.SetsockoptInt(fds[0], unix.SOL_SOCKET, unix.SO_PASSCRED, 1); err != nil {
		outer.Close()
		inner.Close()
		return nil, nil, fmt.Errorf("credentials of a socket: %w", err)
	}
	return outer, inner, nil
}

// conn makes a connection of f, which it closes.
func conn(f *os.File) (*net.UnixConn, error) {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		c.Close()
		return nil, errors.New("not a Unix socket")
	}
	return u, nil
}

// stream is an end of one: a *net.UnixConn, or one on which a thread waits itself.
type stream interface {
	io.ReadWriter
	ReadMsgUnix(b, oob []byte) (n, oobn, flags int, from *net.UnixAddr, err error)
	WriteMsgUnix(b, oob []byte, to *net.UnixAddr) (n, oobn int, err error)
}

// blocking is a stream whose readers and writers keep their thread: it wakes from
// the kernel, and not through another one that waits for all.
type blocking int

func (c blocking) Read(b []byte) (int, error) {
	n, _, _, _, err := c.ReadMsgUnix(b, nil)
	return n, err
}

func (c blocking) ReadMsgUnix(b, oob []byte) (n, oobn, flags int, from *net.UnixAddr, err error) {
	for {
		n, oobn, flags, _, err = unix.Recvmsg(int(c), b, oob, unix.MSG_CMSG_CLOEXEC)
		if err == unix.EINTR {
			continue
		}
		if err == nil && n == 0 && len(b) > 0 {
			err = io.EOF
		}
		return max(n, 0), oobn, flags, nil, err
	}
}

func (c blocking) Write(b []byte) (int, error) {
	sent := 0
	for sent < len(b) {
		n, _, err := c.WriteMsgUnix(b[sent:], nil, nil)
		if sent += n; err != nil {
			return sent, err
		}
	}
	return sent, nil
}

func (c blocking) WriteMsgUnix(b, oob []byte, _ *net.UnixAddr) (n, oobn int, err error) {
	for {
		n, err = unix.SendmsgN(int(c), b, oob, nil, unix.MSG_NOSIGNAL)
		if err != unix.EINTR {
			return max(n, 0), len(oob), err
		}
	}
}

// hand sends descriptors beside one byte.
func hand(c stream, files ...*os.File) error { return pass(c, []byte{0}, files) }

// send sends one message as JSON behind one byte with descriptors beside it.
func send(c stream, v any, files ...*os.File) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return pass(c, append([]byte{0}, b...), files)
}

// pass sends b with descriptors beside its first byte.
func pass(c stream, b []byte, files []*os.File) error {
	var fds []int
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	n, _, err := c.WriteMsgUnix(b, rights, nil)
	if err == nil && n < len(b) {
		_, err = c.Write(b[n:])
	}
	return err
}

// mostFiles is how many descriptors one message carries at most.
const mostFiles = 8

// handed is one byte that was received, the descriptors beside it, and the
// sender's process ID where the socket was told to ask for it (credentials).
type handed struct {
	first byte
	files []*os.File
	pid   int
}

// take receives one byte and what is beside it.
func take(c stream) (h handed, err error) {
	var b [1]byte
	oob := make([]byte, unix.CmsgSpace(mostFiles*4)+unix.CmsgSpace(unix.SizeofUcred))
	n, oobn, flags, _, err := c.ReadMsgUnix(b[:], oob)
	if errors.Is(err, io.EOF) { // without the names of the socket's ends, which say nothing
		return h, fmt.Errorf("it ended before it was ready: %w", io.EOF)
	}
	if err != nil {
		return h, err
	}
	if n == 0 || flags&unix.MSG_CTRUNC != 0 {
		return h, io.ErrUnexpectedEOF
	}
	h.first = b[0]
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		return h, err
	}
	for _, m := range messages {
		if cred, err := unix.ParseUnixCredentials(&m); err == nil {
			h.pid = int(cred.Pid)
			continue
		}
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			return h, err
		}
		for _, fd := range fds {
			h.files = append(h.files, os.NewFile(uintptr(fd), "handed"))
		}
	}
	return h, nil
}

// tell sends one message as JSON.
func tell(c stream, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = c.Write(b)
	return err
}

// ended makes a Status of how a process ended.
func ended(ws syscall.WaitStatus) Status {
	if ws.Signaled() {
		return Status{Code: 128 + int(ws.Signal()), Signal: int(ws.Signal())}
	}
	return Status{Code: ws.ExitStatus()}
}
