package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"handrail/internal/ollamatest"
	"handrail/internal/testkit"
)

// contains skips a test where no sandbox contains commands.
func contains(t *testing.T) {
	t.Helper()
	held := false
	t.Run("doctor", func(t *testing.T) {
		home(t)
		t.Setenv("OLLAMA_HOST", "127.0.0.1:9")
		_, out, _ := handrail("", "doctor", "--json")
		held = strings.Contains(out, `"contains":true`)
	})
	if !held {
		testkit.Missing(t, "a sandbox", "apt-get install bubblewrap")
	}
}

// TestServer are the stories with a real model server: a person at a terminal to
// whom the model's download is offered, and what becomes of calls that the rules
// cannot tell while the model answers, is missing, is silent or is gone.
func TestServer(t *testing.T) {
	contains(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // it takes connections, and never says a word
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	registry, env := ollamatest.Start(t).Registry(t)
	server := ollamatest.Start(t, env)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/server",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir+"/home")
			e.Setenv("OLLAMA_HOST", server.URL.String())
			e.Setenv("REGISTRY", registry)
			e.Setenv("SILENT", silent.Addr().String())
			e.Setenv("SERVER", server.URL.String())
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"code": code},
	})
}

// A server in auto mode tells once, at its usual level, that the model is
// missing, and nothing where nobody has a model server. Its calls run contained.
func TestServeTells(t *testing.T) {
	server := ollamatest.Start(t)
	contains(t)
	home(t)
	t.Setenv("HANDRAIL_GUARD_MODEL", "guard-nowhere")
	for host, want := range map[string]int{server.URL.String(): 1, "127.0.0.1:9": 0} {
		t.Setenv("OLLAMA_HOST", host)
		in, client := io.Pipe()
		answers, out := io.Pipe()
		var log bytes.Buffer
		ended := make(chan int, 1)
		go func() { ended <- Main([]string{"serve", "--root", "."}, in, out, &log) }()
		fmt.Fprintln(client, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
		lines := bufio.NewScanner(answers)
		lines.Scan()
		fmt.Fprintln(client, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		for _, command := range []string{"frobnicate 1", "frobnicate 2"} {
			fmt.Fprintf(client, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"safe_bash","arguments":{"command":%q}}}`+"\n", command)
			for lines.Scan() && !strings.Contains(lines.Text(), `"id":2`) {
			}
			if !strings.Contains(lines.Text(), `"verdict":"allow"`) {
				t.Errorf("%s: %s", host, lines.Text())
			}
		}
		client.Close()
		go io.Copy(io.Discard, answers)
		if code := <-ended; code != 0 || strings.Count(log.String(), "Guard Agent") != want || strings.Count(log.String(), "level=WARN") != want {
			t.Errorf("%s: %d, told %s", host, code, log.String())
		}
	}
}
