package mcpserver

import (
	"os"
	"path/filepath"
	"testing"
)

// Calls that are allowed wait for a place. A refusal and a look at a file do not,
// and what changed while its call waited does not run.
func TestOnlyWhatRunsWaits(t *testing.T) {
	q := &Queue{All: 1, Each: 1, Waiting: 2}
	h := host(t, func(_ *Host, o *Options) { o.Queue = q })
	root := h.roots["alice"]
	keep := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	bash := func(command string) toolAnswer {
		_, a := h.modern("alice", 1, "tools/call", "safe_bash", params("safe_bash", map[string]any{"command": command}, nil))
		return a
	}
	for _, dir := range []string{"a", "b"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	point := func(to string) {
		t.Helper()
		link := filepath.Join(root, "link")
		_ = os.Remove(link)
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	point("a")
	keep("s.txt", "")
	first, second, third := make(chan toolAnswer, 1), make(chan toolAnswer, 1), make(chan toolAnswer, 1)
	go func() { first <- bash("touch begun; while [ ! -e go ]; do sleep 0.02; done; echo finished") }()
	until(t, "the command", func() bool { return exists(root, "begun") })
	put := func(to chan toolAnswer, name string) {
		_, a := h.modern("alice", 1, "tools/call", "safe_write", params("safe_write", write(name), nil))
		to <- a
	}
	go put(second, "link/second")
	until(t, "one that waits", func() bool { return waiting(q) == 1 })
	go put(third, "third.txt")
	until(t, "another that waits", func() bool { return waiting(q) == 2 })
	if a := bash("touch deny-it"); a.Structured.Verdict != "deny" || a.Structured.Rule != "test/named" {
		t.Errorf("a refusal: %+v", a)
	}
	if _, a := h.modern("alice", 1, "tools/call", "safe_read", params("safe_read", map[string]any{"path": "s.txt"}, nil)); a.IsError {
		t.Errorf("a look at a file: %+v", a)
	}
	if a := bash("touch more"); a.Structured.Verdict != "deny" || a.Structured.Rule != "limits/queue" || exists(root, "more") {
		t.Errorf("one more than may wait: %+v", a)
	}
	select {
	case <-first:
		t.Fatal("nothing had to wait")
	default:
	}
	point("b")
	keep("go", "")
	if a := <-first; a.Structured.Stdout != "finished\n" {
		t.Errorf("%+v", a)
	}
	if a := <-second; a.Structured.Verdict != "deny" || a.Structured.Rule != "guard/changed" || exists(root, "a/second") || exists(root, "b/second") {
		t.Errorf("what changed meanwhile: %+v", a)
	}
	if a := <-third; a.IsError || !exists(root, "third.txt") {
		t.Errorf("%+v", a)
	}
	until(t, "the places are free", func() bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		return q.running == 0 && len(q.of) == 0
	})
}
