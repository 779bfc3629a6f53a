package sandbox

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"handrail/guard/host"
	"handrail/internal/testkit"
	"handrail/tools/egress"
)

// beyond is the network behind the proxy: what it was asked for, by host.
type beyond struct {
	mu    sync.Mutex
	asked map[string]int
}

func (b *beyond) of(host string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asked[host]
}

// hosts is a policy of p that reaches allowed.example by a real proxy, and what is
// behind that.
func (p *place) hosts(t *testing.T) (*Policy, *beyond) {
	t.Helper()
	b := &beyond{asked: map[string]int{}}
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		b.asked[r.URL.Hostname()]++
		b.mu.Unlock()
		_, _ = io.WriteString(w, "proxied "+r.URL.Host)
	}))
	t.Cleanup(up.Close)
	way := egress.Proxy{Token: "token-of-this-call"}
	var err error
	if way.Hosts, err = host.Parse("allowed.example"); err != nil {
		t.Fatal(err)
	}
	if way.Upstream, err = url.Parse(up.URL); err != nil {
		t.Fatal(err)
	}
	pol := p.base()
	pol.Network, pol.ProxyToken = Domains, way.Token
	pol.Proxy = func(l net.Listener) { go func() { _ = way.Serve(l) }() }
	return pol, b
}

// TestLandlockHosts: programs reach the hosts of a list by the proxy, and no other.
func TestLandlockHosts(t *testing.T) {
	if asUser(t) {
		return
	}
	p := landing(t)
	for _, program := range []string{"curl", "git"} {
		testkit.Require(t, program, "apt-get install "+program)
	}
	for name, script := range map[string]string{
		"curl":     `curl -sSf -m 20 http://HOST/`,
		"git":      `git -c http.followRedirects=false ls-remote http://HOST/r.git; true`, // no repository, but it was asked for
		"python":   `/usr/bin/python3 -c 'import urllib.request as u; u.urlopen("http://HOST/", timeout=20).read()'`,
		"bash":     `exec 3<>/dev/tcp/127.0.0.1/${http_proxy##*:}; printf 'GET http://HOST/ HTTP/1.1\r\nHost: HOST\r\nProxy-Authorization: Basic %s\r\nConnection: close\r\n\r\n' $(printf handrail:token-of-this-call | base64) >&3; head -1 <&3 | grep -q ' 200 '`,
		"no block": python(`import socket, os, select; s = socket.socket(); s.setblocking(False); e = select.epoll(); e.register(s, select.EPOLLOUT | select.EPOLLHUP); r = s.connect_ex(("127.0.0.1", int(os.environ["http_proxy"].rpartition(":")[2]))); assert r in (0, 115), r; assert e.poll(20)[0][1] == select.EPOLLOUT; s.setblocking(True); import base64; s.sendall(b"GET http://HOST/ HTTP/1.1\r\nHost: HOST\r\nProxy-Authorization: Basic " + base64.b64encode(b"handrail:token-of-this-call") + b"\r\nConnection: close\r\n\r\n"); assert b" 200 " in s.recv(100)`),
	} {
		t.Run(name, func(t *testing.T) {
			pol, b := p.hosts(t)
			if r := p.run(t, pol, strings.ReplaceAll(script, "HOST", "allowed.example")); r.Code != 0 || b.of("allowed.example") == 0 {
				t.Errorf("allowed: %+v, asked %d times", r, b.of("allowed.example"))
			}
			if r := p.run(t, pol, strings.ReplaceAll(script, "HOST", "other.example")); name != "git" && r.Code == 0 || b.of("other.example") > 0 {
				t.Errorf("not allowed: %+v, asked %d times", r, b.of("other.example"))
			}
		})
	}
	pol, b := p.hosts(t)
	if r := p.run(t, pol, `curl -s -o /dev/null -w '%{http_code}' -m 20 -x 127.0.0.1:${http_proxy##*:} http://allowed.example/`); r.out != "407" || b.of("allowed.example") > 0 {
		t.Errorf("without the token: %+v", r)
	}
}

// TestLandlockHostsEnds: the listener is closed when the command has ended, and
// where nothing ran.
func TestLandlockHostsEnds(t *testing.T) {
	if asUser(t) {
		return
	}
	p := landing(t)
	pol := p.base()
	pol.Network, pol.ProxyToken = Domains, "token"
	served := make(chan error, 1)
	pol.Proxy = func(l net.Listener) { go func() { served <- http.Serve(l, nil) }() }
	p.run(t, pol, "true")
	<-served
	c := p.command("true", nil)
	c.Path = "/no/such"
	if _, err := p.sb.Start(t.Context(), pol, c); err == nil {
		t.Error("started what is not there")
	}
	<-served
}
