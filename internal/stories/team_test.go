//go:build linux

package stories

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"handrail/internal/testkit"
)

// nobody is the user as whom a hosted server runs where the test runs as root,
// which it refuses.
const nobody = 23456

// team is a hosted server of the real binary, with a home and the workspaces of
// alice and bob.
type team struct {
	t      *testing.T
	dir    string
	bin    string
	server *exec.Cmd
	log    output
	url    string
	client *http.Client
	root   bool // root starts it, and makes others of its parts
}

// teamOf makes the place of a server. WORK in the configuration stands for the
// directory of the workspaces, DIR for that of everything.
func teamOf(t *testing.T, config string) *team {
	t.Helper()
	testkit.Require(t, "bwrap", "apt-get install bubblewrap")
	dir, err := os.MkdirTemp("/tmp", "handrail-team-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	tm := &team{t: t, dir: dir, bin: filepath.Join(dir, "handrail"), client: &http.Client{Transport: &http.Transport{}}}
	t.Cleanup(tm.client.CloseIdleConnections)
	data, err := os.ReadFile(binary(t))
	if err == nil {
		err = os.WriteFile(tm.bin, data, 0o755)
	}
	if err == nil {
		err = os.MkdirAll(filepath.Join(dir, "home/.config/handrail"), 0o700)
	}
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "work"), 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	tm.write("home/.config/handrail/config.yaml", config)
	return tm
}

// write writes a file of the server's user.
func (tm *team) write(name, content string) {
	tm.t.Helper()
	content = strings.NewReplacer("WORK", tm.dir+"/work", "DIR", tm.dir).Replace(content)
	if err := os.WriteFile(filepath.Join(tm.dir, name), []byte(content), 0o600); err != nil {
		tm.t.Fatal(err)
	}
	tm.give()
}

// give makes everything the user's.
func (tm *team) give() {
	if os.Geteuid() != 0 {
		return
	}
	_ = filepath.WalkDir(tm.dir, func(path string, _ os.DirEntry, _ error) error { return os.Lchown(path, nobody, nobody) })
}

// output is what the server says, while it says it.
type output struct {
	sync.Mutex
	bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.Lock()
	defer o.Unlock()
	return o.Buffer.Write(b)
}

// said is the log of the server so far.
func (tm *team) said() string {
	tm.log.Lock()
	defer tm.log.Unlock()
	return tm.log.Buffer.String()
}

// command is the program, run by the server's user.
func (tm *team) command(args ...string) *exec.Cmd {
	cmd := exec.Command(tm.bin, args...)
	cmd.Dir = tm.dir
	cmd.Env = []string{"HOME=" + tm.dir + "/home", "PATH=" + os.Getenv("PATH"), "DEPLOY_TOKEN=the-deploy-token-of-the-server"}
	if os.Geteuid() == 0 && !tm.root {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	return cmd
}

// run runs the program to its end and returns its output.
func (tm *team) run(args ...string) (string, error) {
	out, err := tm.command(args...).CombinedOutput()
	return string(out), err
}

// must is run that works.
func (tm *team) must(args ...string) string {
	tm.t.Helper()
	out, err := tm.run(args...)
	if err != nil {
		tm.t.Fatalf("handrail %v: %v\n%s", args, err, out)
	}
	return out
}

// token makes a token of a principal.
func (tm *team) token(principal string, flags ...string) string {
	tm.t.Helper()
	for _, word := range strings.Fields(tm.must(append(append([]string{"token", "create"}, flags...), principal)...)) {
		if strings.HasPrefix(word, "hrt_") {
			return word
		}
	}
	tm.t.Fatal("no token was printed")
	return ""
}

// start starts the server and waits until it listens.
func (tm *team) start(args ...string) {
	tm.t.Helper()
	tm.server = tm.command(append([]string{"serve", "--transport", "http", "--listen", "127.0.0.1:0", "--log-format", "json", "--log-level", "debug"}, args...)...)
	tm.server.Stderr = &tm.log
	out, err := tm.server.StdoutPipe()
	if err == nil {
		err = tm.server.Start()
	}
	if err != nil {
		tm.t.Fatal(err)
	}
	tm.t.Cleanup(tm.stop)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if at, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			tm.url = at
			go io.Copy(io.Discard, out)
			return
		}
	}
	_ = tm.server.Wait()
	tm.t.Fatalf("the server does not listen: %s", tm.said())
}

