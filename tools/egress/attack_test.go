package egress

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"handrail/internal/testkit"
)

// echo is a plain site that says what reached it.
func echo(t *testing.T) (port string, hits *atomic.Int32) {
	hits = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s Host=%s body=%q headers=%v", r.Method, r.RequestURI, r.Host, body, r.Header)
	}))
	t.Cleanup(s.Close)
	return portOf(s.Listener), hits
}

// TestRefusedTargets sends targets that must not be reached, each in both
// kinds of request. The control is the last step: the site is there.
func TestRefusedTargets(t *testing.T) {
	port, hits := echo(t)
	z := &zone{hosts: map[string]func(int) []string{
		"site.example": fixed("127.0.0.1"), "mapped.example": fixed("::ffff:169.254.169.254"), "zero.example": fixed("0.0.0.0"), "private.example": fixed("10.0.0.1"),
		"mixed.example": fixed("127.0.0.1", "192.168.0.1"), "metadata.example": fixed("169.254.169.254"), "six.example": fixed("::1"),
	}}
	addr, heard := start(t, &Proxy{Resolver: z.serve(t), Open: loopback[:1]},
		"site.example:"+port, "mapped.example:"+port, "zero.example:"+port, "private.example:"+port, "mixed.example:"+port, "metadata.example:"+port, "six.example:"+port, "nowhere.example")
	for _, target := range []string{
		"other.example:" + port, "site.example:1", "site.example:80", "SITE.example.evil.example:" + port, "evilsite.example:" + port,
		"127.0.0.1:" + port, "127.1:" + port, "0x7f.0.0.1:" + port, "2130706433:" + port, "0177.0.0.1:" + port, "0.0.0.0:" + port, "localhost:" + port,
		"[::1]:" + port, "[::ffff:127.0.0.1]:" + port, "[::ffff:7f00:1]:" + port, "１２７.０.０.１:" + port,
		"site.example%00.evil.example:" + port, "site.example%2eevil.example:" + port, "site.example\x00.evil:" + port, "u@site.example:" + port, "site.example:" + port + "@evil.example:80",
		"site.example\\.evil.example:" + port, "evil.example#site.example:" + port, "site.example..:" + port, "site.example:" + port + ":" + port, "site.example:0" + port,
		"mapped.example:" + port, "zero.example:" + port, "private.example:" + port, "mixed.example:" + port, "metadata.example:" + port, "six.example:" + port,
	} {
		for _, request := range []string{"CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n\r\n", "GET http://" + target + "/ HTTP/1.1\r\nHost: site.example\r\n\r\n"} {
			resp, body, _ := say(t, addr, request)
			if resp.StatusCode != http.StatusForbidden && resp.StatusCode != http.StatusBadRequest {
				t.Errorf("%.60q: %s %s", request, resp.Status, body)
			}
			if resp.StatusCode == http.StatusForbidden && (heard.last().Allowed || !strings.Contains(body, heard.last().Host) || strings.Count(body, "\n") != 1 || !strings.Contains(body, "escalate")) {
				t.Errorf("%.60q: told %q, logged %+v", request, body, heard.last())
			}
		}
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("%d requests reached the site", n)
	}
	resp, body, _ := say(t, addr, "GET http://SITE.Example.:"+port+"/p?q=a;b HTTP/1.1\r\nHost: evil.example\r\n\r\n")
	if resp.StatusCode != 200 || !strings.Contains(body, "GET /p?q=a;b Host=site.example:"+port) || !heard.last().Allowed || heard.last().Addr.Addr() != netip.MustParseAddr("127.0.0.1") {
		t.Errorf("control: %s %s %+v", resp.Status, body, heard.last())
	}
	resp, body, _ = say(t, addr, "GET http://nowhere.example/ HTTP/1.1\r\nHost: x\r\n\r\n")
	if resp.StatusCode != http.StatusBadGateway || !heard.last().Allowed || heard.last().Reason == "" {
		t.Errorf("a name without an address: %s %s %+v", resp.Status, body, heard.last())
	}
}

// TestRebinding: a name that has an allowed address when it is checked and
// another when it is looked up again leads to the first, or nowhere.
func TestRebinding(t *testing.T) {
	inner, hits := echo(t)
	l, err := net.Listen("tcp", "127.0.0.2:"+inner)
	if err != nil {
		testkit.Missing(t, "the address 127.0.0.2", "sudo ifconfig lo0 alias 127.0.0.2")
	}
	outer := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "outer") }))
	outer.Listener.Close()
	outer.Listener = l
	outer.Start()
	defer outer.Close()
	z := &zone{hosts: map[string]func(int) []string{"rebind.example": func(n int) []string { return []string{[]string{"127.0.0.2", "127.0.0.1"}[(n-1)%2]} }}}
	addr, heard := start(t, &Proxy{Resolver: z.serve(t), Open: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}}, "rebind.example:"+inner)
	request := "GET http://rebind.example:" + inner + "/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
	if resp, body, _ := say(t, addr, request); body != "outer" {
		t.Fatalf("control: %s %q", resp.Status, body)
	}
	outer.CloseClientConnections() // the proxy must look the name up again
	for range 4 {
		resp, body, _ := say(t, addr, request)
		if refused := resp.StatusCode == http.StatusForbidden && strings.Contains(heard.last().Reason, "127.0.0.1"); !refused && body != "outer" {
			t.Errorf("%s %q", resp.Status, body)
		}
		outer.CloseClientConnections()
	}
	if hits.Load() != 0 {
		t.Error("the inner site was reached")
	}
}

