package egress

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"handrail/guard/host"
)

// zone is a DNS server on the loopback: what it answers for a name, by how
// often it was asked for it.
type zone struct {
	mu    sync.Mutex
	hosts map[string]func(n int) []string
	asked map[string]int
}

// fixed answers with the same addresses every time.
func fixed(addrs ...string) func(int) []string { return func(int) []string { return addrs } }

func (z *zone) answer(q dnsmessage.Question) []string {
	z.mu.Lock()
	defer z.mu.Unlock()
	name := strings.TrimSuffix(q.Name.String(), ".")
	if f := z.hosts[name]; f != nil {
		key := q.Type.String() + " " + name
		z.asked[key]++
		return f(z.asked[key])
	}
	return nil
}

// serve starts the server and returns a resolver that asks it.
func (z *zone) serve(t *testing.T) *net.Resolver {
	t.Helper()
	z.asked = map[string]int{}
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			m.Response, m.Additionals, m.RecursionAvailable = true, nil, true
			q := m.Questions[0]
			for _, a := range z.answer(q) {
				addr, h := netip.MustParseAddr(a), dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}
				if q.Type == dnsmessage.TypeA && addr.Is4() {
					m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: addr.As4()}})
				} else if q.Type == dnsmessage.TypeAAAA && addr.Is6() {
					m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: addr.As16()}})
				}
			}
			if out, err := m.Pack(); err == nil {
				conn.WriteTo(out, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// authority is a certificate authority of one test.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	file string // PEM
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{file: filepath.Join(t.TempDir(), "ca.pem")}
	a.cert, a.key = a.issue(t, nil)
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
	if err := os.WriteFile(a.file, block, 0o644); err != nil {
		t.Fatal(err)
	}
	return a
}

// issue makes a certificate for names, or the authority's own without any.
func (a *authority) issue(t *testing.T, names []string) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "test " + strings.Join(names, " ")}, DNSNames: names,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), BasicConstraintsValid: true, IsCA: names == nil,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	parent, signer := c, key
	if names != nil {
		parent, signer = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

// pool trusts the authority.
func (a *authority) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

// site starts an HTTPS server on the loopback, for names, and returns its port.
func (a *authority) site(t *testing.T, h http.Handler, names ...string) (port string) {
	t.Helper()
	cert, key := a.issue(t, names)
	s := httptest.NewUnstartedServer(h)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}}}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return portOf(s.Listener)
}

func portOf(l net.Listener) string {
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// heard collects the decisions of a proxy.
type heard struct {
	mu   sync.Mutex
	list []Decision
}

func (h *heard) add(d Decision) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, d)
}

func (h *heard) last() Decision {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.list) == 0 {
		return Decision{}
	}
	return h.list[len(h.list)-1]
}

// loopback opens the loopback, where the sites of the tests are.
var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// start serves p on the loopback and returns its address.
func start(t *testing.T, p *Proxy, hosts ...string) (address string, h *heard) {
	t.Helper()
	var err error
	if p.Hosts, err = host.Parse(hosts...); err != nil {
		t.Fatal(err)
	}
	h = &heard{}
	if p.Log == nil {
		p.Log = h.add
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- p.Serve(l) }()
	t.Cleanup(func() {
		l.Close()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return l.Addr().String(), h
}

// say sends text to the proxy and returns the first response, its body read,
// and the connection.
func say(t *testing.T, address, text string) (*http.Response, string, net.Conn) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	method, _, _ := strings.Cut(text, " ")
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		return &http.Response{}, "", conn
	}
	if method == "CONNECT" && resp.StatusCode == http.StatusOK {
		return resp, "", conn
	}
	body, _ := io.ReadAll(resp.Body)
	return resp, string(body), conn
}
