//go:build linux

package stories

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"handrail/internal/testkit"
)

// nginx puts a real nginx with the example's configuration in front of the
// server, which is then reached by its public name over TLS.
func (tm *team) nginx() {
	tm.t.Helper()
	program := testkit.Require(tm.t, "nginx", "apt-get install nginx")
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tm.t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"handrail.example.org"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		tm.t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		tm.t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	tm.write("server.pem", string(public))
	tm.write("server.key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))

	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tm.t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	text, err := os.ReadFile("../../examples/hosting/nginx.conf")
	if err != nil {
		tm.t.Fatal(err)
	}
	site := strings.NewReplacer("listen 443 ssl", "listen "+address+" ssl", "handrail:7345", strings.TrimPrefix(tm.url, "http://"), "/etc/nginx/tls", tm.dir).Replace(string(text))
	if out, _ := exec.Command(program, "-v").CombinedOutput(); regexp.MustCompile(`nginx/1\.(1?\d|2[0-4])\.`).Match(out) { // said otherwise before 1.25.1
		site = strings.NewReplacer(" ssl;\n", " ssl http2;\n", "    http2 on;\n", "").Replace(site)
	}
	tm.write("nginx.conf", "daemon off;\npid DIR/nginx.pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n"+
		"client_body_temp_path DIR/body;\nproxy_temp_path DIR/proxy;\nfastcgi_temp_path DIR/f;\nuwsgi_temp_path DIR/u;\nscgi_temp_path DIR/s;\n"+site+"}\n")
	cmd := tm.command()
	cmd = &exec.Cmd{Path: program, Args: []string{program, "-e", "stderr", "-p", tm.dir, "-c", tm.dir + "/nginx.conf"}, Dir: tm.dir, SysProcAttr: cmd.SysProcAttr}
	var said output
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		tm.t.Fatal(err)
	}
	tm.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if tm.t.Failed() {
			tm.t.Logf("nginx said: %s", said.String())
		}
	})
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(public)
	tm.url = "https://handrail.example.org"
	tm.client.Transport = &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: pool},
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		}}
	eventually(tm.t, "nginx serves", func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

// Through the proxy of the example nothing is held back: a stream says something
// while its call runs, an event of SSE comes when it is sent, and who goes away
// ends the command.
func TestThroughNginx(t *testing.T) {
	testkit.Require(t, "nginx", "apt-get install nginx")
	tm := teamOf(t, strings.Replace(two, "{auth", "{proxy: true, names: [handrail.example.org], auth", 1))
	alice := tm.token("alice")
	tm.start()
	tm.nginx()
	a := tm.session(alice)
	if r := a.bash("echo through"); r.Stdout != "through\n" {
		t.Fatalf("%+v", r)
	}
	for path, want := range map[string]int{"/readyz": 404, "/healthz": 404} {
		if res, err := tm.client.Get(tm.url + path); err != nil || res.StatusCode != want {
			t.Errorf("%s: %v, %v", path, res, err)
		}
	}

	// Streamable HTTP: progress comes before the call ends, which waits for it.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	send := func(ctx context.Context, path string, message map[string]any) (*http.Response, *bufio.Scanner) {
		t.Helper()
		message["jsonrpc"] = "2.0"
		body, err := json.Marshal(message)
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequestWithContext(ctx, "POST", tm.url+path, strings.NewReader(string(body)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Authorization": {"Bearer " + alice}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Session-Id": {a.session}}
		res, err := tm.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if path == "/mcp" && res.ProtoMajor != 2 {
			t.Errorf("nginx speaks %s", res.Proto)
		}
		return res, bufio.NewScanner(res.Body)
	}
	call := func(id int, command string) map[string]any {
		return map[string]any{"id": id, "method": "tools/call", "params": map[string]any{"name": "safe_bash", "arguments": map[string]any{"command": command}, "_meta": map[string]any{"progressToken": id}}}
	}
	res, lines := send(ctx, "/mcp", call(100, "echo begun; while [ ! -e go ]; do sleep 0.05; done; echo finished"))
	progressed := false
	for !progressed && lines.Scan() {
		progressed = strings.Contains(lines.Text(), "notifications/progress")
	}
	if !progressed {
		t.Fatalf("nothing comes before the end: %s", res.Status)
	}
	tm.write("work/alice/go", "")
	finished := false
	for lines.Scan() {
		finished = finished || strings.Contains(lines.Text(), "finished")
	}
	res.Body.Close()
	if !finished {
		t.Error("the result does not come")
	}

	// HTTP+SSE.
	r, err := http.NewRequestWithContext(ctx, "GET", tm.url+"/sse", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Authorization": {"Bearer " + alice}, "Accept": {"text/event-stream"}}
	stream, err := tm.client.Do(r)
	if err != nil || stream.StatusCode != 200 {
		t.Fatal(stream, err)
	}
	defer stream.Body.Close()
	events := bufio.NewScanner(stream.Body)
	next := func(what string) string {
		t.Helper()
		for events.Scan() {
			if data, ok := strings.CutPrefix(events.Text(), "data: "); ok && strings.Contains(data, what) {
				return data
			}
		}
		t.Fatalf("the stream ended without %s: %v", what, events.Err())
		return ""
	}
	endpoint := next("/message")
	for i, message := range []map[string]any{
		{"id": 1, "method": "initialize", "params": map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "story", "version": "1"}}},
		call(2, "echo over the stream"),
	} {
		res, _ := send(ctx, endpoint, message)
		res.Body.Close()
		if res.StatusCode != 202 {
			t.Fatal(res.Status)
		}
		next([]string{"serverInfo", "over the stream"}[i])
	}

	// Who goes away.
	gone := make(chan error, 1)
	leaving, leave := context.WithCancel(t.Context())
	go func() {
		_, _, _, err := (&caller{tm: tm, token: alice, session: a.session, id: 200}).post(leaving, "tools/call", map[string]any{"name": "safe_bash", "arguments": map[string]any{"command": "sleep 843.210"}})
		gone <- err
	}()
	eventually(t, "the command runs", func() bool { return runs("sleep 843.210") })
	leave()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	eventually(t, "the end of the command", func() bool { return !runs("sleep 843.210") })
}
