package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// ParseHost reads a server's address as OLLAMA_HOST has it: a URL, host:port, a
// host, a port. What listens everywhere is reached on loopback.
func ParseHost(s string) (*url.URL, error) {
	if s = strings.TrimSpace(s); s == "" {
		s = DefaultHost
	}
	if strings.HasPrefix(s, ":") {
		s = "127.0.0.1" + s
	}
	if !strings.Contains(s, "://") {
		s = "http://" + s
	}
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%q is no address of a model server: want http://127.0.0.1:11434", s)
	}
	host, port := u.Hostname(), u.Port()
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	if port == "" {
		port = map[string]string{"http": "11434", "https": "443"}[u.Scheme]
	}
	u.Host = net.JoinHostPort(host, port)
	return u, nil
}

// Loopback reports whether an address can only be this machine.
func Loopback(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// transport takes requests to one server and nowhere else: no proxies, no
// redirects, on loopback only unless that was lifted.
type transport struct {
	base *url.URL
	key  string
	via  http.RoundTripper
}

func newTransport(base *url.URL, remote bool, key string) (*transport, error) {
	if !remote && !Loopback(base) {
		return nil, fmt.Errorf("the model server %s is not on this machine: what calls would do is shown to it, so the user's own configuration must allow that (llm.allow_remote)", base.Host)
	}
	dialer := &net.Dialer{Timeout: 2 * time.Second}
	if !remote {
		dialer.Control = func(_, address string, _ syscall.RawConn) error { // whatever localhost resolves to
			host, _, _ := net.SplitHostPort(address)
			if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
				return fmt.Errorf("%s is not on this machine", address)
			}
			return nil
		}
	}
	return &transport{base: base, key: key, via: &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute}}, nil
}

// statusError is an answer that is none: 3xx, 5xx.
type statusError struct {
	code int
	text string
}

func (e *statusError) Error() string {
	if e.text == "" {
		return fmt.Sprintf("status %d", e.code)
	}
	return fmt.Sprintf("status %d: %s", e.code, e.text)
}

// RoundTrip makes errors of redirects and server errors: the API's client
// returns nil for some of them.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != t.base.Host || r.URL.Scheme != t.base.Scheme {
		return nil, fmt.Errorf("refused to go to %s", r.URL.Host)
	}
	if t.key != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+t.key)
	}
	res, err := t.via.RoundTrip(r)
	if err != nil || res.StatusCode < 500 && res.StatusCode/100 != 3 {
		return res, err
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(res.Body, 4<<10))
	var body struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(text, &body) == nil && body.Error != "" {
		text = []byte(body.Error)
	}
	return nil, &statusError{res.StatusCode, plain(strings.TrimSpace(string(text)))}
}

// fault sorts an error of the client: a fault of the server, or what the
// caller can cause.
func fault(ctx context.Context, err error) error {
	var status *statusError
	switch {
	case ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled):
		return ErrTime
	case errors.As(err, &status) && status.code == http.StatusServiceUnavailable:
		return fmt.Errorf("%w (%w)", ErrBusy, err)
	case errors.As(err, &status):
		return fmt.Errorf("%w: %w", ErrServer, err)
	}
	switch code := statusOf(err); {
	case code == http.StatusNotFound:
		return fmt.Errorf("%w (%w)", ErrModel, err)
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return fmt.Errorf("%w: %w", ErrServer, err)
	case code != 0: // 400: the prompt, as it seems
		return fmt.Errorf("%w: %w", ErrTooLong, err)
	}
	var no *net.OpError
	if errors.As(err, &no) {
		return fmt.Errorf("%w (%w)", ErrDown, err)
	}
	return fmt.Errorf("%w: %w", ErrCut, err)
}
