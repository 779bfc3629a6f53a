// Package examples holds files for users to copy. Its test loads every one.
package examples

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"handrail/internal/config"
)

// server is how a client's file starts a server, whatever the client calls it.
type server struct {
	command string
	args    []string
}

// find looks for the entry "handrail" anywhere in a file.
func find(v any) (server, bool) {
	m, ok := v.(map[string]any)
	if !ok {
		return server{}, false
	}
	for name, value := range m {
		if name == "handrail" {
			return read(value)
		}
		if s, ok := find(value); ok {
			return s, true
		}
	}
	return server{}, false
}

func read(v any) (s server, ok bool) {
	entry, _ := v.(map[string]any)
	list := func(v any) (words []string) {
		items, _ := v.([]any)
		for _, item := range items {
			words = append(words, fmt.Sprint(item))
		}
		return words
	}
	switch command := entry["command"].(type) {
	case string:
		s = server{command, list(entry["args"])}
	case []any:
		words := list(command)
		s = server{words[0], words[1:]}
	default:
		cmd, _ := entry["cmd"].(string)
		s = server{cmd, list(entry["args"])}
	}
	return s, s.command != ""
}

func parse(t *testing.T, path string) any {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	switch filepath.Ext(path) {
	case ".json":
		dec := json.NewDecoder(bytes.NewReader(data))
		if err := dec.Decode(&v); err != nil || dec.More() {
			t.Fatalf("%s: %v", path, err)
		}
	case ".yaml":
		if err := yaml.Unmarshal(data, &v); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	case ".toml":
		v = parseTOML(t, path, string(data))
	default:
		t.Fatalf("%s: what is this?", path)
	}
	return v
}

// parseTOML reads the little of TOML that the examples use: tables of
// assignments whose values are JSON too.
func parseTOML(t *testing.T, path, text string) any {
	t.Helper()
	top := map[string]any{}
	table := top
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if name, ok := strings.CutPrefix(line, "["); ok {
			table = top
			for _, part := range strings.Split(strings.TrimSuffix(name, "]"), ".") {
				next := map[string]any{}
				table[part] = next
				table = next
			}
			continue
		}
		key, value, ok := strings.Cut(line, " = ")
		var v any
		if err := json.Unmarshal([]byte(value), &v); !ok || err != nil {
			t.Fatalf("%s:%d: %v", path, n+1, err)
		}
		table[key] = v
	}
	return top
}

func TestClients(t *testing.T) {
	dir := t.TempDir()
	binary := filepath.Join(dir, "handrail")
	if out, err := exec.Command("go", "build", "-o", binary, "handrail").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("clients/*")
	if err != nil || len(files) < 10 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			if !bytes.Contains(readme, []byte("`"+file+"`")) {
				t.Error("README.md does not say where it goes")
			}
			s, ok := find(parse(t, file))
			if !ok {
				t.Fatal("no entry that starts handrail")
			}
			if filepath.Base(s.command) != "handrail" {
				t.Fatalf("it starts %s", s.command)
			}
			answers(t, binary, s.args)
		})
	}
}

// answers starts the server as the client would and greets it.
func answers(t *testing.T, binary string, args []string) {
	t.Helper()
	home, project := t.TempDir(), t.TempDir()
	for i, a := range args {
		args[i] = strings.NewReplacer("/PATH/TO/PROJECT", project, "${workspaceFolder}", project).Replace(a)
	}
	cmd := exec.Command(binary, args...)
	cmd.Dir = project
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"example","version":"1"}}}`)
	line, err := bufio.NewReader(out).ReadString('\n')
	var answer struct {
		Result struct {
			ServerInfo struct{ Name string }
		}
	}
	if err != nil || json.Unmarshal([]byte(line), &answer) != nil || answer.Result.ServerInfo.Name != "handrail" {
		t.Errorf("answer %q, %v", line, err)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

func TestConfig(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	data, err := os.ReadFile("config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(own, data, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(own, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := config.Default()
	if err != nil {
		t.Fatal(err)
	}
	if c.Approval.AskTimeout != d.Approval.AskTimeout || c.Fallback != d.Fallback || c.Profile != d.Profile {
		t.Errorf("%+v", c)
	}
}
