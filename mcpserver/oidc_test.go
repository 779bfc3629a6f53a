package mcpserver

import (
	"bufio"
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"handrail/mcpserver/auth"
)

const resource = "https://mcp.example/mcp"

// issuer is a real OpenID provider as a process.
type issuer struct {
	t    *testing.T
	url  string
	in   io.Writer
	says *bufio.Reader
}

func provider(t *testing.T) *issuer {
	t.Helper()
	dir, node := clients(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	cmd := exec.Command(node, "issuer.mjs", fmt.Sprint(port))
	cmd.Dir = dir
	cmd.Stderr = t.Output()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	p := &issuer{t: t, url: fmt.Sprintf("http://127.0.0.1:%d", port), in: in, says: bufio.NewReader(out)}
	p.await("listening")
	return p
}

func (p *issuer) await(word string) {
	p.t.Helper()
	for {
		line, err := p.says.ReadString('\n')
		if err != nil {
			p.t.Fatalf("the provider ended: %v", err)
		}
		if strings.TrimSpace(line) == word {
			return
		}
	}
}

func (p *issuer) do(what string) {
	p.t.Helper()
	fmt.Fprintln(p.in, what)
	p.await(what)
}

// token gets an access token for a client by its credentials.
func (p *issuer) token(client, scope, audience string) string {
	p.t.Helper()
	res, err := http.PostForm(p.url+"/token", url.Values{"grant_type": {"client_credentials"}, "client_id": {client},
		"client_secret": {client + "-secret"}, "scope": {scope}, "resource": {audience}})
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	var r struct {
		Token string `json:"access_token"`
		Error string `json:"error_description"`
	}
	if err := json.NewDecoder(res.Body).Decode(&r); err != nil || r.Token == "" {
		p.t.Fatalf("no token: %s %v %s", res.Status, err, r.Error)
	}
	return r.Token
}

// The listener as an OAuth 2.1 resource server of a real provider: what it says
// of itself, what it takes and what it refuses.
func TestOpenIDProvider(t *testing.T) {
	p, other := provider(t), provider(t)
	method, err := auth.OIDC{Issuer: p.url, Audience: resource, Scopes: []string{"exec:run"}, Principal: func(sub string) string {
		return map[string]string{"alice": "alice", "bob": "bob"}[sub]
	}}.Method()
	if err != nil {
		t.Fatal(err)
	}
	metadata := server.NewProtectedResourceMetadataHandler(server.ProtectedResourceMetadataConfig{Resource: resource,
		AuthorizationServers: []string{p.url}, ScopesSupported: []string{"exec:run"}, BearerMethodsSupported: []string{"header"}})
	h := host(t, func(h *Host, _ *Options) {
		h.Authenticate, h.Metadata = method, metadata
		h.MetadataURL = "https://mcp.example" + server.ProtectedResourceMetadataPath(resource)
	})
	// A client finds its way from the refusal to the provider (RFC 9728).
	_, head, _ := h.send("POST", "/mcp", "", hello)
	where, _, _ := strings.Cut(strings.TrimPrefix(head.Get("WWW-Authenticate"), `Bearer resource_metadata="https://mcp.example`), `"`)
	status, _, text := h.send("GET", where, "", "")
	var m struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers"`
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil || status != 200 || m.Resource != resource || len(m.Servers) != 1 || m.Servers[0] != p.url {
		t.Fatalf("%s: %d %s", where, status, text)
	}
	good := p.token("alice", "exec:run", resource)
	try := func(what, token string, want int, challenge string) {
		t.Helper()
		status, head, text := h.send("POST", "/mcp", "", hello, "Authorization", "Bearer "+token)
		if got := head.Get("WWW-Authenticate"); status != want || !strings.Contains(got, challenge) {
			t.Errorf("%s: %d %q %.200s", what, status, got, text)
		}
	}
	try("a good token", good, 200, "")
	try("another principal's", p.token("bob", "exec:run", resource), 200, "")
	try("for another server", p.token("alice", "exec:run", "https://other.example/mcp"), 401, `error="invalid_token"`)
	try("of another provider", other.token("alice", "exec:run", resource), 401, `error="invalid_token"`)
	try("without the scope", p.token("alice", "exec:read", resource), 403, `error="insufficient_scope", scope="exec:run"`)
	try("of nobody here", p.token("mallory", "exec:run", resource), 403, "")
	try("a token of ours that never was", "hrt_"+strings.Repeat("A", 43), 401, "")
	for what, token := range forged(t, good) {
		try(what, token, 401, `error="invalid_token"`)
	}
	p.do("past")
	try("that has expired", p.token("alice", "exec:run", resource), 401, `error="invalid_token"`)

	// The provider changes its key: what it issues now counts, what it issued before
	// does not.
	other.do("rotate")
	p = other
	method2, err := auth.OIDC{Issuer: p.url, Audience: resource, Principal: func(sub string) string { return "alice" }}.Method()
	if err != nil {
		t.Fatal(err)
	}
	h = host(t, func(h *Host, _ *Options) { h.Authenticate = method2 })
	before := p.token("alice", "exec:run", resource)
	try("before the rotation", before, 200, "")
	p.do("rotate")
	try("after the rotation", p.token("alice", "exec:run", resource), 200, "")
	try("with the key that was", before, 401, `error="invalid_token"`)
}

// forged are tokens that say what good says, by whom they should not be signed.
func forged(t *testing.T, good string) map[string]string {
	t.Helper()
	parts := strings.Split(good, ".")
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	own, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	encode := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	head := encode(`{"alg":"RS256","typ":"at+jwt","kid":"key-1"}`) + "." + parts[1]
	sum := sha256.Sum256([]byte(head))
	signature, err := rsa.SignPKCS1v15(rand.Reader, own, crypto.SHA256, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	symmetric := encode(`{"alg":"HS256","typ":"at+jwt","kid":"key-1"}`) + "." + parts[1]
	mac := hmac.New(sha256.New, []byte("key-1"))
	mac.Write([]byte(symmetric))
	later := strings.Replace(string(payload), `"exp":`, `"exp":9`, 1)
	return map[string]string{
		"by a key of the caller":   head + "." + encode(string(signature)),
		"by no key":                encode(`{"alg":"none","typ":"at+jwt"}`) + "." + parts[1] + ".",
		"by a shared key":          symmetric + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil)),
		"with a later end":         parts[0] + "." + encode(later) + "." + parts[2],
		"without its signature":    parts[0] + "." + parts[1] + ".",
		"an ID token's type":       encode(`{"alg":"RS256","typ":"id_token+jwt","kid":"key-1"}`) + "." + parts[1] + "." + parts[2],
		"with a part that is none": good + "." + fmt.Sprint(time.Now().Unix()),
	}
}
