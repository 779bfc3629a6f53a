package mcpserver

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// process starts the server as a process of its own.
func process(t testing.TB, root string) (*peer, *exec.Cmd) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), asServer+"="+root)
	var said bytes.Buffer
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() {
		in.Close()
		out.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if said.Len() > 0 {
			t.Logf("the server said: %s", said.String())
		}
	})
	p := newPeer(t, out, in)
	p.out = out
	return p, cmd
}

// sleeper runs a command that would take for ever and returns its number, and
// that of the call.
func sleeper(p *peer, root string) (pid, id int, ch chan wireMessage) {
	p.t.Helper()
	id, ch = p.start("tools/call", params("safe_bash", map[string]any{"command": "echo $$ > pid.new; mv pid.new pid; sleep 1000"}, nil))
	until(p.t, "the command runs", func() bool { return exists(root, "pid") })
	b, err := os.ReadFile(filepath.Join(root, "pid"))
	if err != nil {
		p.t.Fatal(err)
	}
	if pid, err = strconv.Atoi(strings.TrimSpace(string(b))); err != nil {
		p.t.Fatal(err)
	}
	if !alive(pid) {
		p.t.Fatalf("%d does not run", pid)
	}
	return pid, id, ch
}

func until(t testing.TB, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// alive reports whether a process runs; one that only waits to be reaped does
// not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		return true // no /proc here: the signal tells
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

func TestCancelEndsTheCommand(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		root := place(t)
		p := serve(t, root, nil).hello(modern, nil)
		pid, id, ch := sleeper(p, root)
		p.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": map[string]any{"requestId": id}})
		until(t, "the command ends", func() bool { return !alive(pid) })
		if a := p.call("safe_write", write("after.txt"), nil); a.IsError {
			t.Errorf("the next call: %+v", a)
		}
		select {
		case m := <-ch:
			t.Errorf("a cancelled call was answered: %s", m.Result)
		default:
		}
	})
}

// A cancelled question is not open any more: a yes that comes then is nothing.
func TestCancelEndsTheQuestion(t *testing.T) {
	root := place(t)
	p := serve(t, root, nil).hello(false, forms())
	id, ch := p.start("tools/call", params("safe_write", write("ask-it.txt"), nil))
	q := p.question(ch)
	p.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": map[string]any{"requestId": id}})
	if n := p.await("the end of the question", p.told); n.Method != "notifications/cancelled" {
		t.Errorf("told %s", n.Method)
	}
	p.send(map[string]any{"jsonrpc": "2.0", "id": q.ID, "result": accept("allow once")})
	p.request("ping", nil)
	if exists(root, "ask-it.txt") {
		t.Error("it ran")
	}
}

func TestServerEndsWithItsClient(t *testing.T) {
	for name, leave := range map[string]func(*peer, *exec.Cmd){
		"input ends":            func(p *peer, _ *exec.Cmd) { p.in.Close() },
		"input and output gone": func(p *peer, _ *exec.Cmd) { p.out.Close(); p.in.Close() },
		"output gone": func(p *peer, _ *exec.Cmd) {
			p.out.Close()
			for range 3 { // answers to these cannot be written
				p.send(`{"jsonrpc":"2.0","id":"x","method":"ping"}`)
				time.Sleep(10 * time.Millisecond)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := place(t)
			p, cmd := process(t, root)
			p.hello(false, nil)
			pid, _, _ := sleeper(p, root)
			p.leaving.Store(true)
			leave(p, cmd)
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			select {
			case <-ended:
			case <-time.After(patience):
				t.Fatal("the server did not end")
			}
			until(t, "the command ends", func() bool { return !alive(pid) })
		})
	}
}

func TestContextEndsTheServer(t *testing.T) {
	root := place(t)
	box, err := toolbox(filepath.Join(filepath.Dir(root), "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{Toolbox: box, Roots: []string{root}})
	if err != nil {
		t.Fatal(err)
	}
	in, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	defer in.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.ServeStdio(ctx, in, &bytes.Buffer{}); err != context.Canceled {
		t.Errorf("%v", err)
	}
}
