package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"time"
)

// dial connects to name, which the list allows: it looks the name up, refuses
// it where one of its addresses is not public, and dials the very addresses
// that it has checked.
func (p *Proxy) dial(ctx context.Context, name string, port uint16) (net.Conn, error) {
	addrs, err := p.resolve(ctx, name)
	if err != nil {
		return nil, err
	}
	own, err := ownAddresses()
	if err != nil {
		return nil, &refusal{reason: "the addresses of this machine cannot be read: " + err.Error()}
	}
	for _, a := range addrs {
		if why := p.refused(a, own); why != "" {
			return nil, &refusal{reason: fmt.Sprintf("its address %s is %s", a.Unmap(), why)}
		}
	}
	d := net.Dialer{Timeout: waitDial}
	err = errors.New("it has no address")
	for _, a := range addrs[:min(len(addrs), 4)] {
		var conn net.Conn
		if conn, err = d.DialContext(ctx, "tcp", netip.AddrPortFrom(a, port).String()); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// resolve looks up the addresses of name, without the search list of the
// system's resolver.
func (p *Proxy) resolve(ctx context.Context, name string) ([]netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, waitResolve)
	defer cancel()
	r := p.Resolver
	if r == nil {
		r = net.DefaultResolver
	}
	return r.LookupNetIP(ctx, "ip", name+".")
}

// tunnelTo connects to name for a tunnel: by the upstream proxy where there is
// one.
func (p *Proxy) tunnelTo(ctx context.Context, name string, port uint16) (net.Conn, error) {
	if p.Upstream == nil {
		return p.dial(ctx, name, port)
	}
	target := net.JoinHostPort(name, strconv.Itoa(int(port)))
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: target}, Host: target, Header: http.Header{}}
	if u := p.Upstream.User; u != nil {
		password, _ := u.Password()
		req.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+password)))
	}
	conn, err := p.dialUpstream(ctx)
	if err != nil {
		return nil, fmt.Errorf("upstream proxy: %w", err)
	}
	if err := connect(conn, req); err != nil {
		conn.Close()
		return nil, fmt.Errorf("upstream proxy: %w", err)
	}
	return conn, nil
}

func (p *Proxy) dialUpstream(ctx context.Context) (net.Conn, error) {
	port := p.Upstream.Port()
	if port == "" {
		port = p.Upstream.Scheme // "http" and "https" name their ports
	}
	d := &net.Dialer{Timeout: waitDial}
	address := net.JoinHostPort(p.Upstream.Hostname(), port)
	if p.Upstream.Scheme == "https" {
		ctx, cancel := context.WithTimeout(ctx, 2*waitDial)
		defer cancel()
		return (&tls.Dialer{NetDialer: d}).DialContext(ctx, "tcp", address)
	}
	return d.DialContext(ctx, "tcp", address)
}

// connect asks the proxy behind conn for a tunnel.
func connect(conn net.Conn, req *http.Request) error {
	if err := conn.SetDeadline(time.Now().Add(2 * waitDial)); err != nil {
		return err
	}
	if err := req.Write(conn); err != nil {
		return err
	}
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, req)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	if in.Buffered() > 0 {
		return errors.New("it spoke before the client")
	}
	return conn.SetDeadline(time.Time{})
}