func TestAddresses(t *testing.T) {
	own := []netip.Addr{netip.MustParseAddr("1.2.3.4"), netip.MustParseAddr("2a00::1")}
	p := &Proxy{Open: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}
	for _, a := range strings.Fields(`0.0.0.0 0.1.2.3 10.0.0.1 10.2.0.1 100.64.0.1 100.100.100.200 127.0.0.1 127.255.255.255 168.63.129.16 169.254.169.254 172.16.0.1
		172.31.255.255 192.0.0.192 192.0.2.1 192.168.1.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 1.2.3.4
		:: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:1.2.3.4 64:ff9b::127.0.0.1 64:ff9b::a9fe:a9fe 64:ff9b:1::1 100::1 2001::1 2001:db8::1 2002:7f00:1:: fc00::1
		fd00:ec2::254 fe80::1 fe80::1%lo fec0::1 ff02::1 4000::1 2a00::1 2606::1%eth0`) {
		if p.refused(netip.MustParseAddr(a), own) == "" {
			t.Errorf("%s may be dialled", a)
		}
	}
	if p.refused(netip.Addr{}, own) == "" {
		t.Error("no address may be dialled")
	}
	for _, a := range strings.Fields(`1.2.3.5 8.8.8.8 93.184.216.34 172.32.0.1 100.63.0.1 ::ffff:8.8.8.8 2606:4700::1111 2a00::2 64:ff9b::8.8.8.8 10.1.2.3 ::ffff:10.1.2.3`) {
		if why := p.refused(netip.MustParseAddr(a), own); why != "" {
			t.Errorf("%s: %s", a, why)
		}
	}
	mine, err := ownAddresses()
	if err != nil || len(mine) == 0 {
		t.Fatalf("own addresses: %v %v", mine, err)
	}
	for _, a := range mine {
		if p.refused(a, mine) == "" {
			t.Errorf("%s, an address of this machine, may be dialled", a)
		}
	}
}

// TestTunnelIsForItsHost: what goes through a tunnel is TLS for the host that
// the tunnel was asked for.
func TestTunnelIsForItsHost(t *testing.T) {
	ca := newAuthority(t)
	var hits atomic.Int32
	port := ca.site(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { hits.Add(1) }), "site.example", "other.example")
	z := &zone{hosts: map[string]func(int) []string{"site.example": fixed("127.0.0.1")}}
	addr, heard := start(t, &Proxy{Resolver: z.serve(t), Open: loopback}, "site.example:"+port, "site.example")
	open := func() net.Conn {
		resp, body, conn := say(t, addr, "CONNECT site.example:"+port+" HTTP/1.1\r\nHost: site.example:"+port+"\r\n\r\n")
		if resp.StatusCode != 200 {
			t.Fatalf("tunnel: %s %s", resp.Status, body)
		}
		return conn
	}
	for _, name := range []string{"other.example", "", "127.0.0.1", "site.example.evil.example"} {
		c := tls.Client(open(), &tls.Config{ServerName: name, InsecureSkipVerify: true})
		if err := c.Handshake(); err == nil {
			t.Errorf("TLS for %q went through", name)
		} else if heard.last().Allowed {
			t.Errorf("%q: %v %+v", name, err, heard.last())
		}
	}
	for _, text := range []string{"GET / HTTP/1.1\r\nHost: site.example\r\n\r\n", "SSH-2.0-x\r\n" + strings.Repeat("x", 100), "\x16\x03\x01\x00\x05\x01\xff\xff\xff\xff", "\x80\x2e\x01\x03\x01" + strings.Repeat("\x00", 90)} {
		c := open()
		io.WriteString(c, text)
		c.(*net.TCPConn).CloseWrite()
		if b, _ := io.ReadAll(c); len(b) > len(unrecognizedName) || heard.last().Allowed {
			t.Errorf("%.10q was answered with %q, %+v", text, b, heard.last())
		}
	}
	if hits.Load() != 0 {
		t.Fatal("the site was reached")
	}
	for _, config := range []*tls.Config{{}, {MaxVersion: tls.VersionTLS12}} {
		config.ServerName, config.RootCAs = "site.example", ca.pool()
		c := tls.Client(open(), config)
		fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: site.example\r\n\r\n")
		if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || resp.StatusCode != 200 || !heard.last().Allowed {
			t.Errorf("control: %v %+v", err, heard.last())
		}
	}
	// A tunnel to the port of plain HTTP would carry requests for any host.
	if resp, body, _ := say(t, addr, "CONNECT site.example:80 HTTP/1.1\r\nHost: x\r\n\r\n"); resp.StatusCode != http.StatusForbidden || !strings.Contains(body, "TLS") {
		t.Errorf("port 80: %s %s", resp.Status, body)
	}
}

