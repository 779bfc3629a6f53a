package egress

import (
	"crypto/tls"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"handrail/guard/host"
)

func TestZeroProxyRefuses(t *testing.T) {
	addr, heard := start(t, &Proxy{Open: loopback})
	for _, request := range []string{"CONNECT github.com:443 HTTP/1.1\r\nHost: x\r\n\r\n", "GET http://github.com/ HTTP/1.1\r\nHost: x\r\n\r\n"} {
		resp, body, _ := say(t, addr, request)
		if resp.StatusCode != http.StatusForbidden || heard.last().Allowed || heard.last().Entry != "github.com" || !strings.Contains(body, `hosts: ["github.com"]`) {
			t.Errorf("%s %q %+v", resp.Status, body, heard.last())
		}
	}
}

func TestToken(t *testing.T) {
	port, _ := echo(t)
	z := &zone{hosts: map[string]func(int) []string{"site.example": fixed("127.0.0.1")}}
	addr, _ := start(t, &Proxy{Resolver: z.serve(t), Open: loopback, Token: "s3cret"}, "site.example:"+port)
	basic := func(s string) string {
		return "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(s)) + "\r\n"
	}
	for _, target := range []string{"CONNECT site.example:" + port, "GET http://site.example:" + port + "/"} {
		for header, want := range map[string]int{
			"": 407, basic("handrail:wrong"): 407, basic("s3cret"): 407, basic("s3cret:"): 407, "Proxy-Authorization: Basic !\r\n": 407, "Authorization: Bearer s3cret\r\n": 407,
			"Proxy-Authorization: s3cret\r\n": 407, "Proxy-Authorization: Digest s3cret\r\n": 407, basic("handrail:s3cret") + basic("handrail:s3cret"): 407,
			basic("handrail:s3cret"): 200, "Proxy-Authorization: Bearer s3cret\r\n": 200,
		} {
			resp, body, _ := say(t, addr, target+" HTTP/1.1\r\nHost: x\r\n"+header+"\r\n")
			if resp.StatusCode != want || strings.Contains(body, "Proxy-Authorization") {
				t.Errorf("%s %q: %s %s", target, header, resp.Status, body)
			}
		}
	}
}

// TestUpstream: everything goes by the user's own proxy, after the names were
// checked here. Another proxy of this package, which wants a password, is it.
func TestUpstream(t *testing.T) {
	ca := newAuthority(t)
	port, _ := echo(t)
	secure := ca.site(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "secure") }), "site.example")
	z := &zone{hosts: map[string]func(int) []string{"site.example": fixed("127.0.0.1")}}
	up, behind := start(t, &Proxy{Resolver: z.serve(t), Open: loopback, Token: "pw"}, "site.example:"+port, "site.example:"+secure, "evil.example")
	for _, user := range []*url.Userinfo{url.UserPassword("me", "pw"), url.UserPassword("me", "wrong")} {
		addr, heard := start(t, &Proxy{Upstream: &url.URL{Scheme: "http", Host: up, User: user}}, "site.example:"+port, "site.example:"+secure)
		client := clientOf(addr, ca)
		for target, want := range map[string]string{"http://site.example:" + port + "/": "GET / Host=site.example", "https://site.example:" + secure + "/": "secure", "http://evil.example/": "refused"} {
			text := get(client, target)
			if ok := strings.HasPrefix(text, want); ok != (user.String() == "me:pw") && want != "refused" {
				t.Errorf("%s by %s: %q", target, user, text)
			}
			if strings.Contains(text, "Proxy-Authorization") || strings.Contains(text, "me:") {
				t.Errorf("%s: the password left: %q", target, text)
			}
		}
		if get(client, "http://evil.example/"); heard.last().Allowed || heard.last().Host != "evil.example" || behind.last().Host == "evil.example" {
			t.Errorf("a host that is not on the list: %+v, upstream %+v", heard.last(), behind.last())
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := (&Proxy{Upstream: &url.URL{Scheme: "socks5", Host: up, User: url.UserPassword("me", "pw")}}).Serve(l); err == nil || strings.Contains(err.Error(), "pw") {
		t.Errorf("socks5: %v", err)
	}
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
		t.Error("the listener of a proxy that cannot serve is open")
	}
}

