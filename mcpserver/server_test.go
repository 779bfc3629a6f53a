package mcpserver

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"handrail/guard"
	"handrail/guard/audit"
	"handrail/guard/command"
	"handrail/guard/shell"
	"handrail/tools"
	"handrail/tools/sandbox"
)

// The test binary is also the server that tests start as a process of its own.
const asServer = "HANDRAIL_TEST_SERVER_ROOT"

// What load_test.go needs, which is outside of the package: it runs the command line.
const (
	AsLoaded  = "HANDRAIL_TEST_LOAD"
	AsProgram = "HANDRAIL_TEST_PROGRAM"
	Patience  = patience
)

// Loaded is the server that TestLoad loads, Program is handrail itself.
var (
	Loaded  func() error
	Program func(args []string) int
)

func Until(t testing.TB, what string, is func() bool) { t.Helper(); until(t, what, is) }

func TestMain(m *testing.M) {
	if code, handled := sandbox.Main(os.Args); handled { // a process inside of a sandbox
		os.Exit(code)
	}
	if os.Getenv(AsProgram) != "" {
		os.Exit(Program(os.Args[1:]))
	}
	if os.Getenv(AsLoaded) != "" {
		if err := Loaded(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	root := os.Getenv(asServer)
	if root == "" {
		os.Exit(m.Run())
	}
	box, err := toolbox(filepath.Join(filepath.Dir(root), "audit.jsonl"))
	if err == nil {
		var s *Server
		if s, err = New(Options{Toolbox: box, Roots: []string{root}, Version: "test"}); err == nil {
			err = s.ServeStdio(context.Background(), os.Stdin, os.Stdout)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// toolbox is a real toolbox under a small policy: what names something that
// starts with "ask-" is asked about, "deny-" is denied, the rest runs.
func toolbox(log string) (*tools.Toolbox, error) {
	a, err := audit.Open(log)
	if err != nil {
		return nil, err
	}
	named := func(p *guard.Pass, word string) bool {
		for _, c := range p.Facts.Commands {
			for _, w := range c.Args {
				if strings.Contains(w.Text, word) {
					return true
				}
			}
		}
		for _, e := range p.Facts.Effects {
			if strings.HasPrefix(filepath.Base(e.Target), word) {
				return true
			}
		}
		return false
	}
	return &tools.Toolbox{
		Guard: &guard.Manager{
			Rules: []guard.Rule{{ID: "test/named", Evaluate: func(p *guard.Pass) {
				switch {
				case named(p, "deny-"):
					p.Report(-1, guard.VerdictDeny, "it is named deny", "name it otherwise")
				case named(p, "ask-"):
					p.Report(-1, guard.VerdictAsk, "it is named ask", "")
				}
			}}},
			Default: []guard.Rule{{ID: "test/rest", Evaluate: func(p *guard.Pass) {
				for i := range p.Facts.Effects {
					p.Report(i, guard.VerdictAllow, "nothing speaks against it", "")
				}
			}}},
			Grants: guard.NewGrants(), Revision: "test",
		},
		Reader: &shell.Reader{Table: &command.Table{}, Home: "/nonexistent", Env: map[string]string{"PATH": os.Getenv("PATH"), "HOME": "/nonexistent"}},
		Audit:  a,
		Sandbox: func(roots []string, _ string) (sandbox.Sandbox, error) {
			return sandbox.Open(sandbox.Settings{Tier: sandbox.None, Roots: roots, State: filepath.Join(filepath.Dir(log), "sandbox")})
		},
	}, nil
}

// place is a workspace in a temporary directory.
func place(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(dir, "work")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	return root
}

// serve starts a server on root in this process and returns a client on real
// pipes. change may be nil.
func serve(t testing.TB, root string, change func(*Options)) *peer {
	t.Helper()
	box, err := toolbox(filepath.Join(filepath.Dir(root), "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Toolbox: box, Roots: []string{root}, Version: "test", Homes: []string{"/nonexistent"},
		Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	if change != nil {
		change(&o)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return connect(t, s)
}

// connect runs s on a pair of pipes.
func connect(t testing.TB, s *Server) *peer {
	t.Helper()
	in, toServer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromServer, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		err := s.ServeStdio(context.Background(), in, out)
		out.Close()
		ended <- err
	}()
	p := newPeer(t, fromServer, toServer)
	t.Cleanup(func() {
		toServer.Close()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("the server ended with %v", err)
			}
		case <-time.After(patience):
			t.Error("the server did not end with its input")
		}
		in.Close()
	})
	return p
}
