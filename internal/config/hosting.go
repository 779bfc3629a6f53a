package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"handrail/guard/audit"
	"handrail/mcpserver/auth"
)

// HTTP is what is set about serving over HTTP. The zero value serves this
// machine, to who has the token that is made at the start.
type HTTP struct {
	// Listen is host:port, or unix:PATH; empty means DefaultListen.
	Listen string
	// User is the Unix user of what listens where root starts the server.
	User string
	// Names are the host names by which clients reach the server, Origins the
	// browser origins that may send requests.
	Names, Origins []string
	// Proxy says that a proxy in front ends TLS, so that none is needed here.
	Proxy bool
	TLS   auth.Files
	Auth  Auth
	// Limits of all principals together and of one.
	Limits HTTPLimits
}

// Auth is how principals are told. The zero value tells nobody.
type Auth struct {
	Tokens, Certificates bool
	OIDC                 OIDC
}

// OIDC is an OpenID provider; see auth.OIDC.
type OIDC struct {
	Issuer, Audience, Claim string
	Scopes, Algorithms      []string
}

// HTTPLimits bound what is served at once. Zero fields take the default.
type HTTPLimits struct {
	Calls, Each, Waiting int // at once, of all and of one principal, and that wait of one
	Body                 int // MiB of a request
	Farewell             time.Duration
}

// DefaultListen is where a server listens that nobody told.
const DefaultListen = "127.0.0.1:7345"

// Audit is what is set about the log.
type Audit struct {
	RotateSize int // MiB
	RotateAge  time.Duration
}

// Configured reports whether anything tells who sends a request.
func (a Auth) Configured() bool { return a.Tokens || a.Certificates || a.OIDC.Issuer != "" }

// hostingFields are the settings of a server for a team. Only the operator's own
// file can have them, and they count when the server starts.
func hostingFields() []field {
	list := func(key, doc, sample string, at func(*HTTP) *[]string, f form[[]string]) field {
		return setting(key, doc, sample, func(c *Config) *[]string { return at(&c.HTTP) }, f, first[[]string])
	}
	text := func(key, doc, sample string, at func(*HTTP) *string, f form[string]) field {
		return setting(key, doc, sample, func(c *Config) *string { return at(&c.HTTP) }, f, first[string])
	}
	truth := func(key, doc string, at func(*HTTP) *bool) field {
		return setting(key, doc, "false", func(c *Config) *bool { return at(&c.HTTP) }, truth(), both)
	}
	count := func(key, doc, sample string, most int, at func(*HTTPLimits) *int) field {
		return setting(key, doc, sample, func(c *Config) *int { return at(&c.HTTP.Limits) }, number(1, most), least[int])
	}
	return owners([]field{
		section("http", "Serving over HTTP (`handrail serve --transport http`).",
			text("listen", "host:port, or unix:PATH.", DefaultListen, func(h *HTTP) *string { return &h.Listen }, plain(checkListen)),
			text("user", "The Unix user of the process that speaks with clients, where the server is started as root and every principal has a Unix user of its own: a name, a number, or UID:GID. As another user it means nothing.", "handrail",
				func(h *HTTP) *string { return &h.User }, plain(checkUser)),
			list("names", "Host names by which clients reach the server, beside loopback; any other Host header is refused.", "[handrail.example.org]",
				func(h *HTTP) *[]string { return &h.Names }, words(hostName)),
			list("origins", "Browser origins that may send requests.", `["https://app.example.org"]`,
				func(h *HTTP) *[]string { return &h.Origins }, words(origin)),
			truth("proxy", "Says that a proxy in front of the server ends TLS. Without it and without `tls`, nothing but loopback is listened on.", func(h *HTTP) *bool { return &h.Proxy }),
			section("tls", "Files of TLS, read again when they change.",
				text("certificate", "The certificate with its chain, PEM.", "/etc/handrail/tls/server.pem", func(h *HTTP) *string { return &h.TLS.Certificate }, filePath()),
				text("key", "Its key, PEM, readable by the server's user alone.", "/etc/handrail/tls/server.key", func(h *HTTP) *string { return &h.TLS.Key }, filePath()),
				text("client_ca", "Authorities of client certificates, PEM. Clients must then show one.", "/etc/handrail/tls/clients.pem", func(h *HTTP) *string { return &h.TLS.ClientCA }, filePath()),
				truth("optional", "Clients may come without a certificate, and show a token instead.", func(h *HTTP) *bool { return &h.TLS.Optional })),
			section("auth", "How the server knows who calls. Without any it serves this machine only.",
				truth("tokens", "Bearer tokens of `handrail token`.", func(h *HTTP) *bool { return &h.Auth.Tokens }),
				truth("certificates", "Client certificates, by the names in them.", func(h *HTTP) *bool { return &h.Auth.Certificates }),
				section("oidc", "Access tokens of an OpenID provider (OAuth 2.1 resource server).",
					text("issuer", "The provider, as it names itself.", "https://login.example.org", func(h *HTTP) *string { return &h.Auth.OIDC.Issuer }, plain(checkURL)),
					text("audience", "The URL of this server's /mcp: tokens for anything else are refused.", "https://handrail.example.org/mcp", func(h *HTTP) *string { return &h.Auth.OIDC.Audience }, plain(checkURL)),
					list("scopes", "Scopes that a token must have.", "[handrail]", func(h *HTTP) *[]string { return &h.Auth.OIDC.Scopes }, words(nil)),
					text("claim", "The claim that names the caller.", "sub", func(h *HTTP) *string { return &h.Auth.OIDC.Claim }, plain(nil)),
					list("algorithms", "Algorithms of signatures: RS256, ES256, PS256 and EdDSA where none are named.", "[ES256]", func(h *HTTP) *[]string { return &h.Auth.OIDC.Algorithms }, words(algorithm)))),
			section("limits", "Bounds of what runs at once. A principal that waits gets its turn whatever others have waiting. Refusals and safe_read wait for nobody.",
				count("calls", "Calls of all principals.", "64", 10000, func(l *HTTPLimits) *int { return &l.Calls }),
				count("each", "Calls of one principal.", "8", 10000, func(l *HTTPLimits) *int { return &l.Each }),
				count("waiting", "Calls of one principal that wait.", "64", 10000, func(l *HTTPLimits) *int { return &l.Waiting }),
				count("body", "MiB of a request.", "16", 256, func(l *HTTPLimits) *int { return &l.Body }),
				setting("farewell", "How long running calls have to end when the server closes.", "30s",
					func(c *Config) *time.Duration { return &c.HTTP.Limits.Farewell }, span(time.Second, 10*time.Minute), least[time.Duration]))),
		setting("principals", "Whom the server serves: a name with a workspace, how the caller is known (subjects of the OpenID provider, names in client certificates; tokens are made by `handrail token create --principal NAME`), disk in MiB of workspace and home, user (the Unix user as whom a server that root starts works for it, one that no other principal has; started by anybody else, the server must be that user), "+
			"and settings that hold for it alone: hosts, profile, fallback, levels, default_deny, tools, protected_files, security, approval, sandbox.", "{alice: {workspace: /srv/handrail/alice, profile: strict}}",
			func(c *Config) *Principals { return &c.Principals }, principals(), first[Principals]),
		section("audit", "The record of every decision.",
			setting("rotate_size", "MiB after which the log goes on in a new file; the old ones stay beside it.", "256",
				func(c *Config) *int { return &c.Audit.RotateSize }, number(1, 1<<20), least[int]),
			setting("rotate_age", "Time after which it does; not by time where nothing is set.", "30d",
				func(c *Config) *time.Duration { return &c.Audit.RotateAge }, span(time.Hour, 3650*24*time.Hour), least[time.Duration])),
	})
}

