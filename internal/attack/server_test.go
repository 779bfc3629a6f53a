//go:build linux

package attack

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// handrail builds the program that is attacked.
func handrail(t testing.TB) string {
	t.Helper()
	path := filepath.Dir(programPath(t)) + "/handrail"
	if _, err := os.Stat(path); err == nil {
		return path
	}
	if out, err := exec.Command("go", "build", "-o", path, "handrail").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	return path
}

// server is a running `handrail serve` with the agent at the other end of its
// pipe; nobody can be asked.
type server struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	last int
	mu   sync.Mutex
	said strings.Builder // all that came over the pipe
	got  chan json.RawMessage
}

// env is how the user of m starts programs.
func (m *machine) env() []string {
	return []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + m.home, "LANG=C.UTF-8", "HANDRAIL_LLM=off"}
}

// serve starts the server in the workspace of m.
func (m *machine) serve(t testing.TB) *server {
	t.Helper()
	s := &server{cmd: exec.Command(handrail(t), "serve", "--root", m.root), got: make(chan json.RawMessage, 100)}
	s.cmd.Env, s.cmd.Dir = m.env(), m.root
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.got)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			s.mu.Lock()
			s.said.WriteString(lines.Text() + "\n")
			s.mu.Unlock()
			s.got <- json.RawMessage(strings.Clone(lines.Text()))
		}
	}()
	s.ask(t, "initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "agent", "version": "1"}})
	s.send(t, map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
	return s
}

func (s *server) send(t testing.TB, message any) {
	b, err := json.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = s.in.Write(append(b, '\n')) // one that was killed answers nothing, which is seen below
}

// ask sends a request and returns its result; nil where the server is gone.
func (s *server) ask(t testing.TB, method string, params any) json.RawMessage {
	t.Helper()
	s.last++
	s.send(t, map[string]any{"jsonrpc": "2.0", "id": s.last, "method": method, "params": params})
	timeout := time.After(time.Minute)
	for {
		select {
		case line, ok := <-s.got:
			if !ok {
				return nil
			}
			var answer struct {
				ID     int             `json:"id"`
				Result json.RawMessage `json:"result"`
			}
			if json.Unmarshal(line, &answer) == nil && answer.ID == s.last && answer.Result != nil {
				return answer.Result
			}
		case <-timeout:
			t.Fatalf("no answer to %s", method)
		}
	}
}

// result is what the suite reads of a call's.
type result struct {
	Verdict  string `json:"verdict"`
	ExitCode *int   `json:"exit_code"`
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	Reason   string `json:"reason"`
	OutputID string `json:"output_id"`
	text     string
}

// call calls a tool.
func (s *server) call(t testing.TB, tool string, args map[string]any) result {
	t.Helper()
	raw := s.ask(t, "tools/call", map[string]any{"name": tool, "arguments": args})
	var r struct {
		StructuredContent result `json:"structuredContent"`
		Content           []struct{ Text string }
	}
	_ = json.Unmarshal(raw, &r)
	for _, c := range r.Content {
		r.StructuredContent.text += c.Text
	}
	return r.StructuredContent
}

// end closes the pipe and waits for the server.
func (s *server) end() {
	s.in.Close()
	timer := time.AfterFunc(20*time.Second, func() { _ = s.cmd.Process.Kill() })
	for range s.got {
	}
	_ = s.cmd.Wait()
	timer.Stop()
}

func (s *server) has(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(s.said.String(), text)
}

// step is one call of an agent.
type step struct {
	tool string
	args map[string]any
}

func bash(command string) step { return step{"safe_bash", map[string]any{"command": command}} }

func write(path, content string) step {
	return step{"safe_write", map[string]any{"path": path, "content": content}}
}

// hidden runs a script as code of the project that no rule can read.
func hidden(script string) []step {
	return []step{write("hidden.sh", ": > ran\n"+script), write("Makefile", "all:\n\t@bash hidden.sh\n"), bash("make -s")}
}

// plain does a step as a program with the user's rights would.
func (st step) plain(m *machine, env []string) string {
	path, _ := st.args["path"].(string)
	if st.tool == "safe_write" {
		if !filepath.IsAbs(path) {
			path = filepath.Join(m.root, path)
		}
		_ = os.MkdirAll(filepath.Dir(path), 0o755)
		return fmt.Sprint(os.WriteFile(path, []byte(st.args["content"].(string)), 0o644))
	}
	cmd := exec.Command("/bin/bash", "-c", st.args["command"].(string))
	cmd.Env, cmd.Dir = env, m.root
	if st.args["background"] == true {
		return fmt.Sprint(cmd.Start())
	}
	out, err := cmd.CombinedOutput()
	return fmt.Sprintf("%v: %s", err, out)
}
