package oracle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"handrail/internal/config"
	"handrail/internal/testkit"
	"handrail/tools"
	"handrail/tools/sandbox"
)

// serving is the word by which the test binary is a server: see serve.
const serving = "serve-the-oracle"

// TestMain lets the test binary be a process of a sandbox, and a server.
func TestMain(m *testing.M) {
	if code, handled := sandbox.Main(os.Args); handled {
		os.Exit(code)
	}
	if len(os.Args) == 3 && os.Args[1] == serving {
		if err := serve(os.Args[2], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// patience is how long one command may run on either side: longer than where
// only one side is looked at, since what is ended early is not compared.
const patience = 10 * time.Second

// reply is what came of one call.
type reply struct {
	Fault     string // why no sandbox holds anything here; then nothing was called
	Code      *int   // nil: it did not run
	Out, Errs string
	Cut       bool // something was left out of a stream
	TimedOut  bool
	Said      string // to the agent, how it ended
}

// serve does the commands that come as JSON strings, as calls of an agent whom
// nobody can answer, and answers each. It runs as who runs the commands, so that
// the sandbox is that of an ordinary user.
func serve(root string, in io.Reader, out io.Writer) (err error) {
	conf, err := config.Default()
	if err != nil {
		return err
	}
	conf.Roots, conf.Sandbox.Tier = []string{root}, string(sandbox.Bwrap)
	sys, err := conf.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sys.Close()) }()
	answers := json.NewEncoder(out)
	if fault := sys.Held.Fault; fault != nil {
		return answers.Encode(reply{Fault: fault.Error()})
	}
	maps.Copy(sys.Reader.Env, dates)
	for calls := json.NewDecoder(in); ; {
		var command string
		switch err := calls.Decode(&command); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := answers.Encode(call(sys, root, command)); err != nil {
			return err
		}
	}
}

func call(sys *config.System, root, command string) reply {
	ctx, cancel := context.WithTimeout(context.Background(), 10*patience) // for the call as a whole: questions, copies and the run
	defer cancel()
	input, _ := json.Marshal(map[string]any{"command": command, "timeout_ms": patience.Milliseconds()}) // a string always can be
	res := sys.Toolbox.Do(ctx, tools.Call{Tool: tools.Bash, Input: input, Roots: []string{root}, Session: "oracle"})
	return reply{Code: res.ExitCode, Out: res.Stdout, Errs: res.Stderr, Cut: res.Truncated, TimedOut: res.TimedOut, Said: last(res.Text)}
}

// last is the last line of a text, in which a result says how it ended.
func last(text string) string {
	return text[strings.LastIndexByte(strings.TrimSuffix(text, "\n"), '\n')+1:]
}

// contained is a cell with a server beside it, whose sandbox shows commands the
// same places as a run of the cell outside of it.
type contained struct {
	*cell
	calls   *json.Encoder
	answers *json.Decoder
}

// containedCells makes n of them.
func containedCells(t *testing.T, n int) (all []*contained) {
	base := room(t)
	program := copyOfSelf(t, base)
	for i := range n {
		c := newCell(t, &cell{base: filepath.Join(base, fmt.Sprintf("cell%d", i)), home: filepath.Join(base, fmt.Sprintf("cell%d", i), "home"),
			cache: filepath.Join(base, "cache"), machine: true})
		fixture(t, c)
		c.template = c.dir("template")
		if err := errors.Join(os.Mkdir(c.template, 0o755), os.Mkdir(filepath.Join(c.template, "scratch"), 0o700),
			os.Rename(c.dir("home/.npmrc"), filepath.Join(c.project, ".npmrc")),                    // which commands do not read there
			os.WriteFile(filepath.Join(c.project, ".git/info/exclude"), []byte(".npmrc\n"), 0o644), // it is mounted, so that git could not move it away
			os.Rename(c.project, filepath.Join(c.template, "project")), os.Rename(c.dir("home"), filepath.Join(c.template, "home"))); err != nil {
			t.Fatal(err)
		}
		c.fresh()
		all = append(all, hold(t, c, program))
	}
	return all
}

// copyOfSelf puts this program where every user can start it.
func copyOfSelf(t *testing.T, dir string) string {
	self, err := os.ReadFile("/proc/self/exe")
	path := filepath.Join(dir, "program")
	if err := errors.Join(err, os.WriteFile(path, self, 0o755)); err != nil {
		t.Fatal(err)
	}
	return path
}

// hold starts the server of a cell, and lets the cell use its TMPDIR too.
func hold(t *testing.T, c *cell, program string) *contained {
	for _, name := range []string{"tmp", "state"} {
		if err := errors.Join(os.Mkdir(c.dir(name), 0o700), give(c.dir(name))); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(program, serving, c.project)
	cmd.Dir, cmd.Stderr = c.base, os.Stderr
	for name, value := range c.env { // from which the server builds the same
		if name != "TMPDIR" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.Env = append(cmd.Env, "TMPDIR="+c.dir("tmp"), "XDG_STATE_HOME="+c.dir("state"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	in, err := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		end := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
		defer end.Stop()
		if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
			t.Errorf("the server: %v", err)
		}
	})
	k := &contained{cell: c, calls: json.NewEncoder(in), answers: json.NewDecoder(out)}
	first, err := k.ask(`printf %s "$TMPDIR"`)
	if first.Fault != "" {
		testkit.Missing(t, "a bubblewrap that holds commands ("+first.Fault+")", "apt-get install bubblewrap")
	}
	if err != nil || first.Code == nil || *first.Code != 0 {
		t.Fatalf("the server: %v: %+v", err, first)
	}
	c.scratch = first.Out
	c.env["TMPDIR"] = c.scratch
	c.clean = c.marks()
	return k
}

func (k *contained) ask(command string) (a reply, err error) {
	if err = k.calls.Encode(command); err == nil {
		err = k.answers.Decode(&a)
	}
	return a, err
}

// guarded is run by the way of every call, in the sandbox.
func (k *contained) guarded(command string) (*outcome, reply) {
	a, err := k.ask(command)
	switch {
	case err != nil:
		return &outcome{err: err}, a
	case a.Code == nil:
		return &outcome{err: fmt.Errorf("the server did not run it: %s", a.Said)}, a
	}
	return &outcome{code: *a.Code, out: a.Out, errs: a.Errs, timedOut: a.TimedOut, tree: k.snapshot()}, a
}

// onMachine are the arguments of bwrap, up to the command, for a shell as the
// user of this machine has it: its files, read-only, but for those of its users
// and what is temporary; writable is the cell alone, and there is no network.
func (c *cell) onMachine() []string {
	args := strings.Fields("--unshare-all --die-with-parent --new-session --cap-drop ALL --ro-bind / / --proc /proc --dev /dev")
	for _, dir := range strings.Fields("/home /root /tmp /var/tmp /run /mnt /media") {
		if st, err := os.Lstat(dir); err == nil && st.IsDir() {
			args = append(args, "--size", "67108864", "--tmpfs", dir)
		}
	}
	for _, dir := range []string{filepath.Dir(c.base), c.base} {
		args = append(args, "--perms", "0755", "--dir", dir)
	}
	for _, dir := range []string{c.project, c.home, c.scratch, c.cache} {
		args = append(args, "--bind", dir, dir)
	}
	if root := goroot(); root != "" {
		args = append(args, "--ro-bind-try", root, root)
	}
	return c.bounded(args, "ulimit -c 0 -t 20 -f 65536")
}
