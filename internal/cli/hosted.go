package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"handrail/internal/config"
	"handrail/mcpserver"
	"handrail/mcpserver/auth"
	"handrail/tools"
)

// hosting is a server over HTTP as it is put together.
type hosting struct {
	c      *config.Config
	names  func(principal string) bool // whether it is served still
	shared *config.Shared
	log    *slog.Logger
	queue  mcpserver.Places
	host   *mcpserver.Host
	over   func(principal string) (*mcpserver.Tenant, error) // where other processes serve principals
	tls    *tls.Config
	said   []string // to print once it listens
	after  []func() // when it has ended
}

// Bounds where nothing is set.
const (
	callsAtOnce = 64
	callsOfOne  = 8
	callsWait   = 64
)

func (s streams) serveHTTP(ctx context.Context, c *config.Config, o serving) (err error) {
	address := o.address(c)
	if _, _, err := net.SplitHostPort(address); err != nil && !strings.HasPrefix(address, "unix:") {
		return usagef("%s is no address to listen on: want HOST:PORT, as in %s, or unix:PATH", address, config.DefaultListen)
	}
	shared, err := c.Share()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shared.Close()) }()
	l := c.HTTP.Limits
	queue := &mcpserver.Queue{All: or(l.Calls, callsAtOnce), Each: or(l.Each, callsOfOne), Waiting: or(l.Waiting, callsWait)}
	h := &hosting{c: c, shared: shared, log: o.log, queue: queue}
	defer func() {
		for _, f := range h.after {
			f()
		}
	}()
	h.host = &mcpserver.Host{Names: c.HTTP.Names, Origins: c.HTTP.Origins, Ready: shared.Ready, MaxBody: int64(l.Body) << 20, Farewell: l.Farewell, Hurry: o.hurry, Log: o.log}
	listener, shown := o.listener, o.shown
	if o.over != nil {
		h.over = o.over(queue)
		h.host.Farewell = cmp.Or(l.Farewell, 30*time.Second) + 10*time.Second // the workers end first
	}
	if err := h.admit(address, o.auth); err != nil {
		return err
	}
	if listener == nil {
		if listener, shown, err = listen(address); err != nil {
			return err
		}
	}
	if h.tls != nil {
		shown = strings.Replace(shown, "http://", "https://", 1)
	}
	if err := started(shared.Log, "http", c.Profile, "listening on "+shown); err != nil {
		return errors.Join(err, listener.Close())
	}
	fmt.Fprintf(s.stdout, "listening on %s\n", shown)
	for _, line := range h.said {
		fmt.Fprintln(s.stdout, line)
	}
	o.log.Info("listening", "address", shown, "principals", len(c.Principals))
	return h.host.Serve(ctx, listener, h.tls)
}

func or(n, other int) int {
	if n == 0 {
		return other
	}
	return n
}

// admit settles who may come, and refuses what would let in anybody.
func (h *hosting) admit(address, flag string) error {
	c := h.c
	socket, here := strings.HasPrefix(address, "unix:"), loopback(address)
	configured := c.HTTP.Auth.Configured()
	switch {
	case configured && flag != "":
		return errors.New("--auth none: the configuration says how callers are known (http: auth)")
	case configured && len(c.Principals) == 0:
		return fmt.Errorf("http: auth says how callers are known, but nobody is served: name them with their workspaces under `principals:` in %s", c.File)
	case !configured && len(c.Principals) > 0:
		return errors.New("there are principals, but nothing tells one from another: set `http: {auth: {tokens: true}}` and make tokens with `handrail token create --principal NAME`")
	case !configured && !here && !socket:
		return fmt.Errorf("%s can be reached from other machines, and nothing tells who calls: set `http: auth` and `principals`, or listen on loopback or unix:PATH", address)
	}
	if err := h.encrypt(address, here || socket); err != nil {
		return err
	}
	if configured {
		return h.admitPrincipals()
	}
	h.host.Open = h.openOwn
	h.host.Authenticate = func(*http.Request) (auth.Caller, error) { return auth.Caller{Principal: "local"}, nil }
	if flag == "none" {
		h.log.Warn("every program on this machine can call the tools: --auth none")
	}
	if socket || flag == "none" {
		return nil
	}
	return h.ownToken()
}

// encrypt makes TLS, and refuses to send tokens over a network in the clear.
func (h *hosting) encrypt(address string, here bool) (err error) {
	files := h.c.HTTP.TLS
	switch {
	case files.Certificate != "" && files.Key != "":
		h.tls, err = files.Server(func(err error) { h.log.Warn("TLS", "err", err) })
		return err
	case files.Certificate+files.Key+files.ClientCA != "":
		return errors.New("http: tls needs a certificate and its key")
	case !here && !h.c.HTTP.Proxy:
		return fmt.Errorf("%s can be reached from other machines, and tokens and commands would go over the network in the clear: set `http: tls`, or `http: {proxy: true}` where a proxy in front ends TLS", address)
	}
	return nil
}

