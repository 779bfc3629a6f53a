//go:build linux

package stories

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const two = `
http: {auth: {tokens: true}}
principals:
  alice: {workspace: WORK/alice}
  bob: {workspace: WORK/bob}
`

// Two principals of one server: neither reaches the other's files, by whatever
// way, nor processes, scratch files, jobs, approvals and grants.
func TestPrincipalsAreApart(t *testing.T) {
	tm := teamOf(t, two)
	alice, bob := tm.token("alice"), tm.token("bob")
	tm.start()
	a, b := tm.session(alice), tm.session(bob)

	secret := "what only alice knows"
	file := tm.dir + "/work/alice/notes.txt"
	if r := a.call("safe_write", map[string]any{"path": "notes.txt", "content": secret + "\n"}); r.Verdict != "allow" {
		t.Fatalf("%+v", r)
	}
	if r := a.bash("cat notes.txt && pwd && echo scratch > $TMPDIR/scratch-of-alice"); r.Verdict != "allow" || !strings.Contains(r.Stdout, secret) || !strings.Contains(r.Stdout, "/work/alice") {
		t.Fatalf("%+v", r)
	}
	for _, r := range []result{
		b.call("safe_read", map[string]any{"path": file}),
		b.call("safe_read", map[string]any{"path": "../alice/notes.txt"}),
		b.call("safe_write", map[string]any{"path": file, "content": "bob was here"}),
		b.call("safe_edit", map[string]any{"path": file, "old_string": "alice", "new_string": "bob"}),
		b.bash("cat " + file), b.bash("cat ../alice/notes.txt"), b.bash("cp " + file + " mine"), b.bash("rm -f " + file), b.bash("ls " + filepath.Dir(file)),
		b.bash("ln -s " + file + " link && cat link"), b.bash("cd ../alice && cat notes.txt"), b.bash("x=" + file + "; cat $x"), b.bash("tar cf all.tar " + filepath.Dir(file)),
		b.call("safe_read", map[string]any{"path": "/proc/self/environ"}),
		b.call("safe_read", map[string]any{"path": tm.dir + "/home/.config/handrail/config.yaml"}),
		b.bash("sudo cat " + file), b.call("safe_bash", map[string]any{"command": "id", "escalate": "to see more"}),
	} {
		if r.Verdict != "deny" || strings.Contains(r.text, secret) {
			t.Errorf("%s: %s", r.Verdict, r.text)
		}
	}
	// Code that the guard cannot see through is held by the kernel.
	if r := b.call("safe_write", map[string]any{"path": "Makefile", "content": "all:\n\t@-cat $(subst @,/," + strings.ReplaceAll(file, "/", "@") + ")\n\t@-find / -name 'notes.txt' -o -name 'scratch-of-alice' 2>/dev/null\n\t@-cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep DEPLOY\n"}); r.Verdict != "allow" {
		t.Fatalf("%+v", r)
	}
	if _, err := exec.LookPath("make"); err == nil {
		if r := b.bash("make"); r.Verdict != "allow" || strings.Contains(r.Stdout, secret) || strings.Contains(r.Stdout, "/alice/notes.txt\n") || strings.Contains(r.Stdout, "scratch-of-alice\n") || strings.Contains(r.Stdout, "deploy-token") {
			t.Errorf("%+v", r)
		}
	}

	// Not even who else there is.
	for _, dir := range []string{tm.dir + "/work", tm.dir + "/home/.local/state/handrail-homes"} {
		if r := b.bash("ls -a " + dir); strings.Contains(r.Stdout, "alice") || r.Verdict == "allow" && !strings.Contains(r.Stdout, "bob") {
			t.Errorf("%s: %+v", dir, r)
		}
	}

	// Jobs.
	job := a.call("safe_bash", map[string]any{"command": "echo started; sleep 987.654", "background": true})
	if job.OutputID == "" || !job.Running {
		t.Fatalf("%+v", job)
	}
	for who, c := range map[string]*caller{"bob": b, "another session of alice": tm.session(alice)} {
		for _, end := range []bool{false, true} {
			if r := c.call("safe_bash", map[string]any{"output_id": job.OutputID, "end": end}); !strings.Contains(r.text, "no output of that id") {
				t.Errorf("%s: %s", who, r.text)
			}
		}
	}
	if r := b.bash("grep -l 987.654 /proc/[0-9]*/cmdline"); strings.Contains(r.Stdout, "/cmdline") {
		t.Errorf("bob sees alice's processes: %s", r.Stdout)
	}
	if r := a.call("safe_bash", map[string]any{"output_id": job.OutputID}); !r.Running {
		t.Errorf("alice's job was ended by another: %+v", r)
	}

	// Approvals and grants: the same words are not the same call.
	ask := func(c *caller) result { return c.bash("echo K=1 > .env") }
	r := ask(a)
	if r.Verdict != "ask" {
		t.Fatalf("%+v", r)
	}
	id := strings.Fields(r.text[strings.Index(r.text, "waits for approval as ")+len("waits for approval as "):])[0]
	tm.must("approvals", "approve", "--session", id)
	if r := ask(b); r.Verdict != "ask" {
		t.Errorf("alice's approval lets bob's call run: %+v", r)
	}
	if r := ask(a); r.Verdict != "allow" {
		t.Errorf("%+v", r)
	}

	// The log says who, by what and over what.
	for _, line := range strings.Split(strings.TrimSpace(tm.must("audit", "export", "--principal", "bob", "--since", "1h")), "\n") {
		var rec struct{ Principal, Client, Transport string }
		if json.Unmarshal([]byte(line), &rec) != nil || rec.Principal != "bob" || rec.Transport != "http" || rec.Client != "story 1" {
			t.Errorf("%s", line)
		}
	}
	tm.must("audit", "verify")
	// So does the operator's view of what calls did, and only that of the principal.
	if out := tm.must("history", "--principal", "bob", "--limit", "1000"); !strings.Contains(out, "Makefile") || strings.Contains(out, "sleep 987.654") {
		t.Errorf("history of bob: %s", out)
	}
	if out, err := tm.run("history", "--principal", "carol"); err == nil {
		t.Errorf("history of nobody: %s", out)
	}
}

