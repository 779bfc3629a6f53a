// Package ollamatest runs a real Ollama server with tiny models whose weights
// are set by hand, so that their answers are known. It is for tests only.
package ollamatest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"handrail/internal/testkit"
)

// Server is a private server on a port of its own, with its own home and store
// of models. It ends with the test that started it, also where that is killed.
type Server struct {
	// URL is where it listens, on loopback.
	URL *url.URL

	command *exec.Cmd
	hold    io.Closer     // closed, it ends the server
	ended   chan struct{} // closed when the processes are gone
	log     string        // a file
}

var listening = regexp.MustCompile(`Listening on (127\.0\.0\.1:\d+)`)

// Start starts a server with every model of this package. env are settings of
// the server besides its own, as KEY=VALUE. Where there is no server program
// the test is skipped, or fails when HANDRAIL_REQUIRE is "all".
func Start(t testing.TB, env ...string) *Server {
	t.Helper()
	program := Program(t)
	home := t.TempDir()
	s := &Server{command: serve(program), ended: make(chan struct{}), log: filepath.Join(home, "log")}
	s.command.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "OLLAMA_MODELS=" + filepath.Join(home, "models"),
		"OLLAMA_HOST=127.0.0.1:0", "OLLAMA_NO_CLOUD=1", "OLLAMA_NOPRUNE=1",
		"OLLAMA_KEEP_ALIVE=1m", "OLLAMA_LOAD_TIMEOUT=1m",
		"OLLAMA_FLASH_ATTENTION=0", // slower on a plain processor
	}, append(strings.Fields(os.Getenv("HANDRAIL_OLLAMA_ENV")), env...)...)
	log, err := os.Create(s.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	s.command.Stdout, s.command.Stderr = log, log
	if s.hold, err = s.command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := s.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		s.command.Wait()
		close(s.ended)
	}()
	t.Cleanup(func() {
		s.end()
		if t.Failed() {
			t.Logf("the server's log ends with:\n%s", s.tail(40))
		}
	})
	if s.URL = s.address(); s.URL == nil {
		t.Fatalf("%s serve does not listen:\n%s", program, s.tail(20))
	}
	if err := s.install(); err != nil {
		t.Fatal(err)
	}
	return s
}

// Program is the path of the Ollama server for tests: what HANDRAIL_OLLAMA
// names, the one that .ci/ollama built, or the one in PATH. Where there is none
// the test is skipped, or fails when HANDRAIL_REQUIRE is "all".
func Program(t testing.TB) string {
	t.Helper()
	if p := os.Getenv("HANDRAIL_OLLAMA"); p != "" {
		if _, err := exec.LookPath(p); err != nil {
			t.Fatalf("HANDRAIL_OLLAMA: %v", err)
		}
		return p
	}
	if dir, err := os.UserCacheDir(); err == nil {
		if p, err := exec.LookPath(filepath.Join(dir, "handrail", "ollama", "bin", "ollama")); err == nil {
			return p
		}
	}
	return testkit.Require(t, "ollama", ".ci/ollama")
}

// Kill ends the server and its runners at once, as a crash would.
func (s *Server) Kill() {
	killAll(s.command)
	<-s.ended
}

// end ends the server, which ends its runners, and kills what is left.
func (s *Server) end() {
	s.hold.Close()
	select {
	case <-s.ended:
	case <-time.After(5 * time.Second):
		s.Kill()
	}
}

// address waits until the server says where it listens; nil: it does not.
func (s *Server) address() *url.URL {
	late := time.After(time.Minute)
	for {
		log, err := os.ReadFile(s.log)
		if m := listening.FindSubmatch(log); err == nil && m != nil {
			return &url.URL{Scheme: "http", Host: string(m[1])}
		}
		select {
		case <-s.ended:
			return nil
		case <-late:
			return nil
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// tail is the last n lines of the server's log.
func (s *Server) tail(n int) string {
	log, err := os.ReadFile(s.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.SplitAfter(string(log), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "")
}

// install creates every model.
func (s *Server) install() error {
	for _, m := range models {
		file, err := m.file()
		if err != nil {
			return err
		}
		template := m.template
		if template == "" {
			template = conversation
		}
		if err := s.create(m.name, file, template, m.parser); err != nil {
			return err
		}
	}
	file, err := random(randomModel, 1)
	if err != nil {
		return err
	}
	return s.create(randomModel, file, conversation, "")
}

func (s *Server) create(name string, file []byte, template, parser string) error {
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(file))
	if err := s.post("/api/blobs/"+digest, bytes.NewReader(file), nil); err != nil {
		return fmt.Errorf("model %s: %w", name, err)
	}
	request, err := json.Marshal(map[string]any{
		"model": name, "files": map[string]string{name + ".gguf": digest}, "stream": false,
		"template": template, "parser": parser,
		// One thread: more of them wait for each other longer than they work.
		"parameters": map[string]any{"temperature": 0, "repeat_penalty": 1.0, "num_thread": 1},
	})
	if err != nil {
		return err
	}
	if err := s.post("/api/create", bytes.NewReader(request), nil); err != nil {
		return fmt.Errorf("model %s: %w", name, err)
	}
	return nil
}

// Rendered is the prompt that the server makes of body, the JSON of a request to
// /api/chat: what the model would read.
func (s *Server) Rendered(body []byte) (string, error) {
	var request map[string]any
	if err := json.Unmarshal(body, &request); err != nil {
		return "", err
	}
	request["_debug_render_only"] = true
	changed, err := json.Marshal(request)
	if err != nil {
		return "", err
	}
	var answer struct {
		Debug *struct {
			Rendered string `json:"rendered_template"`
		} `json:"_debug_info"`
	}
	if err := s.post("/api/chat", bytes.NewReader(changed), &answer); err != nil {
		return "", err
	}
	if answer.Debug == nil {
		return "", fmt.Errorf("the server did not render the prompt")
	}
	return answer.Debug.Rendered, nil
}

// post sends body and reads the JSON answer into result, unless that is nil.
func (s *Server) post(path string, body io.Reader, result any) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL.String()+path, body)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode >= 300 {
		return fmt.Errorf("%s: %s: %s", path, answer.Status, bytes.TrimSpace(text))
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(text, result)
}
