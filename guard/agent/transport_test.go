package agent

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"handrail/guard"
)

func TestHosts(t *testing.T) {
	for in, want := range map[string]string{
		"": "http://127.0.0.1:11434", "0.0.0.0": "http://127.0.0.1:11434", "0.0.0.0:8080": "http://127.0.0.1:8080", ":8080": "http://127.0.0.1:8080",
		"localhost": "http://localhost:11434", "http://[::1]:80/": "http://[::1]:80/", "https://gate.example.org/ollama": "https://gate.example.org:443/ollama",
	} {
		if u, err := ParseHost(in); err != nil || u.String() != want {
			t.Errorf("%q: %v, %v; want %s", in, u, err, want)
		}
	}
	for _, in := range []string{"ftp://x", "http://", "http://u:p@localhost", "http://localhost?x", "a b"} {
		if u, err := ParseHost(in); err == nil {
			t.Errorf("%q became %v", in, u)
		}
	}
	for _, host := range []string{"http://192.0.2.1", "http://example.org", "http://127.0.0.1.example.org", "http://localhost.example.org", "https://ollama.com"} {
		if _, err := New(Options{Host: host}); err == nil {
			t.Errorf("%s is taken without leave", host)
		}
		if _, err := New(Options{Host: host, AllowRemote: true}); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	if _, err := New(Options{Host: "http://127.8.9.1:1"}); err != nil {
		t.Error(err)
	}
}

func TestNoProxyAndKey(t *testing.T) {
	proxied := atomic.Int32{}
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { proxied.Add(1) }))
	defer proxy.Close()
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	key := ""
	s := serveBroken(t, func(w http.ResponseWriter, r *http.Request) {
		key = r.Header.Get("Authorization")
		says("ALLOW")(w, r)
	})
	a := agentOf(t, s.URL, func(o *Options) { o.APIKey = "k1" })
	x, why := call("x")
	if d, err := a.Validate(context.Background(), x, why); err != nil || d.Verdict != guard.VerdictAllow {
		t.Fatalf("%+v, %v", d, err)
	}
	if proxied.Load() != 0 || key != "Bearer k1" {
		t.Errorf("%d requests went to the proxy; key %q", proxied.Load(), key)
	}
}
