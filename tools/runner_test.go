package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"handrail/internal/testkit"
	"handrail/tools/place"
	"handrail/tools/sandbox"
)

// start runs text with real bash in a new directory.
func start(t *testing.T, ctx context.Context, text string, timeout time.Duration) (*ending, string) {
	t.Helper()
	return startIn(t, ctx, resolved(t.TempDir()), text, timeout)
}

func startIn(t *testing.T, ctx context.Context, dir, text string, timeout time.Duration) (*ending, string) {
	t.Helper()
	testkit.Require(t, "bash", "apt-get install bash")
	id := newID()
	s := &script{text: text, dir: dir, id: id, timeout: timeout, env: new(narrowings).narrow(environment(os.Environ(), nil, dir), nil, id),
		box: unheld(t), policy: &sandbox.Policy{}}
	e, err := s.run(ctx)
	if err != nil {
		t.Fatalf("run %q: %v", text, err)
	}
	return e, dir
}

// unheld is a sandbox that holds nothing.
func unheld(t testing.TB) sandbox.Sandbox {
	t.Helper()
	box, err := sandbox.Open(sandbox.Settings{Tier: sandbox.None})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	return box
}

// alive reports whether pid runs; a zombie does not.
func alive(pid int) bool {
	state, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && !bytes.HasPrefix(state, []byte("Z"))
}

// plainBash is bash as the runner starts it, and nothing else.
func plainBash(text, dir string) *exec.Cmd {
	cmd := exec.Command("bash", "--noprofile", "--norc", "-c", text)
	cmd.Dir = dir
	cmd.Env = []string{"PWD=" + dir, sandbox.Mark + "=x"}
	for k, v := range environment(os.Environ(), nil, dir) {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

func TestRunnerIsTransparent(t *testing.T) {
	testkit.Require(t, "bash", "apt-get install bash")
	scripts := []string{
		"true", "false", "exit 7", "exit 256", "exit -1", "echo hello", "printf 'no newline'", "echo out; echo err >&2; exit 3",
		"no-such-command-anywhere", "/etc/passwd", "kill -9 $$", "kill -TERM $$", "kill -SEGV $$", "(exit 5)", "sh -c 'kill -KILL $$'",
		"set -e; false; echo never", "set -o pipefail; false | true", "if", "echo 'unterminated", "pwd", "cd /; pwd; echo $OLDPWD",
		"for i in 1 2 3; do echo $i; done", "cat <<E\na $HOME\nE", "echo $0 $# $-", "type cd; alias", "ulimit -c >/dev/null; umask",
		"env | sort | grep -v -e ^_= -e HANDRAIL_CALL", "printf 'a\\tb\\r\\nc'", "echo ü 漢字 🙂", "shopt expand_aliases login_shell; tty",
		"trap 'echo bye' EXIT; echo hi", "read x; echo \"got [$x] $?\"", "cat; echo end", "wc -c", "sleep 0.05 & wait; echo done",
		"ls /proc/self/fd | wc -l", "seq 2000 | tail -n 3", "exec 3>&1; echo three >&3", "set -u; echo $undefined", "command -v ls", "diff <(echo a) <(echo b)",
		"echo a > >(cat); sleep 0.05",
	}
	for _, text := range scripts {
		t.Run(text, func(t *testing.T) {
			e, dir := start(t, t.Context(), text, time.Minute)
			cmd := plainBash(text, dir)
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			code := 0
			var exit *exec.ExitError
			if err := cmd.Run(); errors.As(err, &exit) {
				if code = exit.ExitCode(); code < 0 {
					code = 128 + int(exit.Sys().(syscall.WaitStatus).Signal())
				}
			} else if err != nil {
				t.Fatal(err)
			}
			got, _ := e.out.Text()
			gotErr, _ := e.err.Text()
			if got != out.String() || gotErr != errs.String() || e.Code != code {
				t.Errorf("got %q, %q, exit %d\nbash %q, %q, exit %d", got, gotErr, e.Code, out.String(), errs.String(), code)
			}
		})
	}
}

// survivors are scripts that leave something behind; each writes the numbers of
// what it left to the file pids.
var survivors = map[string]string{
	"plain child":         `sleep 300 & echo $! >> pids`,
	"setsid":              `setsid sleep 300 & sleep 0.1; setsid bash -c 'echo $$ >> pids; exec sleep 300' &`,
	"double fork":         `(setsid bash -c '(echo $BASHPID >> pids; exec sleep 300) & ' &) ; sleep 0.1`,
	"nohup ignoring TERM": `nohup bash -c 'trap "" TERM HUP; echo $$ >> pids; while :; do sleep 0.2; done' >/dev/null 2>&1 &`,
	"empty environment":   `env -i bash -c 'echo $$ >> pids; exec sleep 300' &`,
	"closed streams":      `setsid bash -c 'echo $$ >> pids; exec sleep 300' </dev/null >/dev/null 2>&1 &`,
	"silent pipe holder":  `setsid bash -c 'echo $$ >> pids; trap "" TERM; while :; do read -t 1 </dev/zero; sleep 1; done' &`,
}

func TestRunnerLeavesNothingBehind(t *testing.T) {
	for name, text := range survivors {
		for _, end := range []string{"exit", "timeout", "cancel"} {
			t.Run(name+"/"+end, func(t *testing.T) {
				t.Parallel()
				if end == "timeout" && !strings.HasPrefix(name, "setsid") {
					t.Skip("ends as a cancelled one does")
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				dir, timeout := resolved(t.TempDir()), time.Minute
				text := text + "\nfor i in {1..100}; do [ -s pids ] && break; sleep 0.05; done; echo ready; touch ready\n"
				if end != "exit" {
					text += "sleep 200"
				}
				switch end {
				case "timeout":
					timeout = 3 * time.Second
				case "cancel":
					go func() {
						for !exists(dir+"/ready") && ctx.Err() == nil {
							time.Sleep(20 * time.Millisecond)
						}
						cancel()
					}()
				}
				e, _ := startIn(t, ctx, dir, text, timeout)
				if e.timedOut != (end == "timeout") || (e.cancelled != nil) != (end == "cancel") {
					t.Errorf("timed out %v, cancelled %v", e.timedOut, e.cancelled)
				}
				if end == "exit" && (e.Code != 0 || e.ended == 0) {
					t.Errorf("exit code %d, %d ended; want 0 and some", e.Code, e.ended)
				}
				if out, _ := e.out.Text(); !strings.Contains(out, "ready") {
					t.Errorf("output %q lacks what was written before the end", out)
				}
				b, err := os.ReadFile(filepath.Join(dir, "pids"))
				if err != nil || len(strings.Fields(string(b))) == 0 {
					t.Fatalf("the script left no numbers: %v", err)
				}
				for _, f := range strings.Fields(string(b)) {
					pid, _ := strconv.Atoi(f)
					if alive(pid) {
						t.Errorf("process %d lives on", pid)
						_ = syscall.Kill(pid, syscall.SIGKILL)
					}
				}
			})
		}
	}
}

func TestRunnerTakesTextForAScript(t *testing.T) {
	for _, text := range []string{"-x", "-i", "--version", "+x", "-s", "--", "-c 'touch made'"} {
		e, dir := start(t, t.Context(), text, time.Minute)
		if errs, _ := e.err.Text(); e.Code != 127 || !strings.Contains(errs, "command not found") || exists(dir+"/made") {
			t.Errorf("%q: exit %d, %q", text, e.Code, errs)
		}
	}
}

func TestRunnerNeverWaitsForInput(t *testing.T) {
	for _, text := range []string{"cat", "read -r x", "python3 -c 'input()'", "head -c 1", "bash", "ssh-keygen -y -f /dev/stdin", "cat /dev/tty"} {
		e, _ := start(t, t.Context(), text, time.Minute)
		if e.timedOut {
			t.Errorf("%q waited for input", text)
		}
	}
}

func TestRunnerKeepsHeadAndTail(t *testing.T) {
	e, _ := start(t, t.Context(), "echo first; yes | head -c 50M; echo last; seq 100000 >&2", time.Minute)
	out, cut := e.out.Text()
	if !cut || !strings.HasPrefix(out, "first\ny\n") || !strings.HasSuffix(out, "y\nlast\n") || len(out) > headBytes+tailBytes+100 {
		t.Errorf("cut %v, %d bytes: %.60q … %q", cut, len(out), out, out[len(out)-20:])
	}
	total := int64(6 + 50<<20 + 5)
	mark := fmt.Sprintf("[… %d bytes (", total-headBytes-tailBytes)
	if !strings.Contains(out, mark) {
		t.Errorf("there is no mark %q", mark)
	}
	if errs, cut := e.err.Text(); !cut || !strings.HasSuffix(errs, "99999\n100000\n") {
		t.Errorf("stderr: cut %v, end %q", cut, errs[len(errs)-20:])
	}
}

func TestRunnerManyAtOnce(t *testing.T) {
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			e, _ := start(t, t.Context(), fmt.Sprintf("echo %d; setsid sleep 100 >/dev/null 2>&1 & sleep 0.2; echo %d; exit %d", i, i, i), time.Minute)
			if out, _ := e.out.Text(); out != fmt.Sprintf("%d\n%d\n", i, i) || e.Code != i {
				t.Errorf("call %d: exit %d, output %q", i, e.Code, out)
			}
		})
	}
	wg.Wait()
}