// A token that is revoked opens nothing any more, at once; an unknown one, and
// one of a principal that is not served, never did.
func TestRevokedToken(t *testing.T) {
	tm := teamOf(t, two)
	if out, err := tm.run("token", "create", "carol"); err == nil || !strings.Contains(out, "unknown principal") {
		t.Errorf("a token for nobody: %s, %v", out, err)
	}
	earlier := filepath.Join(tm.dir, "earlier.yaml") // a configuration from when carol was served
	if err := os.WriteFile(earlier, []byte("principals: {carol: {workspace: /srv/carol}}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	alice, carol := tm.token("alice"), tm.token("carol", "--config", earlier)
	tm.start()
	a := tm.session(alice)
	if r := a.bash("echo here"); r.Stdout != "here\n" {
		t.Fatalf("%+v", r)
	}
	tm.must("token", "revoke", "alice")
	for token, want := range map[string]int{alice: 401, carol: 403, "hrt_nothing": 401, "": 401} {
		c := &caller{tm: tm, token: token, session: a.session}
		if status, _, _, err := c.post(t.Context(), "tools/call", map[string]any{"name": "safe_bash", "arguments": map[string]any{"command": "echo"}}); status != want {
			t.Errorf("%d, %v; want %d", status, err, want)
		}
	}
}

// A client that goes away ends its command in the sandbox; a session that ends
// ends its jobs; a server that ends ends everything.
func TestWhatEndsWithItsClient(t *testing.T) {
	tm := teamOf(t, two)
	alice := tm.token("alice")
	tm.start()
	a := tm.session(alice)
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, _, _, err := (&caller{tm: tm, token: alice, session: a.session, id: 100}).post(ctx, "tools/call", map[string]any{"name": "safe_bash", "arguments": map[string]any{"command": "sleep 976.543"}})
		gone <- err
	}()
	eventually(t, "the command runs", func() bool { return runs("sleep 976.543") })
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	eventually(t, "its client has gone and the command ends", func() bool { return !runs("sleep 976.543") })

	start := func(c *caller, seconds string) {
		t.Helper()
		if r := c.call("safe_bash", map[string]any{"command": "sleep " + seconds, "background": true}); !r.Running {
			t.Fatalf("%+v", r)
		}
	}
	start(a, "965.432")
	b := tm.session(alice)
	start(b, "954.321")
	r, err := http.NewRequest("DELETE", tm.url+"/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+alice)
	r.Header.Set("Mcp-Session-Id", a.session)
	res, err := tm.client.Do(r)
	if err != nil || res.StatusCode != 200 {
		t.Fatal(res, err)
	}
	res.Body.Close()
	eventually(t, "the session has ended and its job ends", func() bool { return !runs("sleep 965.432") })
	if !runs("sleep 954.321") {
		t.Error("the job of another session ended")
	}
	tm.stop()
	if runs("sleep 954.321") {
		t.Error("the server has ended and a job runs")
	}
}

// Without anything that tells who calls, the server is for its own user on this
// machine, with a token that only that user can read, or a socket.
func TestOwnServer(t *testing.T) {
	tm := teamOf(t, "profile: standard\n")
	if err := os.Mkdir(tm.dir+"/work/project", 0o700); err != nil {
		t.Fatal(err)
	}
	tm.give()
	tm.start("--root", tm.dir+"/work/project")
	files, err := filepath.Glob(tm.dir + "/home/.local/state/handrail/http-token.*")
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	token, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	c := tm.session(strings.TrimSpace(string(token)))
	if r := c.bash("pwd; cat " + files[0]); strings.Contains(r.text, "hrt_") {
		t.Errorf("%+v", r)
	}
	if status, _, _, _ := (&caller{tm: tm, token: "hrt_guess"}).post(t.Context(), "initialize", nil); status != 401 {
		t.Error(status)
	}
	tm.stop()
	if _, err := os.Stat(files[0]); !os.IsNotExist(err) {
		t.Errorf("the token outlives the server: %v", err)
	}

	path := tm.dir + "/s"
	tm.start("--listen", "unix:"+path, "--root", tm.dir+"/work/project")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	tm.url = "http://localhost"
	tm.client.Transport = &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", path) }}
	if r := tm.session("").bash("echo over a socket"); r.Stdout != "over a socket\n" {
		t.Errorf("%+v", r)
	}
}

// What would let in anybody is refused before anything listens, with the reason.
func TestServersThatAreNotStarted(t *testing.T) {
	certificates := `http: {auth: {certificates: true}}` + "\nprincipals: {alice: {workspace: WORK/alice}}\n"
	for _, c := range []struct {
		config, args, want string
	}{
		{"", "--listen 0.0.0.0:0", "can be reached from other machines, and nothing tells who calls"},
		{"", "--listen :0", "nothing tells who calls"},
		{"", "--listen 0.0.0.0:0 --auth none", "nothing tells who calls"},
		{"", "--auth token", "want none"},
		{two, "--auth none", "the configuration says how callers are known"},
		{two, "--listen 0.0.0.0:0", "in the clear"},
		{"http: {auth: {tokens: true}}\n", "", "nobody is served"},
		{"principals: {alice: {workspace: WORK/alice}}\n", "", "nothing tells one from another"},
		{certificates, "", "needs tls with client_ca"},
		{"http: {tls: {certificate: DIR/c.pem}}\n", "", "needs a certificate and its key"},
		{strings.Replace(two, "WORK/bob", "WORK/bob, user: somebody-else", 1), "", "is not that user"},
		{strings.Replace(two, "WORK/bob", "WORK/bob, sandbox: {tier: none}", 1), "", "all rights of the server"},
		{strings.Replace(two, "WORK/bob", "WORK/bob, sandbox: {tier: landlock}", 1), "", "principal bob: the sandbox"},
	} {
		tm := teamOf(t, c.config)
		args := append([]string{"serve", "--transport", "http"}, strings.Fields(c.args)...)
		if !strings.Contains(c.args, "--listen") {
			args = append(args, "--listen", "127.0.0.1:0")
		}
		cmd := tm.command(args...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(patience, func() { cmd.Process.Kill() })
		err := cmd.Wait()
		timer.Stop()
		if err == nil || !strings.Contains(out.String(), c.want) || strings.Contains(out.String(), "listening") {
			t.Errorf("%s\n%s: %v, %s; want %q", c.config, c.args, err, out.String(), c.want)
		}
	}
	if os.Geteuid() == 0 {
		tm := teamOf(t, two)
		cmd := tm.command("serve", "--transport", "http", "--listen", "127.0.0.1:0")
		cmd.SysProcAttr = nil
		_ = filepath.WalkDir(tm.dir, func(path string, _ os.DirEntry, _ error) error { return os.Lchown(path, 0, 0) })
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "as root") {
			t.Errorf("%s, %v", out, err)
		}
	}
}

// Secrets of the server's environment do not come out in results, questions and
// the log; anything else does, byte for byte.
func TestSecretsStayIn(t *testing.T) {
	tm := teamOf(t, two)
	alice := tm.token("alice")
	tm.start()
	a := tm.session(alice)
	secret := "the-deploy-token-of-the-server"
	if r := a.bash("echo " + secret + " | base64; echo x " + secret + " y; env | grep DEPLOY"); strings.Contains(r.text, secret) || !strings.Contains(r.text, "[redacted]") || strings.Contains(r.text, "LWRlcGxveS10b2tlb") {
		t.Errorf("%s", r.text)
	}
	plain := "password = \"p\"\ttoken: x ünï \"hrt_\"\n"
	if r := a.call("safe_write", map[string]any{"path": "plain", "content": plain}); r.Verdict != "allow" {
		t.Fatalf("%+v", r)
	}
	if r := a.bash("cat plain"); r.Stdout != plain {
		t.Errorf("%q", r.Stdout)
	}
	if out := tm.must("audit", "export"); strings.Contains(out, secret) {
		t.Error("it is in the log")
	}
	for path, want := range map[string]string{"/healthz": "ok\n", "/readyz": "ready\n"} {
		res, err := tm.client.Get(tm.url + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if string(body) != want {
			t.Errorf("%s: %s", path, body)
		}
	}
	if err := os.Rename(tm.dir+"/home/.local/state/handrail/audit.jsonl", tm.dir+"/elsewhere"); err != nil {
		t.Fatal(err)
	}
	if res, err := tm.client.Get(tm.url + "/readyz"); err != nil || res.StatusCode != 503 {
		t.Errorf("ready without a log: %v, %v", res, err)
	}
	if r := a.bash("echo run"); r.Verdict == "allow" || strings.Contains(r.Stdout, "run") {
		t.Errorf("a call ran that could not be recorded: %+v", r)
	}
}

// certificateOf makes a certificate of this machine and its key, PEM.
func certificateOf(t *testing.T, serial int64) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(serial), DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text}))
}

