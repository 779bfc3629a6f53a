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
// end of all, and no order for that is waited for.
type news struct {
	Started bool    `json:",omitempty"`
	Failed  string  `json:",omitempty"` // nothing ran
	Status  *Status `json:",omitempty"`
	Ended   *int    `json:",omitempty"`
	Asked   bool    `json:",omitempty"` // with Ended: it answers an order
	Again   bool    `json:",omitempty"` // with Ended: it waits for another command
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

// hand sends descriptors beside one byte.
func hand(c *net.UnixConn, files ...*os.File) error {
	var fds []int
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	_, _, err := c.WriteMsgUnix([]byte{0}, rights, nil)
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
func take(c *net.UnixConn) (h handed, err error) {
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
func tell(c *net.UnixConn, v any) error {
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
