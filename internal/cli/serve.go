package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/signal"
	"runtime"
	"syscall"

	"handrail/guard/audit"
	"handrail/internal/config"
	"handrail/mcpserver"
)

var serveCommand = subcommand{
	name:  "serve",
	usage: "[--root DIR]... [--config FILE] [--log-level LEVEL]",
	short: "serve the tools to an MCP client over stdio",
	doc: `Give each --root a project's directory; the client's own roots then only narrow
them. Without --root the client's roots count, and where it has none the working
directory. / and the home directory are refused.

Standard output carries only MCP; the log goes to standard error, from
--log-level up: debug, info, warn (the default) or error.`,
	run: serve,
}

func serve(s streams, args []string) (int, error) {
	var roots list
	level := slog.LevelWarn
	f := newFlags("serve")
	file := f.String("config", "", "")
	f.Var(&roots, "root", "")
	f.TextVar(&level, "log-level", level, "")
	if _, err := f.operands(args, 0, 0); err != nil {
		return 0, err
	}
	c, err := config.Load(*file, roots)
	if err != nil {
		return 0, err
	}
	log := slog.New(slog.NewTextHandler(s.stderr, &slog.HandlerOptions{Level: level}))
	c.Notice = func(message string) {
		if c.LLM.Use == "auto" { // nobody asked for it
			log.Info(message)
		} else {
			log.Warn(message)
		}
	}
	sys, err := c.Open()
	if err != nil {
		return 0, err
	}
	defer sys.Close()
	if c.Profile == "yolo" {
		log.Error("THE YOLO PROFILE IS ON: almost nothing is asked", "config", c.File)
	}
	server, err := mcpserver.New(mcpserver.Options{
		Toolbox: sys.Toolbox, Offers: sys.Offers, Roots: c.Roots, Refuse: c.Refuse, Version: config.Version, Log: log,
	})
	if err != nil {
		return 0, err
	}
	err = sys.Log.Append(&audit.Record{Event: audit.Start, Transport: "stdio",
		Reason: fmt.Sprintf("handrail %s on %s/%s, profile %s, policy %s", config.Version, runtime.GOOS, runtime.GOARCH, c.Profile, sys.Guard.Revision)})
	if err != nil {
		return 0, err
	}
	if isTerminal(s.stdin) {
		fmt.Fprintln(s.stderr, "handrail serve: waiting for an MCP client on standard input; README.md says how to add it to yours, `handrail demo` shows it at work")
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := server.ServeStdio(ctx, s.stdin, s.stdout); err != nil && !errors.Is(err, context.Canceled) {
		return 0, err
	}
	return 0, nil
}