// TLS files that change are taken up by the next connection; broken ones leave
// the old in force.
func TestTLSReload(t *testing.T) {
	tm := teamOf(t, "http: {auth: {tokens: true}, tls: {certificate: DIR/cert.pem, key: DIR/key.pem}}\nprincipals: {alice: {workspace: WORK/alice}}\n")
	alice := tm.token("alice")
	pool := x509.NewCertPool()
	certificate := func(serial int64) {
		t.Helper()
		cert, key := certificateOf(t, serial)
		pool.AppendCertsFromPEM([]byte(cert))
		tm.write("cert.pem", cert)
		tm.write("key.pem", key)
	}
	certificate(1)
	tm.start()
	serial := func() int64 {
		t.Helper()
		c, err := tls.Dial("tcp", strings.TrimPrefix(tm.url, "https://"), &tls.Config{RootCAs: pool})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	if n := serial(); n != 1 {
		t.Errorf("certificate %d", n)
	}
	tm.client.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true} // as many clients do
	if r := tm.session(alice).bash("echo encrypted"); r.Stdout != "encrypted\n" {
		t.Errorf("%+v", r)
	}
	certificate(2)
	eventually(t, "the new certificate is shown", func() bool { return serial() == 2 })
	tm.write("cert.pem", "broken")
	eventually(t, "the log tells", func() bool { serial(); return strings.Contains(tm.said(), "cannot be used, the old ones stay") })
}