// owners makes settings ones of the user's own file, sections too.
func owners(fields []field) []field {
	for i, f := range fields {
		if f.fields != nil {
			fields[i].fields = owners(f.fields)
			continue
		}
		fields[i] = f.in(private)
	}
	return fields
}

func filePath() form[string] {
	return word(schema{"type": "string"}, quoted, func(c *Config, w string) (string, error) { return c.path(w) })
}

// checkListen says what is wrong with an address to listen on.
func checkListen(w string) error {
	if path, ok := strings.CutPrefix(w, "unix:"); ok {
		if !strings.HasPrefix(path, "/") {
			return fmt.Errorf("%q: after unix: want an absolute path", w)
		}
		return nil
	}
	if _, _, err := net.SplitHostPort(w); err != nil {
		return fmt.Errorf("%q: want host:port or unix:/path", w)
	}
	return nil
}

func checkURL(w string) error {
	u, err := url.Parse(w)
	if err != nil || u.Host == "" || u.Fragment != "" || u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("%q: want a URL as https://example.org/mcp", w)
	}
	if u.Scheme == "http" && !loopbackName(u.Hostname()) {
		return fmt.Errorf("%q: want https, since what comes over http can be anybody's", w)
	}
	return nil
}

func loopbackName(name string) bool {
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}

func hostName(_ *Config, w string) (string, error) {
	if strings.ContainsAny(w, "/: *@") {
		return "", fmt.Errorf("%q: want a host name without a port", w)
	}
	return strings.ToLower(strings.TrimSuffix(w, ".")), nil
}

func origin(_ *Config, w string) (string, error) {
	u, err := url.Parse(w)
	if err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != w {
		return "", fmt.Errorf("%q: want scheme://host[:port]", w)
	}
	return w, nil
}

func algorithm(_ *Config, w string) (string, error) {
	if w == "none" || strings.HasPrefix(w, "HS") {
		return "", errors.New(w + " proves nothing about who signed")
	}
	return w, nil
}

// rotation is when the log goes on in a new file.
func (c *Config) rotation() audit.Rotation {
	return audit.Rotation{Size: int64(cmp.Or(c.Audit.RotateSize, 256)) << 20, Age: c.Audit.RotateAge}
}
