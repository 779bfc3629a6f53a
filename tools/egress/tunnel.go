package egress

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"handrail/guard/host"
)

// maxHello bounds what a TLS client sends before its first message is whole.
const maxHello = 64 << 10

// unrecognizedName is the fatal alert of that name (RFC 6066, 3).
var unrecognizedName = []byte{21, 3, 3, 0, 2, 2, 112}

// tunnel answers CONNECT: it connects, then lets TLS for that host through.
func (s *server) tunnel(w http.ResponseWriter, r *http.Request) {
	d, err := s.check(r.RequestURI, 0)
	if err == nil && d.Port == 80 {
		err = &refusal{reason: "a tunnel is for TLS; ask for http://" + d.Host + "/ without one"}
	}
	if err != nil {
		answer(w, s.settle(d, err))
		return
	}
	out, err := s.tunnelTo(r.Context(), d.Host, d.Port)
	if err != nil {
		answer(w, s.settle(d, err))
		return
	}
	defer out.Close()
	d.Addr = address(out)
	in, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		answer(w, s.settle(d, err))
		return
	}
	defer in.Close()
	stop := context.AfterFunc(r.Context(), func() { in.Close(); out.Close() })
	defer stop()

	first, err := greet(in, buffered.Reader, d.Host)
	s.settle(d, err)
	if err != nil {
		in.Write(unrecognizedName)
		return
	}
	if err := in.SetDeadline(time.Time{}); err != nil {
		return
	}
	pipe(in, io.MultiReader(bytes.NewReader(first), buffered.Reader), out)
}

// greet tells the client that its tunnel stands and reads its first message,
// which must be of TLS and name the host. It returns what was read.
func greet(conn net.Conn, in *bufio.Reader, name string) ([]byte, error) {
	if err := conn.SetDeadline(time.Now().Add(waitHeader)); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return nil, err
	}
	r := &recorder{Conn: conn, in: io.LimitReader(in, maxHello)}
	named, err := serverName(r)
	if err != nil {
		return nil, &refusal{reason: fmt.Sprintf("what came through the tunnel does not begin as TLS does (%.80s)", err)}
	}
	if named == "" {
		return nil, &refusal{reason: "the TLS client does not say which host it wants (SNI)"}
	}
	if got, err := host.Name(named); err != nil || got != name {
		return nil, &refusal{reason: fmt.Sprintf("through the tunnel the TLS client asked for %.100q", named)}
	}
	return r.seen.Bytes(), nil
}

// errSeen ends the handshake when the client's first message was read.
var errSeen = errors.New("seen")

// serverName reads the first message of a TLS client and returns the host that
// it names, or nothing.
func serverName(r *recorder) (name string, err error) {
	config := &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		name = hello.ServerName
		return nil, errSeen
	}}
	if err = tls.Server(r, config).Handshake(); errors.Is(err, errSeen) {
		err = nil
	}
	return name, err
}

// recorder keeps what is read from a connection, and writes nothing to it.
type recorder struct {
	net.Conn
	in   io.Reader
	seen bytes.Buffer
}

func (r *recorder) Read(b []byte) (int, error) {
	n, err := r.in.Read(b)
	r.seen.Write(b[:n])
	return n, err
}

func (r *recorder) Write(b []byte) (int, error) { return len(b), nil }

// pipe carries bytes both ways, from in's reader where it has one, until both
// sides have ended or nothing moves any more.
func pipe(in net.Conn, from io.Reader, out net.Conn) {
	moved := func() {
		until := time.Now().Add(waitIdle)
		in.SetDeadline(until)
		out.SetDeadline(until)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		carry(in, out, moved)
	}()
	carry(out, from, moved)
	<-done
}

// carry copies from src to dst and ends the writing half of dst; where that or
// the copying fails it closes dst, so that the other direction ends too.
func carry(dst net.Conn, src io.Reader, moved func()) {
	buf := make([]byte, 32<<10)
	for {
		moved()
		n, err := src.Read(buf)
		if n > 0 {
			if _, err := dst.Write(buf[:n]); err != nil {
				break
			}
		}
		if errors.Is(err, io.EOF) {
			if half, ok := dst.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
				return
			}
		}
		if err != nil {
			break
		}
	}
	dst.Close()
}