// stop ends the server as an operator would, and it must end well.
func (tm *team) stop() {
	if tm.server == nil || tm.server.ProcessState != nil {
		return
	}
	tm.server.Process.Signal(syscall.SIGTERM)
	if err := tm.server.Wait(); err != nil {
		tm.t.Errorf("the server ended with %v: %s", err, tm.said())
	}
	if strings.Contains(tm.said(), "hrt_") || strings.Contains(tm.said(), "the-deploy-token") {
		tm.t.Errorf("a secret is in the log: %s", tm.said())
	}
}

// caller is one session of a principal.
type caller struct {
	tm             *team
	token, session string
	id             int
}

// result is what a call came to.
type result struct {
	Verdict, Rule, Reason, Stdout, Stderr, Content string
	OutputID                                       string `json:"output_id"`
	Running                                        bool
	ExitCode                                       *int `json:"exit_code"`
	text                                           string
}

// post sends one message and returns the answer to it.
func (c *caller) post(ctx context.Context, method string, params any) (status int, head http.Header, answer json.RawMessage, err error) {
	c.id++
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.id, "method": method, "params": params})
	if err != nil {
		return 0, nil, nil, err
	}
	r, err := http.NewRequestWithContext(ctx, "POST", c.tm.url+"/mcp", bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+c.token)
	if c.session != "" {
		r.Header.Set("Mcp-Session-Id", c.session)
	}
	res, err := c.tm.client.Do(r)
	if err != nil {
		return 0, nil, nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	for _, line := range bytes.Split(text, []byte("\n")) {
		line = bytes.TrimPrefix(line, []byte("data: "))
		var m struct {
			ID     int
			Result json.RawMessage
		}
		if json.Unmarshal(line, &m) == nil && m.ID == c.id {
			answer = m.Result
		}
	}
	return res.StatusCode, res.Header, answer, err
}

// session opens a session.
func (tm *team) session(token string) *caller {
	tm.t.Helper()
	c := &caller{tm: tm, token: token}
	status, head, _, err := c.post(tm.t.Context(), "initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "story", "version": "1"}})
	if err != nil || status != 200 {
		tm.t.Fatalf("initialize: %d, %v\n%s", status, err, tm.said())
	}
	c.session = head.Get("Mcp-Session-Id")
	return c
}

// call calls a tool.
func (c *caller) call(tool string, arguments map[string]any) result {
	c.tm.t.Helper()
	status, _, answer, err := c.post(c.tm.t.Context(), "tools/call", map[string]any{"name": tool, "arguments": arguments})
	if err != nil || status != 200 {
		c.tm.t.Fatalf("%s %v: %d, %v\n%s", tool, arguments, status, err, c.tm.said())
	}
	return read(c.tm.t, answer)
}

func read(t *testing.T, answer json.RawMessage) result {
	t.Helper()
	var whole struct {
		StructuredContent result
		Content           []struct{ Text string }
	}
	if err := json.Unmarshal(answer, &whole); err != nil {
		t.Fatalf("%s: %v", answer, err)
	}
	r := whole.StructuredContent
	for _, part := range whole.Content {
		r.text += part.Text
	}
	return r
}

func (c *caller) bash(command string) result {
	c.tm.t.Helper()
	return c.call("safe_bash", map[string]any{"command": command})
}

// runs reports whether a process of this machine has word in its command line.
func runs(word string) bool {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if data, err := os.ReadFile(f); err == nil && strings.Contains(strings.ReplaceAll(string(data), "\x00", " "), word) {
			return true
		}
	}
	return false
}

// eventually waits for something that comes soon.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("in vain: " + what)
		}
	}
}
