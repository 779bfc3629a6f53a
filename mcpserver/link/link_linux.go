// Package link joins two processes of one server that a third one started: each
// can open connections to the other, and nobody else can, since no name of a
// socket stands anywhere.
package link

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// maxText is the longest message of Send, in bytes.
const maxText = 4 << 10

// patience is how long a message may wait for a peer that does not read.
const patience = 10 * time.Second

// Pair makes both ends of a link, to be given to the processes.
func Pair() (a, b *os.File, err error) { return pair(syscall.SOCK_SEQPACKET) }

func pair(kind int) (a, b *os.File, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, kind|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "link"), os.NewFile(uintptr(fds[1]), "link"), nil
}

// Link is one end. It is a net.Listener for what the other end dials. It is safe
// for concurrent use.
type Link struct {
	c    *net.UnixConn
	peer int // the user whose connections are taken, or -1: any

	sending sync.Mutex
}

// New makes a link of an end, which it closes. Only connections that processes of
// the user peer made are taken; -1: of any.
func New(end *os.File, peer int) (*Link, error) {
	defer end.Close()
	c, err := net.FileConn(end)
	if err != nil {
		return nil, fmt.Errorf("link: %w", err)
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(errors.New("link: not an end of one"), c.Close())
	}
	return &Link{c: u, peer: peer}, nil
}

// Send sends a text with a file, which may be nil.
func (l *Link) Send(text string, f *os.File) error {
	var rights []byte
	if f != nil {
		rights = syscall.UnixRights(int(f.Fd()))
	}
	l.sending.Lock()
	defer l.sending.Unlock()
	if err := l.c.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	_, _, err := l.c.WriteMsgUnix([]byte(text[:min(len(text), maxText)]), rights, nil)
	return err
}

// Receive returns what the other end sent; the file is nil where none came. The
// error is io.EOF where the other end is gone.
func (l *Link) Receive() (string, *os.File, error) {
	text, rights := make([]byte, maxText), make([]byte, syscall.CmsgSpace(4))
	n, m, _, _, err := l.c.ReadMsgUnix(text, rights)
	if err != nil || n == 0 {
		if err == nil {
			err = io.EOF
		}
		return "", nil, err
	}
	all, err := syscall.ParseSocketControlMessage(rights[:m])
	if err != nil || len(all) == 0 {
		return string(text[:n]), nil, nil
	}
	fds, err := syscall.ParseUnixRights(&all[0])
	if err != nil || len(fds) == 0 {
		return string(text[:n]), nil, nil
	}
	for _, fd := range fds[1:] {
		syscall.Close(fd)
	}
	return string(text[:n]), os.NewFile(uintptr(fds[0]), "link"), nil
}

// Dial opens a connection to the other end.
func (l *Link) Dial() (net.Conn, error) {
	mine, theirs, err := pair(syscall.SOCK_STREAM)
	if err != nil {
		return nil, err
	}
	defer mine.Close()
	defer theirs.Close()
	if err := l.Send("c", theirs); err != nil {
		return nil, err
	}
	return net.FileConn(mine)
}

// Accept returns a connection that the other end opened. Its error is final: the
// other end is gone. A connection for which there was no descriptor left, or that
// another user made, is closed.
func (l *Link) Accept() (net.Conn, error) {
	for {
		_, f, err := l.Receive()
		if err != nil {
			return nil, err
		}
		if f == nil {
			continue
		}
		c, err := l.take(f)
		f.Close()
		if err == nil {
			return c, nil
		}
	}
}

func (l *Link) take(f *os.File) (net.Conn, error) {
	for option, want := range map[int]int{syscall.SO_DOMAIN: syscall.AF_UNIX, syscall.SO_TYPE: syscall.SOCK_STREAM, syscall.SO_ACCEPTCONN: 0} {
		if is, err := syscall.GetsockoptInt(int(f.Fd()), syscall.SOL_SOCKET, option); err != nil || is != want {
			return nil, errors.Join(errors.New("this is no connection of a link"), err)
		}
	}
	made, err := syscall.GetsockoptUcred(int(f.Fd()), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	if err != nil {
		return nil, err
	}
	if l.peer >= 0 && int(made.Uid) != l.peer {
		return nil, fmt.Errorf("user %d made this connection", made.Uid)
	}
	return net.FileConn(f)
}

// Close ends the link; connections that it opened stay.
func (l *Link) Close() error { return l.c.Close() }

// Addr is for net.Listener.
func (l *Link) Addr() net.Addr { return l.c.LocalAddr() }
