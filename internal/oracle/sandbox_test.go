package oracle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"handrail/guard"
	"handrail/internal/config"
	"handrail/internal/testkit"
	"handrail/tools"
)

// home is the user's home directory in a cell with a root of its own; it exists
// only there.
const home = "/home/dev"

// limit is how long one command may run.
const limit = 4 * time.Second

// nobody is who runs the commands when the tests run as root.
const nobody = 65533

// cell is a place to run commands: a project, a home and a scratch directory
// that are made anew for every command.
type cell struct {
	base     string // below it: project, home, scratch, trace, out
	project  string
	home     string // as commands see it: that below base, or a place for it
	scratch  string // the TMPDIR of commands
	template string // what the fixture made: project and home
	cache    string // of the toolchains, shared
	// machine says that commands see the machine's own root, read-only, as from a
	// shell of its user; else one of their own.
	machine bool
	env     map[string]string
	judge   *config.Judge
	links   []link // symbolic links of the fixture
	clean   map[string]stamp
}

// outcome is what came of one run.
type outcome struct {
	err       error // the sandbox itself failed
	timedOut  bool
	code      int
	out, errs string
	tree      map[string]string
	events    []event
}

// errRefused says that there is no sandbox to be had here.
var errRefused = errors.New("the sandbox does not start")

// cells makes n cells. Without bubblewrap or strace, or where they do not work
// here, the test ends: nothing runs outside a sandbox.
func cells(t *testing.T, n int) []*cell {
	t.Helper()
	base := room(t)
	testkit.Require(t, "strace", "apt-get install strace")
	template, cache := filepath.Join(base, "template"), filepath.Join(base, "cache")
	maker := newCell(t, &cell{base: filepath.Join(base, "maker"), cache: cache, home: home})
	fixture(t, maker)
	if err := os.Rename(maker.base, template); err != nil {
		t.Fatal(err)
	}
	var all []*cell
	for i := range n {
		all = append(all, newCell(t, &cell{base: filepath.Join(base, fmt.Sprintf("cell%d", i)), template: template, cache: cache, home: home}))
	}
	return all
}

// room makes the directory in which cells are, where commands can be run here.
func room(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("runs commands in a sandbox")
	}
	testkit.Require(t, "bwrap", "apt-get install bubblewrap")
	testkit.Require(t, "git", "apt-get install git")
	base, err := os.MkdirTemp("", "oracle-")
	if err == nil {
		base, err = filepath.EvalSymlinks(base)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	return base
}

// newCell makes the directories of c, of which base, home and what is given of
// template and cache are set, and its judge.
func newCell(t *testing.T, c *cell) *cell {
	c.project, c.scratch = c.dir("project"), c.dir("scratch")
	for _, dir := range []string{filepath.Dir(c.base), c.cache, c.base, c.project, c.dir("home"), c.scratch, c.dir("trace")} {
		if err := errors.Join(os.MkdirAll(dir, 0o755), give(dir)); err != nil {
			t.Fatal(err)
		}
	}
	goCache := "" // below home
	if c.machine {
		goCache = filepath.Join(c.cache, "go-build")
	}
	for name, value := range map[string]string{"HOME": c.home, "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": "", "LANG": "", "LC_ALL": "",
		"GOCACHE": goCache, "PATH": goroot() + "/bin:/usr/local/bin:/usr/bin:/bin"} {
		t.Setenv(name, value)
	}
	conf, err := config.Default()
	if err != nil {
		t.Fatal(err)
	}
	conf.Roots = []string{c.project}
	c.env = tools.Environment(conf.Roots, c.scratch)
	if c.judge, err = conf.Judge(c.env); err != nil {
		t.Fatal(err)
	}
	if c.template != "" {
		c.links = linksIn(filepath.Join(c.template, "project"), c.project)
	}
	return c
}

// fixture makes the project, by a script that runs in the sandbox too. That
// it comes out as expected proves that the sandbox works here.
func fixture(t *testing.T, c *cell) {
	script, err := os.ReadFile("testdata/fixture.sh")
	if err != nil {
		t.Fatal(err)
	}
	did := c.start(string(script), !c.machine, 2*time.Minute)
	if errors.Is(did.err, errRefused) {
		testkit.Missing(t, "a bubblewrap that may make user namespaces ("+did.err.Error()+")", "apt-get install bubblewrap; sysctl -w kernel.apparmor_restrict_unprivileged_userns=0")
	}
	if did.err != nil || did.code != 0 || did.timedOut {
		t.Fatalf("the fixture ended with code %d (%v): %s%s", did.code, did.err, did.out, did.errs)
	}
	if _, err := os.Stat(filepath.Join(c.project, "archive.tar.gz")); err != nil {
		t.Fatal(err)
	}
	if len(did.events) == 0 && !c.machine {
		t.Fatal("the tracer saw nothing")
	}
}

func (c *cell) dir(name string) string { return filepath.Join(c.base, name) }

