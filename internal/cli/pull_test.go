package cli

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"handrail/internal/ollamatest"
)

// TestFirstUse has a person at a terminal and a real server without the model:
// the download is offered, and nothing is downloaded without a yes.
func TestFirstUse(t *testing.T) {
	registry, env := ollamatest.Start(t).Registry(t)
	server := ollamatest.Start(t, env)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/server",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir+"/home")
			e.Setenv("OLLAMA_HOST", server.URL.String())
			e.Setenv("REGISTRY", registry)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"code": code},
	})
}
