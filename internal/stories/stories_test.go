// Package stories tells what the product does, from the outside: the real
// binary, real pipes, real files. It has tests only.
package stories

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(suite{m}, map[string]func(){"mcp": clientMain})
}

// suite removes the binary when the tests are done.
type suite struct{ m *testing.M }

func (s suite) Run() int {
	code := s.m.Run()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	return code
}

var built struct {
	once sync.Once
	dir  string
	err  error
	out  []byte
}

// binary builds handrail once and returns its path.
func binary(t testing.TB) string {
	t.Helper()
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "handrail-stories-"); built.err != nil {
			return
		}
		build := exec.Command("go", "build", "-o", built.dir, "handrail")
		built.out, built.err = build.CombinedOutput()
	})
	if built.err != nil {
		t.Fatalf("go build: %v\n%s", built.err, built.out)
	}
	return filepath.Join(built.dir, "handrail")
}

// Every story of testdata is told in both protocol eras; ERA says which one.
func TestStories(t *testing.T) {
	bin := binary(t)
	for _, era := range []string{"old", "new"} {
		t.Run(era, func(t *testing.T) {
			testscript.Run(t, testscript.Params{
				Dir:   "testdata",
				Setup: func(env *testscript.Env) error { return setup(env, bin, era) },
				Condition: func(cond string) (bool, error) { // [old], [new]
					return cond == era, nil
				},
			})
		})
	}
}

// setup gives a story a home, a project and something to lose under /tmp.
func setup(env *testscript.Env, bin, era string) error {
	victim, err := os.MkdirTemp("/tmp", "handrail-victim-")
	if err != nil {
		return err
	}
	env.Defer(func() { os.RemoveAll(victim) })
	home := filepath.Join(env.WorkDir, "home")
	for _, d := range []string{home, filepath.Join(env.WorkDir, "project")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	env.Setenv("ERA", era)
	env.Setenv("VICTIM", victim)
	env.Setenv("HOME", home)
	env.Setenv("XDG_CONFIG_HOME", "")
	env.Setenv("XDG_STATE_HOME", "")
	env.Setenv("PATH", filepath.Dir(bin)+":"+env.Getenv("PATH"))
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOROOT"} {
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			return err
		}
		env.Setenv(name, strings.TrimSpace(string(value)))
	}
	env.Setenv("GOPROXY", "off")
	env.Setenv("GOTOOLCHAIN", "local")
	return nil
}