// read judges a command in the project.
func (c *cell) read(command string) (*guard.Facts, guard.Verdict) {
	input, _ := json.Marshal(map[string]string{"command": command}) // a string always can be
	facts := c.judge.Reader.Read(command, c.project)
	d := c.judge.Guard.Judge(&guard.EvalContext{
		ToolName: tools.Bash, Input: input, WorkingDir: c.project, Roots: []string{c.project}, Facts: facts,
	})
	return facts, d.Verdict
}

// run runs a script in the sandbox as the server would run it.
func (c *cell) run(script string, traced bool) *outcome { return c.start(script, traced, limit) }

func (c *cell) start(script string, traced bool, limit time.Duration) *outcome {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	args := c.sandbox()
	if traced {
		args = append(args, "strace", "-f", "-qq", "-y", "-s", "128", "--seccomp-bpf", "-o", "/trace/log", "-e", "trace="+traces)
	}
	args = append(args, "bash", "--noprofile", "--norc", "-c", "--", script)
	cmd := exec.CommandContext(ctx, "/usr/bin/bwrap", args...)
	for name, value := range c.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	for _, more := range []map[string]string{dates, tools.Offline} {
		for name, value := range more {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.Env = append(cmd.Env, "PWD="+c.project)
	slices.Sort(cmd.Env)    // as in the sandbox: env prints names that bash hashes alike in an order that depends on it,
	slices.Reverse(cmd.Env) // which the shell that sets limits turns round
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	cmd.WaitDelay = time.Second
	o := &outcome{}
	streams := map[string]*string{"stdout": &o.out, "stderr": &o.errs}
	for name := range streams { // files: nothing waits for who holds them
		f, err := os.Create(c.dir(name))
		if err != nil {
			return &outcome{err: err}
		}
		defer f.Close()
		if name == "stdout" {
			cmd.Stdout = f
		} else {
			cmd.Stderr = f
		}
	}
	os.Remove(c.dir("trace/log"))
	err := cmd.Run()
	o.timedOut = ctx.Err() != nil
	o.code = cmd.ProcessState.ExitCode()
	for name, text := range streams {
		b, _ := os.ReadFile(c.dir(name))
		*text = string(b)
	}
	switch {
	case cmd.ProcessState == nil:
		o.err = err
	case strings.HasPrefix(o.errs, "bwrap: ") || strings.HasPrefix(o.errs, "strace: "):
		o.err = fmt.Errorf("%w: %s", errRefused, strings.TrimSpace(o.errs))
	}
	if o.err != nil {
		return o
	}
	if traced {
		if o.events, o.err = c.readTrace(c.dir("trace/log")); o.err != nil {
			return o
		}
	}
	o.tree = c.snapshot()
	return o
}

// dates make commits the same whenever they are made.
var dates = map[string]string{"GIT_AUTHOR_DATE": "2026-01-03T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-03T00:00:00Z"}

// sandbox are the arguments of bwrap, up to the command: nothing is writable
// but the cell, there is no network, no capability, and nothing outlives it.
func (c *cell) sandbox() []string {
	if c.machine {
		return c.onMachine()
	}
	args := strings.Fields("--unshare-all --die-with-parent --new-session --cap-drop ALL --uid 1000 --gid 1000 --hostname oracle " +
		"--ro-bind /usr /usr --tmpfs /usr/local --ro-bind /etc /etc --ro-bind-try /opt /opt --proc /proc --dev /dev " +
		"--size 67108864 --tmpfs /tmp --size 1048576 --tmpfs /run --tmpfs /home --tmpfs /root --tmpfs /var --dir /var/tmp --dir /var/log --tmpfs /srv --tmpfs /mnt")
	for _, dir := range []string{"/bin", "/sbin", "/lib", "/lib64", "/lib32"} {
		if to, err := os.Readlink(dir); err == nil {
			args = append(args, "--symlink", to, dir)
		} else {
			args = append(args, "--ro-bind-try", dir, dir)
		}
	}
	for _, bind := range [][2]string{{c.dir("home"), home}, {c.cache, home + "/.cache"}, {c.project, c.project},
		{c.scratch, c.scratch}, {c.dir("trace"), "/trace"}} {
		args = append(args, "--bind", bind[0], bind[1])
	}
	if root := goroot(); root != "" {
		args = append(args, "--ro-bind-try", root, root)
	}
	return c.bounded(args, "ulimit -c 0 -t 20 -f 65536 -n 512") // -f in KiB blocks
}

// bounded ends the arguments of bwrap with a shell that sets limits.
func (c *cell) bounded(args []string, limits string) []string {
	return append(args, "--remount-ro", "/", "--chdir", c.project, "--", "/bin/bash", "--noprofile", "--norc", "-c", limits+`; exec "$@"`, "oracle")
}

// goroot is where Go is installed, or empty.
var goroot = sync.OnceValue(func() string {
	out, _ := exec.Command("go", "env", "GOROOT").Output()
	return strings.TrimSpace(string(out))
})