// TestSmuggling: each request on a connection is judged alone, and reaches a
// site as one request for the host that was judged.
func TestSmuggling(t *testing.T) {
	port, hits := echo(t)
	z := &zone{hosts: map[string]func(int) []string{"site.example": fixed("127.0.0.1")}}
	addr, _ := start(t, &Proxy{Resolver: z.serve(t), Open: loopback}, "site.example:"+port)
	head := "POST http://site.example:" + port + "/ HTTP/1.1\r\nHost: site.example\r\n"
	inner := "GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n"
	for _, bad := range []string{
		head + "Host: evil.example\r\n\r\n",
		head + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
		head + "Content-Length: +5\r\n\r\nhello",
		head + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
		head + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
		head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
		head + "X : y\r\n\r\n",
		head + "X: a\x00b\r\n\r\n",
		strings.Replace(head, " HTTP/1.1", " HTTP/1.1 HTTP/1.1", 1) + "\r\n",
		"GET /path HTTP/1.1\r\nHost: site.example\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: site.example\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"GET https://site.example/ HTTP/1.1\r\nHost: site.example\r\n\r\n", "GET ftp://site.example/ HTTP/1.1\r\nHost: site.example\r\n\r\n", "GET //site.example/ HTTP/1.1\r\nHost: x\r\n\r\n",
		"CONNECT /x HTTP/1.1\r\nHost: site.example:" + port + "\r\n\r\n", "CONNECT site.example HTTP/1.1\r\nHost: site.example:" + port + "\r\n\r\n",
		head + "X: " + strings.Repeat("x", 2*maxHeader) + "\r\n\r\n",
	} {
		resp, body, _ := say(t, addr, bad)
		if resp.StatusCode/100 != 4 && resp.StatusCode/100 != 5 {
			t.Errorf("%.120q: %s %s", bad, resp.Status, body)
		}
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("%d of them reached the site", n)
	}
	// What a length and a coding disagree about is the second request, or a body.
	for _, framed := range []string{
		head + fmt.Sprintf("Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", len("0\r\n\r\n"+inner)) + inner,
		head + "Content-Length: 0\r\n\r\n" + inner,
	} {
		before := hits.Load()
		resp, body, conn := say(t, addr, framed)
		rest, _ := io.ReadAll(conn)
		if strings.Contains(body+string(rest), "Host=evil.example") || hits.Load() > before+1 {
			t.Errorf("%.60q: %s %q %q, %d requests", framed, resp.Status, body, rest, hits.Load()-before)
		}
	}
	resp, body, _ := say(t, addr, "GET http://site.example:"+port+"/ HTTP/1.1\r\nHost: evil.example\r\nConnection: X-Hop, Upgrade\r\nUpgrade: h2c\r\nX-Hop: 1\r\nProxy-Connection: keep-alive\r\nX-End: 2\r\n\r\n")
	if resp.StatusCode != 200 || strings.Contains(body, "X-Hop") || strings.Contains(body, "Upgrade") || strings.Contains(body, "Proxy") || !strings.Contains(body, "X-End") || !strings.Contains(body, "Host=site.example:"+port) {
		t.Errorf("%s %s", resp.Status, body)
	}
}

// pipes is a listener of connections in memory, whose clock synctest owns.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{} }

// TestSlowClientsAreLetGo: who sends a request, or the greeting of TLS, byte by
// byte does not keep its connection.
func TestSlowClientsAreLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		served := make(chan error)
		go func() { served <- new(Proxy).Serve(l) }()
		drip := func(c net.Conn, what string) {
			go io.Copy(io.Discard, c)
			begin := time.Now()
			for i := 0; ; i++ {
				if _, err := io.WriteString(c, string(what[i%len(what)])); err != nil {
					break
				}
				time.Sleep(time.Second)
			}
			if kept := time.Since(begin); kept > 2*waitHeader {
				t.Errorf("%q was kept for %v", what, kept)
			}
		}
		client, server := net.Pipe()
		l.conns <- server
		drip(client, "GET http://site.example/ HTTP/1.1\r\nX-: aaaaaaaaaaaaaaaaaaaaaaaaaaa")
		l.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
		client, server = net.Pipe()
		go func() {
			defer server.Close()
			if b, err := greet(server, bufio.NewReader(server), "site.example"); err == nil {
				t.Errorf("greeted with %q", b)
			}
		}()
		drip(client, "\x16\x03\x01\x20\x00\x01\x00\x1f\xfc\x03\x03"+strings.Repeat("x", 8000))
	})
}
