package mcpserver

import (
	"os"
	"path/filepath"
	"testing"

	"handrail/tools/history"
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

// What a call destroys is kept as it stands when the call runs, not when it began
// to wait, and one that is turned away is not in the history.
func TestKeptAfterTheWait(t *testing.T) {
	q := &Queue{All: 1, Each: 1, Waiting: 2}
	h := host(t, func(_ *Host, o *Options) { o.Queue = q })
	root := h.roots["alice"]
	kept, err := history.Open(filepath.Join(filepath.Dir(root), "history"), history.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	h.add = func(s *Server) { s.box.History = kept }
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
	later := func(n int, command string) chan toolAnswer {
		to := make(chan toolAnswer, 1)
		go func() { to <- bash(command) }()
		until(t, "one that waits", func() bool { return waiting(q) == n })
		return to
	}
	keep("notes", "old\n")
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
	first := make(chan toolAnswer, 1)
	go func() { first <- bash("touch begun; while [ ! -e go ]; do sleep 0.02; done") }()
	until(t, "the command", func() bool { return exists(root, "begun") })
	removes, changes := later(1, "rm notes"), later(2, "echo x > link/other")
	full := bash("touch more")
	keep("notes", "edited by a person\n")
	point("b")
	keep("go", "")
	<-first
	removed, changed := <-removes, <-changes
	if removed.IsError || exists(root, "notes") {
		t.Fatalf("%+v", removed)
	}
	for rule, a := range map[string]toolAnswer{"limits/queue": full, "guard/changed": changed} {
		if a.Structured.Rule != rule || exists(root, "a/other") || exists(root, "b/other") || exists(root, "more") {
			t.Errorf("%s: %+v", rule, a)
		}
		if r, err := kept.Find(a.Structured.CallID); err != history.ErrNone {
			t.Errorf("%s: a call that did not run is in the history: %+v, %v", rule, r, err)
		}
	}
	r, err := kept.Find(removed.Structured.CallID)
	if err != nil {
		t.Fatal(err)
	}
	if u, err := kept.Undo(t.Context(), r, history.Options{ID: "undo-1"}); err != nil || !u.Done {
		t.Fatalf("%+v, %v", u, err)
	}
	if b, err := os.ReadFile(filepath.Join(root, "notes")); err != nil || string(b) != "edited by a person\n" {
		t.Errorf("undo brought back %q, %v", b, err)
	}
}
