package auth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
)

func request(headers ...string) *http.Request {
	r := httptest.NewRequest("POST", "/mcp", nil)
	for _, h := range headers {
		r.Header.Add("Authorization", h)
	}
	return r
}

func code(err error) string {
	var r *Refusal
	if errors.As(err, &r) {
		return r.Code
	}
	return "no refusal"
}

func TestTokens(t *testing.T) {
	token, sum := NewToken()
	other, _ := NewToken()
	if len(token) < 43 || token == other || sum != sha256.Sum256([]byte(token)) {
		t.Fatalf("%q %q", token, other)
	}
	asked := 0
	who := First(Tokens(func(_ context.Context, s [sha256.Size]byte) (Caller, error) {
		asked++
		if s == sum {
			return Caller{Principal: "alice"}, nil
		}
		return Caller{}, errors.New("unknown")
	}))
	for header, want := range map[string]string{
		"Bearer " + token: "", "bearer " + token: "",
		"Bearer " + other: InvalidToken, "Bearer " + token + "x": InvalidToken, "Bearer " + token[:len(token)-1]: InvalidToken,
		"Bearer " + token + " " + other: InvalidToken, "Bearer " + token + ",": InvalidToken, "Bearer ": InvalidToken,
		"Bearer hrt_" + strings.Repeat("a", 1<<20): InvalidToken,
	} {
		caller, err := who(request(header))
		principal := caller.Principal
		if want == "" && (err != nil || principal != "alice") || want != "" && (code(err) != want || principal != "") {
			t.Errorf("%.60q: %q, %v", header, principal, err)
		}
	}
	for _, r := range []*http.Request{request(), request("Basic " + token), request(token), request("Bearer sometoken"),
		httptest.NewRequest("POST", "/mcp?access_token="+token, nil)} {
		if principal, err := who(r); !errors.Is(err, ErrNone) || principal != (Caller{}) || code(err) != "" {
			t.Errorf("%v %v: %v, %v", r.URL, r.Header, principal, err)
		}
	}
	if _, err := who(request("Bearer "+token, "Bearer "+token)); code(err) != InvalidToken {
		t.Errorf("two headers: %v", err)
	}
	if _, err := First()(request("Bearer " + token)); err == nil {
		t.Error("without methods somebody is known")
	}
	if _, err := First(func(*http.Request) (Caller, error) { return Caller{}, nil })(request()); err == nil {
		t.Error("nobody is known")
	}
	if asked == 0 {
		t.Error("the store was never asked")
	}
}

// issuer is an OpenID provider with one key.
func issuer(t *testing.T, key crypto.PrivateKey, public crypto.PublicKey, algorithm string) string {
	t.Helper()
	s := &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: public, KeyID: "k", Algorithm: algorithm}}}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	s.SetIssuer(srv.URL)
	return srv.URL
}

