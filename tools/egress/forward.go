package egress

import (
	"context"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"net/netip"
	"strconv"
	"strings"

	"handrail/guard/host"
)

// reverse is what carries plain requests on: net/http reads and writes them
// anew, without what concerns one hop only.
type reverse = httputil.ReverseProxy

// trip is what forward has checked, and the address that it went to.
type trip struct {
	d Decision
}

type tripKey struct{}

// forward carries a request with an absolute target on.
func (s *server) forward(w http.ResponseWriter, r *http.Request) {
	authority, ok := absolute(r.RequestURI)
	if !ok {
		http.Error(w, "handrail: this is a proxy: ask it for http://HOST/PATH, or for a tunnel with CONNECT", http.StatusBadRequest)
		return
	}
	d, err := s.check(authority, 80)
	if err != nil {
		answer(w, s.settle(d, err))
		return
	}
	t := &trip{d: d}
	ctx := context.WithValue(r.Context(), tripKey{}, t)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { t.d.Addr = address(c.Conn) }})
	s.plain.ServeHTTP(w, r.WithContext(ctx))
}

// absolute returns the authority of a target such as http://example.org/path.
func absolute(target string) (authority string, ok bool) {
	scheme, rest, ok := strings.Cut(target, "://")
	if !ok || !strings.EqualFold(scheme, "http") {
		return "", false
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	return rest, true
}

// forwarder makes what carries requests on. The host that is asked for, the
// Host that is sent and the host that is dialled are one.
func (s *server) forwarder() *reverse {
	transport := &http.Transport{
		DisableCompression: true, MaxIdleConns: 16, IdleConnTimeout: waitIdle,
		MaxResponseHeaderBytes: maxReply, ExpectContinueTimeout: waitHeader, TLSHandshakeTimeout: waitDial,
		DialContext: func(ctx context.Context, _, target string) (net.Conn, error) {
			name, port, err := host.Target(target, 0)
			if err != nil {
				return nil, &refusal{reason: err.Error()}
			}
			return s.dial(ctx, name, port)
		},
	}
	if s.Upstream != nil {
		transport.Proxy = http.ProxyURL(s.Upstream)
		transport.DialContext = (&net.Dialer{Timeout: waitDial}).DialContext
	}
	return &reverse{
		Transport: transport, FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			d := r.In.Context().Value(tripKey{}).(*trip).d
			at := d.Host
			if d.Port != 80 {
				at = net.JoinHostPort(d.Host, strconv.Itoa(int(d.Port)))
			}
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.URL.User, r.Out.Host = "http", at, nil, at
			r.Out.URL.RawQuery = r.In.URL.RawQuery
			if !strings.EqualFold(r.Out.Header.Get("Upgrade"), "websocket") { // h2c would carry requests for other hosts
				r.Out.Header.Del("Upgrade")
				r.Out.Header.Del("Connection")
			}
		},
		ModifyResponse: func(resp *http.Response) error {
			s.settle(resp.Request.Context().Value(tripKey{}).(*trip).d, nil)
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			answer(w, s.settle(r.Context().Value(tripKey{}).(*trip).d, err))
		},
	}
}

// address is the other end of conn, or the zero value.
func address(conn net.Conn) netip.AddrPort {
	a, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	p := a.AddrPort()
	return netip.AddrPortFrom(p.Addr().Unmap(), p.Port())
}