func clientOf(addr string, ca *authority) *http.Client {
	return &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: addr}), TLSClientConfig: &tls.Config{RootCAs: ca.pool()}, DisableKeepAlives: true}}
}

func get(c *http.Client, target string) string {
	resp, err := c.Get(target)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return string(b)
}

// TestServeEndsWithItsListener: a tunnel that stands, and a client that says
// nothing, end when the listener is closed, and Serve returns after them.
func TestServeEndsWithItsListener(t *testing.T) {
	ca := newAuthority(t)
	port := ca.site(t, http.NotFoundHandler(), "site.example")
	z := &zone{hosts: map[string]func(int) []string{"site.example": fixed("127.0.0.1")}}
	hosts, err := host.Parse("site.example:" + port)
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Resolver: z.serve(t), Open: loopback, Hosts: hosts}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- p.Serve(l) }()
	silent, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	resp, body, conn := say(t, l.Addr().String(), "CONNECT site.example:"+port+" HTTP/1.1\r\nHost: x\r\n\r\n")
	if resp.StatusCode != 200 {
		t.Fatalf("%s %s", resp.Status, body)
	}
	c := tls.Client(conn, &tls.Config{ServerName: "site.example", RootCAs: ca.pool()})
	if err := c.Handshake(); err != nil {
		t.Fatal(err)
	}
	l.Close()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the proxy did not end")
	}
	for _, conn := range []net.Conn{silent, conn} {
		conn.SetDeadline(time.Now().Add(time.Minute))
		if _, err := io.ReadAll(conn); err != nil && strings.Contains(err.Error(), "timeout") {
			t.Error("a connection still stands")
		}
	}
}

// TestConnectionsAreBounded: beyond the bound a connection is closed, and one
// that ends makes room.
func TestConnectionsAreBounded(t *testing.T) {
	addr, _ := start(t, &Proxy{})
	const request = "GET http://a.example/ HTTP/1.1\r\nHost: x\r\n\r\n"
	var held []net.Conn
	for range maxConns {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		held = append(held, conn)
	}
	if resp, _, _ := say(t, addr, request); resp.StatusCode != 0 {
		t.Fatalf("one beyond the bound was answered: %s", resp.Status)
	}
	held[0].Close()
	for end := time.Now().Add(time.Minute); ; {
		if resp, _, _ := say(t, addr, request); resp.StatusCode == http.StatusForbidden {
			return
		}
		if time.Now().After(end) {
			t.Fatal("no room was made")
		}
	}
}

func TestLedger(t *testing.T) {
	var l Ledger
	l.Add(Decision{Host: "ok.example", Port: 443, Allowed: true})
	for range 3 {
		l.Add(Decision{Host: "a.example", Port: 443, Reason: "no"})
	}
	for i := range 2 * maxRefused {
		l.Add(Decision{Host: "b.example", Port: uint16(i)})
	}
	for range 2 {
		l.Add(Decision{Host: "gone.example", Port: 443, Allowed: true, Reason: "no such host"})
		l.Add(Decision{Host: "left.example", Port: 443, Allowed: true, Reason: "the client left", Addr: netip.MustParseAddrPort("192.0.2.1:443")})
	}
	if failed := l.Failed(); len(failed) != 1 || failed[0].Host != "gone.example" {
		t.Errorf("not reached: %+v", failed)
	}
	refused, more := l.Refused()
	if len(refused) != maxRefused || more != maxRefused+1 || refused[0].Host != "a.example" {
		t.Errorf("%d, %d more, %+v", len(refused), more, refused[0])
	}
}