// admitPrincipals knows callers as the configuration says.
func (h *hosting) admitPrincipals() error {
	c := h.c
	h.names = c.Served()
	if h.over == nil {
		if err := h.serveable(); err != nil {
			return err
		}
	}
	var methods []auth.Method
	if c.HTTP.Auth.Certificates {
		if h.tls == nil || c.HTTP.TLS.ClientCA == "" {
			return errors.New("http: auth: certificates needs tls with client_ca")
		}
		methods = append(methods, auth.Certificates(func(names []string) string {
			return c.Principals.Named(func(p *config.Principal) []string { return p.Certificates }, names...)
		}))
	}
	if c.HTTP.Auth.Tokens {
		methods = append(methods, auth.Tokens(h.bearer))
	}
	if provider := c.HTTP.Auth.OIDC; provider.Issuer != "" {
		o := auth.OIDC{Issuer: provider.Issuer, Audience: provider.Audience, Scopes: provider.Scopes, Claim: provider.Claim, Algorithms: provider.Algorithms,
			Principal: func(subject string) string {
				return c.Principals.Named(func(p *config.Principal) []string { return p.Subjects }, subject)
			}}
		m, err := o.Method()
		if err != nil {
			return fmt.Errorf("http: auth: %w", err)
		}
		if h.host.Metadata, h.host.MetadataURL, err = o.Metadata(); err != nil {
			return err
		}
		methods = append(methods, m)
	}
	h.host.Authenticate, h.host.Open = h.served(auth.First(methods...)), h.over
	h.host.Withdrawn = h.withdrawn
	if h.over != nil {
		return nil
	}
	h.host.Open = h.open
	names, err := apart(c)
	if err != nil {
		return err
	}
	return h.probe(names...)
}

// serveable refuses principals that this process cannot serve itself.
func (h *hosting) serveable() error {
	if os.Geteuid() == 0 {
		_, _, err := h.c.Accounts()
		return cmp.Or(err, errors.New("root serves nobody itself"))
	}
	if err := h.c.CheckPrincipals(); err != nil {
		return err
	}
	me, err := user.Current()
	for name, p := range h.c.Principals {
		if p.User != "" && (err != nil || me.Username != p.User) {
			return fmt.Errorf("principal %s is to run as the Unix user %s, and this server is not that user: start it as root with `http: {user: ...}`, or serve it by one of its own (examples/hosting)", name, p.User)
		}
	}
	return nil
}

// apart are the principals whose sandboxes are set differently, one of each kind.
func apart(c *config.Config) (names []string, err error) {
	tried := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(c.Principals)) {
		own, err := c.For(name)
		if err != nil {
			return nil, err
		}
		if set := fmt.Sprintf("%+v", own.Sandbox); !tried[set] {
			tried[set] = true
			names = append(names, name)
		}
	}
	return names, nil
}

// probe refuses to serve where the sandbox does not keep principals apart.
func (h *hosting) probe(principals ...string) error {
	for _, name := range principals {
		t, err := h.open(name)
		if err != nil {
			return fmt.Errorf("principal %s: %w", name, err)
		}
		if err := t.Close(); err != nil {
			return err
		}
	}
	return nil
}

// open makes the server of a principal.
func (h *hosting) open(principal string) (*mcpserver.Tenant, error) {
	c, err := h.c.For(principal)
	if err != nil {
		return nil, err
	}
	sys, err := c.OpenWith(h.shared)
	if err != nil {
		return nil, err
	}
	if err := sys.Held.Fault; err != nil {
		return nil, errors.Join(err, sys.Close())
	}
	if e := sys.Held.Enforcement; !tools.Apart(e) {
		return nil, errors.Join(fmt.Errorf("the sandbox that works here (%s) does not keep principals apart who share a Unix user: install bubblewrap (`handrail doctor` tells what is missing)", e.Tier), sys.Close())
	}
	return h.tenant(sys, principal, []string{c.Home, h.c.Home})
}

// openOwn makes the server of the user who started it.
func (h *hosting) openOwn(string) (*mcpserver.Tenant, error) {
	sys, err := h.c.OpenWith(h.shared)
	if err != nil {
		return nil, err
	}
	return h.tenant(sys, "", nil)
}

func (h *hosting) tenant(sys *config.System, principal string, homes []string) (*mcpserver.Tenant, error) {
	o := mcpserver.Options{Toolbox: sys.Toolbox, Offers: sys.Offers, Roots: sys.Config.Roots, Homes: homes, Refuse: sys.Config.Refuse,
		Version: config.Version, Principal: principal, Queue: h.queue, Log: h.log.With("principal", principal)}
	if principal != "" {
		o.Dir = sys.Config.Roots[0]
	}
	server, err := mcpserver.New(o)
	if err != nil {
		return nil, errors.Join(err, sys.Close())
	}
	return &mcpserver.Tenant{Server: server, Close: sys.Close}, nil
}

// ownToken makes the token of a server for its own user, in a file that only
// that user can read, for as long as it runs.
func (h *hosting) ownToken() error {
	token, want := auth.NewToken()
	file := filepath.Join(h.c.State, fmt.Sprintf("http-token.%d", os.Getpid()))
	_ = os.Remove(file) // of another process of that number
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	h.after = append(h.after, func() { os.Remove(file) })
	if _, err := fmt.Fprintln(f, token); err != nil {
		return errors.Join(err, f.Close())
	}
	h.host.Authenticate = auth.Tokens(func(_ context.Context, sum [sha256.Size]byte) (auth.Caller, error) {
		if subtle.ConstantTimeCompare(sum[:], want[:]) != 1 {
			return auth.Caller{}, errors.New("not the token of this server")
		}
		return auth.Caller{Principal: "local"}, nil
	})
	h.said = append(h.said, "bearer token in "+file)
	return f.Close()
}
