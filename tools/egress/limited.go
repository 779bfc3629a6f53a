package egress

import (
	"errors"
	"net"
	"sync"
)

// limited is a listener that closes the connections beyond cap(free) as they
// come, instead of letting them wait: it never blocks but in Accept itself.
type limited struct {
	net.Listener
	free chan struct{}
}

func (l *limited) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.free <- struct{}{}:
			return &counted{Conn: conn, leave: sync.OnceFunc(func() { <-l.free })}, nil
		default:
			conn.Close()
		}
	}
}

// counted is a connection that gives its place back when it is closed.
type counted struct {
	net.Conn
	leave func()
}

func (c *counted) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// CloseWrite ends what is sent, where the connection can do that.
func (c *counted) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}
