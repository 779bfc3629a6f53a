// Package auth says who sends an HTTP request, by what, and until when that
// holds: a bearer token of our own, an access token of an OpenID provider, or a
// client certificate. It decides nothing about what the principal may do.
package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Caller is who sends a request, and by which credential.
type Caller struct {
	Principal string
	// Credential names the credential among all of them, and is of no use to who
	// reads it. Empty stands for one that cannot end before the server does.
	Credential string
	// Ends is when the credential ends by itself; zero: never.
	Ends time.Time
	// Renewed says that clients get another one of this kind in time and go on with
	// that, as with the access tokens of OAuth: its end is not that of what its
	// bearer may do, only of what it opens.
	Renewed bool
}

// Method is one way to tell who sends a request. The error is a *Refusal; one
// that is ErrNone says that the request carries no credential of this kind.
type Method func(*http.Request) (Caller, error)

// ErrNone says that a request carries no credential.
var ErrNone = errors.New("no credential")

// Codes of RFC 6750, section 3.1.
const (
	InvalidToken      = "invalid_token"
	InsufficientScope = "insufficient_scope"
)

// Refusal is why a request is not served. Code is one of RFC 6750, or empty
// where no credential came along.
type Refusal struct {
	Code  string
	Scope string // that is needed, with InsufficientScope
	Err   error
}

func (r *Refusal) Error() string { return r.Err.Error() }
func (r *Refusal) Unwrap() error { return r.Err }

func none() error { return &Refusal{Err: ErrNone} }

func invalid(err error) error { return &Refusal{Code: InvalidToken, Err: err} }

// First asks the methods in turn: the first that finds a credential of its kind
// decides. Without methods nobody is known.
func First(methods ...Method) Method {
	return func(r *http.Request) (Caller, error) {
		for _, m := range methods {
			c, err := m(r)
			if err == nil && c.Principal == "" {
				err = invalid(errors.New("the credential names nobody"))
			}
			if err == nil {
				return c, nil
			}
			if !errors.Is(err, ErrNone) {
				return Caller{}, err
			}
		}
		return Caller{}, none()
	}
}

// tokenPrefix marks our tokens, so that they are known from others', and found
// where they do not belong.
const tokenPrefix = "hrt_"

// NewToken makes a token of 256 bits, and what is kept of it.
func NewToken() (token string, sum [sha256.Size]byte) {
	b := make([]byte, 32)
	rand.Read(b) // never fails
	token = tokenPrefix + base64.RawURLEncoding.EncodeToString(b)
	return token, sha256.Sum256([]byte(token))
}

// Tokens knows the bearers of our tokens. lookup gets the SHA-256 of a token:
// what is kept of a token must not be one, and a comparison of hashes tells a
// guesser nothing.
func Tokens(lookup func(ctx context.Context, sum [sha256.Size]byte) (Caller, error)) Method {
	return func(r *http.Request) (Caller, error) {
		token, err := bearer(r)
		if err != nil {
			return Caller{}, err
		}
		if !strings.HasPrefix(token, tokenPrefix) {
			return Caller{}, none()
		}
		c, err := lookup(r.Context(), sha256.Sum256([]byte(token)))
		if err != nil {
			return Caller{}, invalid(err)
		}
		return c, nil
	}
}

// bearer is the token of the Authorization header, the only place in which one
// counts (MCP, authorization: never in the query).
func bearer(r *http.Request) (string, error) {
	values := r.Header.Values("Authorization")
	switch {
	case len(values) == 0:
		return "", none()
	case len(values) > 1:
		return "", invalid(errors.New("more than one Authorization header"))
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", none()
	}
	if token == "" || len(token) > 16<<10 || strings.ContainsAny(token, " \t,") {
		return "", invalid(errors.New("the Authorization header has no single token"))
	}
	return token, nil
}

// Certificates knows the principals of client certificates, which the listener
// must have verified. name maps the names of a certificate (SAN: mail addresses,
// DNS names, URIs, each as written) to a principal; empty means that it has none.
// A connection can outlive the certificate that it was opened with: so each
// request asks for its times again.
func Certificates(name func(sans []string) string) Method {
	return func(r *http.Request) (Caller, error) {
		if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 || len(r.TLS.VerifiedChains[0]) == 0 {
			return Caller{}, none()
		}
		own, ends := r.TLS.VerifiedChains[0][0], chainEnds(r.TLS.VerifiedChains)
		if !ends.After(time.Now()) {
			return Caller{}, invalid(errors.New("the certificate has expired"))
		}
		principal := name(names(own))
		if principal == "" {
			return Caller{}, invalid(errors.New("the certificate is no principal's"))
		}
		return Caller{Principal: principal, Credential: fmt.Sprintf("certificate %x", sha256.Sum256(own.Raw)), Ends: ends}, nil
	}
}

// chainEnds is when the last of the chains has a certificate that has ended.
func chainEnds(chains [][]*x509.Certificate) (last time.Time) {
	for _, chain := range chains {
		var ends time.Time
		for _, c := range chain {
			if ends.IsZero() || c.NotAfter.Before(ends) {
				ends = c.NotAfter
			}
		}
		if ends.After(last) {
			last = ends
		}
	}
	return last
}

func names(c *x509.Certificate) []string {
	sans := append(append([]string{}, c.EmailAddresses...), c.DNSNames...)
	for _, u := range c.URIs {
		sans = append(sans, u.String())
	}
	return sans
}
