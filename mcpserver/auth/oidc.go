package auth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

// OIDC takes access tokens of one OpenID provider (OAuth 2.1 resource server:
// JWT as in RFC 9068, keys and issuer by discovery). Issuer, Audience and
// Principal are required.
type OIDC struct {
	Issuer   string // as the provider writes it
	Audience string // the URL of this server: a token for another one is refused
	// Scopes must all be granted to the token.
	Scopes []string
	// Claim is the claim that names the caller; empty means sub.
	Claim string
	// Principal maps the claim to a principal; empty means that it has none.
	Principal func(claim string) string
	// Algorithms are those that a signature may have; empty means RS256, ES256,
	// PS256 and EdDSA. None and the symmetric ones are never taken.
	Algorithms []string
	// Client reaches the provider; nil means one with a timeout.
	Client *http.Client
}

// skew is by how much clocks may differ.
const skew = 30 * time.Second

// retry is how long a provider that could not be reached is left alone.
const retry = 10 * time.Second

// Method returns the method. The provider is looked up when the first token
// comes, and again where that failed: it need not be up before this server.
func (o OIDC) Method() (Method, error) {
	if o.Issuer == "" || o.Audience == "" || o.Principal == nil {
		return nil, errors.New("OIDC needs an issuer, an audience and principals")
	}
	if len(o.Algorithms) == 0 {
		o.Algorithms = []string{oidc.RS256, oidc.ES256, oidc.PS256, oidc.EdDSA}
	}
	for _, a := range o.Algorithms {
		if a == "none" || strings.HasPrefix(a, "HS") {
			return nil, fmt.Errorf("algorithm %s proves nothing about the issuer", a)
		}
	}
	if o.Client == nil {
		o.Client = &http.Client{Timeout: 10 * time.Second}
	}
	p := &provider{OIDC: o}
	return p.who, nil
}

// provider is an OpenID provider, once it was found.
type provider struct {
	OIDC
	mu       sync.Mutex
	verifier *oidc.IDTokenVerifier
	failed   error
	tried    time.Time
}

func (p *provider) ready(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.verifier != nil {
		return p.verifier, nil
	}
	if p.failed != nil && time.Since(p.tried) < retry {
		return nil, p.failed
	}
	own := oidc.ClientContext(context.WithoutCancel(ctx), p.Client) // the keys are fetched with it later, too
	found, err := oidc.NewProvider(own, p.Issuer)
	p.failed, p.tried = err, time.Now()
	if err != nil {
		p.failed = fmt.Errorf("the OpenID provider cannot be asked: %w", err)
		return nil, p.failed
	}
	p.verifier = found.VerifierContext(own, &oidc.Config{ClientID: p.Audience, SupportedSigningAlgs: p.Algorithms,
		SkipExpiryCheck: true}) // times are checked below, both ends
	return p.verifier, nil
}

// claims are those that are looked at.
type claims struct {
	Expires   *float64        `json:"exp"`
	NotBefore *float64        `json:"nbf"`
	Scope     string          `json:"scope"`
	Scp       json.RawMessage `json:"scp"`
}

func (p *provider) who(r *http.Request) (Caller, error) {
	raw, err := bearer(r)
	if err != nil {
		return Caller{}, err
	}
	if err := accessToken(raw); err != nil {
		return Caller{}, invalid(err)
	}
	verifier, err := p.ready(r.Context())
	if err != nil {
		return Caller{}, &Refusal{Err: err} // nothing is wrong with the token
	}
	token, err := verifier.Verify(r.Context(), raw)
	if err != nil {
		return Caller{}, invalid(err)
	}
	var c claims
	if err := token.Claims(&c); err != nil {
		return Caller{}, invalid(err)
	}
	if err := c.current(time.Now()); err != nil {
		return Caller{}, invalid(err)
	}
	for _, s := range p.Scopes {
		if !slices.Contains(c.scopes(), s) {
			return Caller{}, &Refusal{Code: InsufficientScope, Scope: strings.Join(p.Scopes, " "), Err: fmt.Errorf("the token lacks the scope %s", s)}
		}
	}
	name := token.Subject
	if p.Claim != "" && p.Claim != "sub" {
		var all map[string]any
		if err := token.Claims(&all); err != nil {
			return Caller{}, invalid(err)
		}
		name, _ = all[p.Claim].(string)
	}
	if name == "" {
		return Caller{}, invalid(errors.New("the token does not name its subject"))
	}
	principal := p.Principal(name)
	if principal == "" {
		return Caller{}, &Refusal{Code: InsufficientScope, Scope: strings.Join(p.Scopes, " "), Err: fmt.Errorf("%.100q is no principal here", name)}
	}
	return Caller{Principal: principal, Credential: fmt.Sprintf("access token %x", sha256.Sum256([]byte(raw))), Ends: c.ends(), Renewed: true}, nil
}

// current checks the token's times. One without an end is none.
func (c claims) current(now time.Time) error {
	switch {
	case c.Expires == nil:
		return errors.New("the token does not expire")
	case !now.Before(c.ends()):
		return errors.New("the token has expired")
	case c.NotBefore != nil && now.Add(skew).Before(time.Unix(int64(*c.NotBefore), 0)):
		return errors.New("the token is not valid yet")
	}
	return nil
}

// ends is when a token is taken no more.
func (c claims) ends() time.Time { return time.Unix(int64(*c.Expires), 0).Add(skew) }

// scopes are those of the claim scope (RFC 8693), or of scp.
func (c claims) scopes() []string {
	list := strings.Fields(c.Scope)
	var one string
	var many []string
	if json.Unmarshal(c.Scp, &one) == nil {
		list = append(list, strings.Fields(one)...)
	} else if json.Unmarshal(c.Scp, &many) == nil {
		list = append(list, many...)
	}
	return list
}

// accessToken refuses what says of itself that it is another kind of token: an ID
// token is for a client, not for a resource server (RFC 9068, section 4).
func accessToken(raw string) error {
	head, _, ok := strings.Cut(raw, ".")
	var h struct {
		Type string `json:"typ"`
	}
	b, err := base64.RawURLEncoding.DecodeString(head)
	if !ok || err != nil || json.Unmarshal(b, &h) != nil {
		return errors.New("the token is no JWT")
	}
	switch strings.TrimPrefix(strings.ToLower(h.Type), "application/") {
	case "at+jwt", "jwt", "":
		return nil
	}
	return fmt.Errorf("the token is of type %.40q, not an access token", h.Type)
}
