package egress

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"handrail/internal/testkit"
)

// bench is a proxy, a site behind it, and programs that are to use it.
type bench struct {
	t     *testing.T
	env   []string
	heard *heard
	port  string // of the site https://site.example
}

// newBench serves h by TLS as site.example and other.example, of which only
// the first may be reached.
func newBench(t *testing.T, h http.Handler) *bench {
	t.Helper()
	ca := newAuthority(t)
	b := &bench{t: t, port: ca.site(t, h, "site.example", "other.example")}
	z := &zone{hosts: map[string]func(int) []string{"site.example": fixed("127.0.0.1"), "other.example": fixed("127.0.0.1")}}
	addr, heard := start(t, &Proxy{Resolver: z.serve(t), Open: loopback}, "site.example:"+b.port)
	b.heard = heard
	home := t.TempDir()
	b.env = []string{"http_proxy=http://" + addr, "https_proxy=http://" + addr, "HTTPS_PROXY=http://" + addr, "no_proxy=localhost,127.0.0.1", "PATH=" + os.Getenv("PATH"), "HOME=" + home, "CURL_CA_BUNDLE=" + ca.file, "SSL_CERT_FILE=" + ca.file, "GIT_SSL_CAINFO=" + ca.file,
		"NODE_EXTRA_CA_CERTS=" + ca.file, "npm_config_cafile=" + ca.file, "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1"}
	return b
}

// run runs a program and returns what it said and whether it went well.
func (b *bench) run(dir, name string, args ...string) (string, bool) {
	b.t.Helper()
	c := exec.Command(name, args...)
	c.Dir, c.Env = dir, b.env
	out, err := c.CombinedOutput()
	return string(out), err == nil
}

// must runs a program that has to go well.
func (b *bench) must(dir, name string, args ...string) string {
	b.t.Helper()
	out, ok := b.run(dir, name, args...)
	if !ok {
		b.t.Fatalf("%s %s: %s%+v", name, strings.Join(args, " "), out, b.heard.last())
	}
	return out
}

// refused runs a program that has to fail since other.example is refused.
func (b *bench) refused(dir, name string, args ...string) {
	b.t.Helper()
	out, ok := b.run(dir, name, args...)
	if d := b.heard.last(); ok || d.Allowed || d.Host != "other.example" {
		b.t.Errorf("%s %s: ok=%v %s%+v", name, strings.Join(args, " "), ok, out, d)
	}
}