func TestRunnerProgress(t *testing.T) {
	testkit.Require(t, "bash", "apt-get install bash")
	dir, id := resolved(t.TempDir()), newID()
	var mu sync.Mutex
	var told []string
	s := &script{box: unheld(t), policy: &sandbox.Policy{}, text: "echo one; sleep 0.8; echo two; sleep 0.8; for i in $(seq 5000); do echo $i; done", dir: dir, id: id, timeout: time.Minute,
		env:      new(narrowings).narrow(environment(os.Environ(), nil, dir), nil, id),
		progress: func(m string) { mu.Lock(); told = append(told, m); mu.Unlock() }}
	if _, err := s.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(told) == 0 || !strings.HasSuffix(told[0], "4 bytes: one") {
		t.Errorf("told %q", told)
	}
	s.progress = func(string) { panic("broken listener") }
	if e, err := s.run(t.Context()); err != nil || e.Code != 0 {
		t.Errorf("with a broken listener: %v", err)
	}
}

func TestRunnerWorkingDirectoryIsTheOneThatWasJudged(t *testing.T) {
	dir := resolved(t.TempDir())
	if err := os.Symlink("/etc", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	s := &script{box: unheld(t), policy: &sandbox.Policy{}, text: "pwd", dir: filepath.Join(dir, "link"), id: newID(), timeout: time.Minute}
	if _, err := s.run(t.Context()); !errors.Is(err, place.ErrMoved) {
		t.Errorf("a directory that became a link: %v", err)
	}
}
