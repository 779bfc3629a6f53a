package auth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// authority signs certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	n    int64
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t}
	a.cert, a.key = a.issue(&x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

// issue makes a certificate; the first one signs itself.
func (a *authority) issue(c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	a.n++
	c.SerialNumber, c.Subject = big.NewInt(a.n), pkix.Name{CommonName: fmt.Sprint("n", a.n)}
	c.NotBefore = time.Now().Add(-time.Hour)
	if c.NotAfter.IsZero() {
		c.NotAfter = time.Now().Add(time.Hour)
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), signer)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key
}

func (a *authority) client(mail string) tls.Certificate {
	c, key := a.issue(&x509.Certificate{EmailAddresses: []string{mail}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	return tls.Certificate{Certificate: [][]byte{c.Raw}, PrivateKey: key}
}

// server writes a server certificate and its key.
func (a *authority) server(dir string) {
	a.t.Helper()
	c, key := a.issue(&x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	a.write(dir, "cert.pem", "CERTIFICATE", c.Raw)
	a.write(dir, "key.pem", "PRIVATE KEY", der)
}

func (a *authority) write(dir, name, kind string, der []byte) {
	a.t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

func TestCertificates(t *testing.T) {
	ours, theirs, dir := newAuthority(t), newAuthority(t), t.TempDir()
	ours.server(dir)
	ours.write(dir, "ca.pem", "CERTIFICATE", ours.cert.Raw)
	told := make(chan error, 10)
	files := Files{Certificate: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"), ClientCA: filepath.Join(dir, "ca.pem")}
	conf, err := files.Server(func(err error) { told <- err })
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", conf)
	if err != nil {
		t.Fatal(err)
	}
	who := First(Certificates(func(sans []string) string {
		if strings.Join(sans, " ") == "alice@example.org" {
			return "alice"
		}
		return ""
	}))
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, err := who(r)
		fmt.Fprintf(w, "%s %s", caller.Principal, code(err))
	})}
	go srv.Serve(l)
	defer srv.Close()
	get := func(certs ...tls.Certificate) string {
		pool := x509.NewCertPool()
		pool.AddCert(ours.cert)
		c := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: certs}, DisableKeepAlives: true}}
		res, err := c.Get("https://" + l.Addr().String())
		if err != nil {
			return "refused"
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			return "refused"
		}
		return string(text)
	}
	for what, c := range map[string]struct {
		certs []tls.Certificate
		want  string
	}{
		"alice":                     {[]tls.Certificate{ours.client("alice@example.org")}, "alice no refusal"},
		"bob":                       {[]tls.Certificate{ours.client("bob@example.org")}, " " + InvalidToken},
		"another authority's alice": {[]tls.Certificate{theirs.client("alice@example.org")}, "refused"},
		"nobody":                    {nil, "refused"},
	} {
		if got := get(c.certs...); got != c.want {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}

	// A connection that stays open does not outlive its certificate.
	short, key := ours.issue(&x509.Certificate{EmailAddresses: []string{"alice@example.org"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, NotAfter: time.Now().Add(3 * time.Second)})
	pool := x509.NewCertPool()
	pool.AddCert(ours.cert)
	kept := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{{Certificate: [][]byte{short.Raw}, PrivateKey: key}}}}}
	defer kept.CloseIdleConnections()
	over := func() string {
		res, err := kept.Get("https://" + l.Addr().String())
		if err != nil {
			return err.Error()
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		return string(text)
	}
	if got := over(); got != "alice no refusal" {
		t.Fatalf("before it ends: %q", got)
	}
	eventually(t, "the end of a certificate", func() bool { return over() == " "+InvalidToken })

	// A change is taken up by the next connection; what cannot be used leaves the
	// old files in force.
	alice := ours.client("alice@example.org")
	if err := os.WriteFile(files.Certificate, []byte("half a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the broken file is told", func() bool {
		if got := get(alice); got != "alice no refusal" {
			t.Fatalf("with a broken file: %q", got)
		}
		return len(told) == 1
	})
	later := newAuthority(t)
	ours.server(dir)
	ours.write(dir, "ca.pem", "CERTIFICATE", later.cert.Raw)
	eventually(t, "the new authority counts", func() bool { return get(later.client("alice@example.org")) == "alice no refusal" })
	if got := get(alice); got != "refused" {
		t.Errorf("the old authority still counts: %q", got)
	}
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func TestFilesThatWillNotDo(t *testing.T) {
	a, dir := newAuthority(t), t.TempDir()
	a.server(dir)
	files := Files{Certificate: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	if _, err := files.Server(nil); err != nil {
		t.Fatal(err)
	}
	os.Chmod(files.Key, 0o644)
	if _, err := files.Server(nil); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key that others can read: %v", err)
	}
	os.Chmod(files.Key, 0o600)
	os.WriteFile(filepath.Join(dir, "empty.pem"), nil, 0o600)
	files.ClientCA = filepath.Join(dir, "empty.pem")
	if _, err := files.Server(nil); err == nil {
		t.Error("an authority without certificates")
	}
	files.ClientCA = filepath.Join(dir, "none.pem")
	if _, err := files.Server(nil); err == nil {
		t.Error("a file that is not there")
	}
}