func TestCurl(t *testing.T) {
	curl := testkit.Require(t, "curl", "apt-get install curl")
	plain, _ := echo(t)
	var b *bench
	b = newBench(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch body, _ := io.ReadAll(r.Body); r.URL.Path {
		case "/away":
			http.Redirect(w, r, "https://other.example:"+b.port+"/", http.StatusFound)
		case "/plain":
			http.Redirect(w, r, "http://other.example/", http.StatusFound)
		case "/inside":
			http.Redirect(w, r, "http://127.0.0.1:"+plain+"/", http.StatusFound)
		case "/large":
			w.Write(bytes.Repeat([]byte("0123456789abcdef"), 1<<18))
		default:
			fmt.Fprintf(w, "%s %s %d", r.Proto, r.Host, len(body))
		}
	}))
	dir, site := t.TempDir(), "https://site.example:"+b.port
	if out := b.must(dir, curl, "-sS", site+"/"); out != "HTTP/1.1 site.example:"+b.port+" 0" {
		t.Errorf("got %q", out)
	}
	if out := b.must(dir, curl, "-sS", site+"/large"); len(out) != 4<<20 {
		t.Errorf("got %d bytes", len(out))
	}
	if err := os.WriteFile(filepath.Join(dir, "body"), make([]byte, 4<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	if out := b.must(dir, curl, "-sS", "--data-binary", "@body", site+"/"); !strings.HasSuffix(out, " 4194304") {
		t.Errorf("got %q", out)
	}
	b.refused(dir, curl, "-sSfL", site+"/away")
	b.refused(dir, curl, "-sSfL", site+"/plain")
	b.refused(dir, curl, "-sSf", "--connect-to", "::other.example:"+b.port, "https://site.example:"+b.port+"/")
	// The loopback is not asked of the proxy: in a network of its own, what
	// listens there is the command's. Asked for all the same, it is refused.
	if out, ok := b.run(dir, curl, "-sSfL", "--noproxy", "", site+"/inside"); ok || b.heard.last().Allowed {
		t.Errorf("a redirect to an address: %s", out)
	}
	// The name in TLS is another than that of the tunnel.
	if out, ok := b.run(dir, curl, "-sSf", "--connect-to", "other.example:"+b.port+":site.example:"+b.port, "https://other.example:"+b.port+"/"); ok || b.heard.last().Allowed {
		t.Errorf("fronting: %s %+v", out, b.heard.last())
	}
}

func TestGit(t *testing.T) {
	git := testkit.Require(t, "git", "apt-get install git")
	root := t.TempDir()
	b := newBench(t, &cgi.Handler{Path: git, Args: []string{"http-backend"}, Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}})
	work := t.TempDir()
	for _, args := range [][]string{
		{"init", "-q", "--bare", filepath.Join(root, "r.git")}, {"-C", filepath.Join(root, "r.git"), "config", "http.receivepack", "true"},
		{"clone", "-q", "https://site.example:" + b.port + "/r.git", "r"},
		{"-C", "r", "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "--allow-empty", "-m", "one"}, {"-C", "r", "push", "-q", "origin", "HEAD:main"},
		{"clone", "-q", "-b", "main", "https://site.example:" + b.port + "/r.git", "again"},
	} {
		b.must(work, git, args...)
	}
	if out := b.must(work, git, "-C", "again", "log", "--format=%s"); out != "one\n" {
		t.Errorf("log: %q", out)
	}
	b.refused(work, git, "clone", "-q", "https://other.example:"+b.port+"/r.git", "other")
}

// TestNpm installs a package from a registry of one package.
func TestNpm(t *testing.T) {
	npm := testkit.Require(t, "npm", "apt-get install npm")
	var ball bytes.Buffer
	z := gzip.NewWriter(&ball)
	w := tar.NewWriter(z)
	for name, text := range map[string]string{"package/package.json": `{"name":"leaf","version":"1.0.0"}`, "package/index.js": "module.exports = 41 + 1\n"} {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, text)
	}
	w.Close()
	z.Close()
	sum := sha512.Sum512(ball.Bytes())
	b := newBench(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/leaf":
			json.NewEncoder(w).Encode(map[string]any{"name": "leaf", "dist-tags": map[string]string{"latest": "1.0.0"}, "versions": map[string]any{"1.0.0": map[string]any{
				"name": "leaf", "version": "1.0.0", "dist": map[string]string{"tarball": "https://" + r.Host + "/leaf.tgz", "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}}}})
		case "/leaf.tgz":
			w.Write(ball.Bytes())
		default:
			http.NotFound(w, r)
		}
	}))
	dir := t.TempDir()
	flags := []string{"install", "--no-audit", "--no-fund", "--fetch-retries=0", "--update-notifier=false", "--registry"}
	b.must(dir, npm, append(flags, "https://site.example:"+b.port+"/", "leaf")...)
	if out := b.must(dir, "node", "-p", "require('leaf')"); out != "42\n" {
		t.Errorf("got %q", out)
	}
	b.refused(t.TempDir(), npm, append(flags, "https://other.example:"+b.port+"/", "leaf")...)
}

// TestGo gets a module from a module proxy of one module.
func TestGo(t *testing.T) {
	const mod = "module site.example/leaf\n\ngo 1.21\n"
	var ball bytes.Buffer
	z := zip.NewWriter(&ball)
	for name, text := range map[string]string{"go.mod": mod, "leaf.go": "package leaf\n\nconst N = 42\n"} {
		w, err := z.Create("site.example/leaf@v1.0.0/" + name)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, text)
	}
	z.Close()
	b := newBench(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/site.example/leaf/@v/v1.0.0.info":
			io.WriteString(w, `{"Version":"v1.0.0"}`)
		case "/site.example/leaf/@v/v1.0.0.mod":
			io.WriteString(w, mod)
		case "/site.example/leaf/@v/v1.0.0.zip":
			w.Write(ball.Bytes())
		default:
			http.NotFound(w, r)
		}
	}))
	dir := t.TempDir()
	cache := t.TempDir()
	b.env = append(b.env, "GONOSUMDB=*", "GOFLAGS=-modcacherw", "GOTOOLCHAIN=local", "GOPATH="+cache, "GOCACHE="+cache+"/build", "GOPROXY=https://site.example:"+b.port)
	for name, text := range map[string]string{"go.mod": "module m\n\ngo 1.21\n", "m.go": "package main\n\nimport \"site.example/leaf\"\n\nfunc main() { println(leaf.N) }\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b.must(dir, "go", "get", "site.example/leaf@v1.0.0")
	b.must(dir, "go", "vet", "site.example/leaf")
	b.env = append(b.env, "GOPROXY=https://other.example:"+b.port)
	b.refused(dir, "go", "get", "site.example/leaf@v1.1.0")
}
