package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"time"

	"handrail/guard/audit"
	"handrail/internal/config"
	"handrail/mcpserver"
)

var serveCommand = subcommand{
	name:  "serve",
	usage: "[--root DIR]... [--config FILE] [--log-level LEVEL] [--log-format text|json]\n       handrail serve --transport http [--listen ADDRESS] [--auth none] ...",
	short: "serve the tools to an MCP client over stdio, or to many over HTTP",
	doc: `Give each --root a project's directory; the client's own roots then only narrow
them. Without --root the client's roots count, and where it has none the working
directory. / and the home directory are refused.

Standard output carries only MCP; the log goes to standard error, from
--log-level up: debug, info, warn (the default; info over HTTP) or error.

With --transport http, /mcp is streamable HTTP and /sse the older HTTP+SSE, at
--listen (default 127.0.0.1:7345; port 0 takes a free one; unix:PATH is a socket for
your own user). The address is printed. Where the configuration names principals
(http: auth, principals), each is served in a workspace of its own; else the server
is yours alone: it listens on this machine only, and wants the bearer token that it
makes at its start and whose file it prints. --auth none leaves that out.
SIGTERM lets running calls end, a second one ends them.

As root, where every principal has a Unix user (user) and what listens has one
(http: user), each principal is served by a process of its own user.`,
	run: serve,
}

// serving is the command line of serve.
type serving struct {
	listen, auth string
	hurry        <-chan struct{} // see signals
	log          *slog.Logger
	logging      []string // the flags about the log

	// Of a part of a server that root started; nobody else names one.
	part, principal, shown string
	peer                   int // the user of the front
	listener               net.Listener
	over                   func(*mcpserver.Queue) func(principal string) (*mcpserver.Tenant, error) // how the front reaches principals
}

// address is where the server listens.
func (o serving) address(c *config.Config) string {
	return cmp.Or(o.listen, c.HTTP.Listen, config.DefaultListen)
}

func serve(s streams, args []string) (int, error) {
	var roots list
	var o serving
	level, chosen := slog.LevelWarn, ""
	f := newFlags("serve")
	file, transport, form := f.String("config", "", ""), f.String("transport", "stdio", ""), f.String("log-format", "text", "")
	f.Var(&roots, "root", "")
	f.StringVar(&chosen, "log-level", "", "")
	f.StringVar(&o.listen, "listen", "", "")
	f.StringVar(&o.auth, "auth", "", "")
	f.StringVar(&o.part, "part", "", "")
	f.StringVar(&o.principal, "principal", "", "")
	f.StringVar(&o.shown, "shown", "", "")
	f.IntVar(&o.peer, "peer", -1, "")
	if _, err := f.operands(args, 0, 0); err != nil {
		return 0, err
	}
	switch {
	case *transport != "stdio" && *transport != "http":
		return 0, usagef("--transport %s: want stdio or http", *transport)
	case !slices.Contains(parts, o.part):
		return 0, usagef("--part %s: there is none; `handrail serve` starts its parts itself", o.part)
	case o.part == "" && (o.principal != "" || o.shown != "" || o.peer != -1):
		return 0, usagef("--principal: principals are named in the configuration")
	case o.part != "" && *transport != "http":
		return 0, usagef("--part goes with --transport http")
	case *transport == "stdio" && (o.listen != "" || o.auth != ""):
		return 0, usagef("--listen and --auth go with --transport http")
	case o.auth != "" && o.auth != "none":
		return 0, usagef("--auth %s: want none; anything else is set in the configuration (http: auth)", o.auth)
	case *form != "text" && *form != "json":
		return 0, usagef("--log-format %s: want text or json", *form)
	case *transport == "http":
		level = slog.LevelInfo
	}
	if chosen != "" {
		if err := level.UnmarshalText([]byte(chosen)); err != nil {
			return 0, usagef("--log-level %s: want debug, info, warn or error", chosen)
		}
	}
	o.logging = []string{"--log-format", *form, "--log-level", level.String()}
	c, err := config.Load(*file, roots)
	if err != nil {
		return 0, err
	}
	o.log = logger(s.stderr, *form, level, c.Redactor())
	c.Notice = func(message string) { o.log.Warn(message) }
	c.Remark = func(message string) { o.log.Info(message) }
	if c.Profile == "yolo" {
		o.log.Error("THE YOLO PROFILE IS ON: almost nothing is asked", "config", c.File)
	}
	ctx, hurry, stop := signals()
	defer stop()
	o.hurry = hurry
	switch {
	case o.part != "":
		return 0, s.part(ctx, c, o)
	case *transport == "http" && os.Geteuid() == 0 && len(c.Principals) > 0 && c.HTTP.Auth.Configured():
		return 0, s.keep(ctx, c, o)
	case *transport == "http":
		return 0, s.serveHTTP(ctx, c, o)
	}
	return 0, s.serveStdio(ctx, c, o)
}

// signals are those that end a server. The first ends ctx, and another one closes
// hurry: what runs is then ended at once.
func signals() (ctx context.Context, hurry <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	now, came := make(chan struct{}), make(chan os.Signal, 2)
	signal.Notify(came, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		for _, then := range []func(){func() { cancel(errors.New("the server is closing")) }, func() { close(now) }} {
			if _, ok := <-came; !ok {
				return
			}
			then()
		}
	}()
	return ctx, now, func() {
		signal.Stop(came)
		close(came)
		cancel(nil)
	}
}

// logger writes the log of a server, without secrets.
func logger(w io.Writer, form string, level slog.Level, redact func(string) string) *slog.Logger {
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch v := a.Value.Any().(type) {
		case string:
			a.Value = slog.StringValue(redact(v))
		case error:
			a.Value = slog.StringValue(redact(v.Error()))
		case time.Duration: // JSON would have nanoseconds
			a.Value = slog.StringValue(v.String())
		}
		return a
	}}
	if form == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

func (s streams) serveStdio(ctx context.Context, c *config.Config, o serving) error {
	sys, err := c.Open()
	if err != nil {
		return err
	}
	defer sys.Close()
	server, err := mcpserver.New(mcpserver.Options{
		Toolbox: sys.Toolbox, Offers: sys.Offers, Roots: c.Roots, Refuse: c.Refuse, Version: config.Version, Log: o.log,
	})
	if err != nil {
		return err
	}
	if err := started(sys.Log, "stdio", c.Profile, "policy "+sys.Guard.Revision); err != nil {
		return err
	}
	if isTerminal(s.stdin) {
		fmt.Fprintln(s.stderr, "handrail serve: waiting for an MCP client on standard input; README.md says how to add it to yours, `handrail demo` shows it at work")
	}
	if err := server.ServeStdio(ctx, s.stdin, s.stdout); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// started records that a server begins.
func started(log *audit.Log, transport, profile, what string) error {
	return log.Append(&audit.Record{Event: audit.Start, Transport: transport,
		Reason: fmt.Sprintf("handrail %s on %s/%s, profile %s, %s", config.Version, runtime.GOOS, runtime.GOARCH, profile, what)})
}