func TestOIDC(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	iss := issuer(t, key, key.Public(), oidc.RS256)
	elsewhere := issuer(t, stranger, stranger.Public(), oidc.RS256)
	const aud = "https://mcp.example/mcp"
	method, err := OIDC{Issuer: iss, Audience: aud, Scopes: []string{"exec:run"}, Principal: func(sub string) string {
		return map[string]string{"auth0|alice": "alice"}[sub]
	}}.Method()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().Unix()
	claims := func(change ...string) string {
		all := map[string]string{"iss": fmt.Sprintf("%q", iss), "aud": fmt.Sprintf("%q", aud), "sub": `"auth0|alice"`,
			"exp": fmt.Sprint(now + 60), "iat": fmt.Sprint(now), "scope": `"openid exec:run"`}
		for i := 0; i+1 < len(change); i += 2 {
			all[change[i]] = change[i+1]
		}
		var parts []string
		for k, v := range all {
			if v != "" {
				parts = append(parts, fmt.Sprintf("%q:%s", k, v))
			}
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	sign := func(c string) string { return oidctest.SignIDToken(key, "k", oidc.RS256, c) }
	encode := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	good := sign(claims())
	for _, c := range []struct{ what, token, want string }{
		{"good", good, "alice"},
		{"audiences", sign(claims("aud", `["https://other.example","`+aud+`"]`)), "alice"},
		{"scp", sign(claims("scope", "", "scp", `["exec:run"]`)), "alice"},
		{"a clock that differs a little", sign(claims("exp", fmt.Sprint(now-10), "nbf", fmt.Sprint(now+10))), "alice"},
		{"another audience", sign(claims("aud", `"https://mcp.example/other"`)), InvalidToken},
		{"an audience that begins alike", sign(claims("aud", `"`+aud+`.evil.example"`)), InvalidToken},
		{"no audience", sign(claims("aud", "")), InvalidToken},
		{"another issuer", sign(claims("iss", fmt.Sprintf("%q", elsewhere))), InvalidToken},
		{"another issuer's key", oidctest.SignIDToken(stranger, "k", oidc.RS256, claims()), InvalidToken},
		{"another issuer's token", oidctest.SignIDToken(stranger, "k", oidc.RS256, claims("iss", fmt.Sprintf("%q", elsewhere))), InvalidToken},
		{"another algorithm", oidctest.SignIDToken(curve, "k", oidc.ES256, claims()), InvalidToken},
		{"no algorithm", encode(`{"alg":"none","typ":"at+jwt"}`) + "." + encode(claims()) + ".", InvalidToken},
		{"a symmetric algorithm", encode(`{"alg":"HS256","kid":"k"}`) + "." + encode(claims()) + "." + encode("x"), InvalidToken},
		{"expired", sign(claims("exp", fmt.Sprint(now-60))), InvalidToken},
		{"without an end", sign(claims("exp", "")), InvalidToken},
		{"not valid yet", sign(claims("nbf", fmt.Sprint(now+600))), InvalidToken},
		{"an ID token", encode(`{"alg":"RS256","typ":"id+jwt"}`) + good[strings.Index(good, "."):], InvalidToken},
		{"changed", good[:strings.Index(good, ".")+1] + encode(claims("sub", `"auth0|bob"`)) + good[strings.LastIndex(good, "."):], InvalidToken},
		{"no JWT", "abc", InvalidToken},
		{"without the scope", sign(claims("scope", `"openid exec:read exec:runner"`)), InsufficientScope},
		{"without a subject", sign(claims("sub", "")), InvalidToken},
		{"nobody here", sign(claims("sub", `"auth0|mallory"`)), InsufficientScope},
	} {
		caller, err := method(request("Bearer " + c.token))
		principal := caller.Principal
		got := principal
		if err != nil {
			got = code(err)
		}
		if got != c.want || err != nil && caller != (Caller{}) {
			t.Errorf("%s: %+v, %v; want %s", c.what, caller, err, c.want)
		}
		if err == nil && (!caller.Renewed || caller.Credential == "" || strings.Contains(caller.Credential, c.token) || caller.Ends.After(time.Unix(now, 0).Add(time.Minute+skew))) {
			t.Errorf("%s: %+v", c.what, caller)
		}
	}
	if _, err := method(request()); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
}

// A provider that is down refuses everybody, and is found when it is up.
func TestProviderDown(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	s := &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: "k", Algorithm: oidc.RS256}}}
	up := false
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !up {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		s.ServeHTTP(w, r)
	}))
	defer srv.Close()
	s.SetIssuer(srv.URL)
	p := &provider{OIDC: OIDC{Issuer: srv.URL, Audience: "a", Client: srv.Client(), Algorithms: []string{oidc.RS256}, Principal: func(s string) string { return s }}}
	token := oidctest.SignIDToken(key, "k", oidc.RS256, fmt.Sprintf(`{"iss":%q,"aud":"a","sub":"x","exp":%d}`, srv.URL, time.Now().Unix()+60))
	if who, err := p.who(request("Bearer " + token)); err == nil || code(err) != "" {
		t.Errorf("%v, %v", who, err)
	}
	up = true
	p.tried = time.Time{}
	if who, err := p.who(request("Bearer " + token)); who.Principal != "x" {
		t.Errorf("%v, %v", who, err)
	}
	for _, o := range []OIDC{{}, {Issuer: "x", Audience: "y"}, {Issuer: "x", Audience: "y", Principal: func(string) string { return "" }, Algorithms: []string{"HS256"}},
		{Issuer: "x", Audience: "y", Principal: func(string) string { return "" }, Algorithms: []string{"none"}}} {
		if _, err := o.Method(); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}
