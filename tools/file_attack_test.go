package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"handrail/elicit"
	"handrail/guard"
	"handrail/tools/place"
)

// TestSpecialFiles: nothing but a regular file is opened, and nothing hangs.
func TestSpecialFiles(t *testing.T) {
	b := newBench(t)
	if err := errors.Join(syscall.Mkfifo(b.root+"/fifo", 0o644), os.Mkdir(b.root+"/dir", 0o755), os.Symlink("/dev/zero", b.root+"/zero"), os.Symlink("loop", b.root+"/loop")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"fifo": "FIFO", "dir": "directory", "zero": "character device", "/dev/tty": "device", "/dev/null": "device", "missing": "no such file", "/": "directory", "loop": "",
		"/proc/self/environ": "own process", "/proc/thread-self/environ": "own process", "/dev/stdin": "own process", "/dev/stdout": "own process", "/proc/self/fd/0": "own process", fmt.Sprintf("/proc/%d/environ", os.Getpid()): "own process"} {
		for tool, args := range map[string]map[string]any{
			Read:  {"path": path},
			Write: {"path": path, "content": "x"},
			Edit:  {"path": path, "old_string": "a", "new_string": "b"},
		} {
			if path == "missing" && tool != Read {
				continue
			}
			done := make(chan *Result, 1)
			go func() { done <- b.call(t, tool, args, nil) }()
			select {
			case res := <-done:
				if !res.IsError || !strings.Contains(res.Text, want) {
					t.Errorf("%s %s: %q lacks %q", tool, path, res.Text, want)
				}
			case <-time.After(20 * time.Second):
				t.Fatalf("%s %s hangs", tool, path)
			}
		}
	}
}

// TestQuestionNamesOneFile: a name with line ends cannot pass for another name
// and its content.
func TestQuestionNamesOneFile(t *testing.T) {
	b := newBench(t)
	b.Guard.Default[0].Evaluate = func(p *guard.Pass) { p.Report(0, guard.VerdictAsk, "a question", "") }
	name := "ok.txt (2 bytes):\nhi\nrest"
	b.write(t, name, "old")
	for tool, args := range map[string]map[string]any{
		Read: {"path": name}, Write: {"path": name, "content": "new"}, Edit: {"path": name, "old_string": "old", "new_string": "new"},
	} {
		var shown string
		b.call(t, tool, args, person(func(_ context.Context, q elicit.Question) (elicit.Answer, error) {
			shown = q.Command
			return elicit.Answer{Outcome: elicit.Declined}, nil
		}))
		if first, _, _ := strings.Cut(shown, "\n"); !strings.Contains(first, `hi\nrest"`) {
			t.Errorf("%s: the first line does not name the file: %q", tool, shown)
		}
	}
}

// TestHiddenCharacters: a file that reorders or smuggles text is shown as it is,
// and says so.
func TestHiddenCharacters(t *testing.T) {
	b := newBench(t)
	b.write(t, "trojan.go", "if a /*\u202e } \u2066if*/ {\nplain\n")
	res := b.call(t, Read, map[string]any{"path": "trojan.go"}, nil)
	if !strings.Contains(res.Content, `\u{202e} } \u{2066}if`) || strings.ContainsRune(res.Text, 0x202e) || !strings.Contains(res.Text, "hide or reorder") {
		t.Errorf("%q", res.Text)
	}
	res = b.call(t, Edit, map[string]any{"path": "trojan.go", "old_string": `\u{202e} }`, "new_string": "x"}, nil)
	if !res.IsError || !strings.Contains(res.Text, "the hidden character itself") {
		t.Errorf("%q", res.Text)
	}
	if res = b.call(t, Edit, map[string]any{"path": "trojan.go", "old_string": "plain", "new_string": "x"}, nil); res.IsError || strings.ContainsRune(res.Text, 0x202e) {
		t.Errorf("%q", res.Text)
	}
}

// TestSetIDBitsGo: new content does not run with the rights that the old had.
func TestSetIDBitsGo(t *testing.T) {
	b := newBench(t)
	path := b.write(t, "tool", "old\n")
	for _, args := range []struct {
		tool string
		args map[string]any
	}{{Write, map[string]any{"path": "tool", "content": "new\n"}}, {Edit, map[string]any{"path": "tool", "old_string": "new", "new_string": "newer"}}} {
		if err := os.Chmod(path, 0o755|os.ModeSetuid|os.ModeSetgid); err != nil {
			t.Fatal(err)
		}
		if res := b.call(t, args.tool, args.args, nil); res.IsError {
			t.Fatalf("%+v", res)
		}
		if st, err := os.Stat(path); err != nil || st.Mode() != 0o755 {
			t.Errorf("after %s: %v %v", args.tool, st.Mode(), err)
		}
	}
}

// TestLinks: what is judged is where a link leads, and that is what is written.
func TestLinks(t *testing.T) {
	b := newBench(t)
	outside := resolved(t.TempDir())
	if err := errors.Join(os.WriteFile(outside+"/forbidden", []byte("x"), 0o644), os.Symlink(outside+"/forbidden", b.root+"/link"),
		os.Symlink(outside, b.root+"/dir"), os.Symlink("inside", b.root+"/ok"), os.WriteFile(b.root+"/inside", []byte("x"), 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"link", "dir/forbidden", "dir/../" + filepath.Base(outside) + "/forbidden", outside + "/forbidden"} {
		for tool, args := range map[string]map[string]any{
			Read: {"path": path}, Write: {"path": path, "content": "y"}, Edit: {"path": path, "old_string": "x", "new_string": "y"},
		} {
			if res := b.call(t, tool, args, says(elicit.Approved, elicit.AllowOnce)); res.Rule != "test/forbidden" {
				t.Errorf("%s %s: %+v", tool, path, res)
			}
		}
	}
	if res := b.call(t, Write, map[string]any{"path": "ok", "content": "y"}, nil); res.IsError || b.content(t, "inside") != "y" || res.Path != b.root+"/inside" {
		t.Errorf("%+v", res)
	}
	if st, err := os.Lstat(b.root + "/ok"); err != nil || st.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced")
	}
}

// TestHardLinks: writing a file that has other names is asked; reading is not.
func TestHardLinks(t *testing.T) {
	b := newBench(t)
	if err := os.Link(b.write(t, "one", "x\n"), b.root+"/two"); err != nil {
		t.Skip(err)
	}
	if res := b.call(t, Read, map[string]any{"path": "one"}, nil); res.IsError {
		t.Errorf("%+v", res)
	}
	args := map[string]any{"path": "one", "content": "y"}
	if res := b.call(t, Write, args, nil); res.Verdict != guard.VerdictAsk || b.content(t, "one") != "x\n" {
		t.Errorf("%+v", res)
	}
	if res := b.call(t, Write, args, says(elicit.Approved, elicit.AllowOnce)); res.IsError || b.content(t, "one") != "y" || b.content(t, "two") != "x\n" {
		t.Errorf("%+v", res)
	}
}

// TestStaleWrite: a change by somebody else between reading and writing is
// neither lost nor overwritten.
func TestStaleWrite(t *testing.T) {
	b := newBench(t)
	path := b.write(t, "f", "old")
	other := b.write(t, "other", "theirs")
	s, err := place.OpenSlot(path, false, false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Read(maxText); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	if err := s.Put([]byte("ours")); !errors.Is(err, place.ErrStale) || b.content(t, "f") != "theirs" {
		t.Errorf("%v, content %q", err, b.content(t, "f"))
	}
	fresh, err := place.OpenSlot(b.root+"/new", false, false)
	if err != nil {
		t.Fatal(err)
	}
	defer fresh.Close()
	b.write(t, "new", "theirs")
	if err := fresh.Put([]byte("ours")); !errors.Is(err, place.ErrStale) || b.content(t, "new") != "theirs" {
		t.Errorf("%v, content %q", err, b.content(t, "new"))
	}
	leftovers(t, b.root)
}

// TestSwapRace: while a directory and a link that leads outside change places,
// no read shows the outside file, and no write or edit reaches it.
func TestSwapRace(t *testing.T) {
	b := newBench(t)
	outside := resolved(t.TempDir())
	secret := outside + "/f"
	b.write(t, "d/f", "inside\n")
	if err := errors.Join(os.WriteFile(secret, []byte("forbidden\n"), 0o644), os.Symlink(outside, b.root+"/evil")); err != nil {
		t.Fatal(err)
	}
	b.Guard.Rules = append(b.Guard.Rules, guard.Rule{ID: "test/outside", Evaluate: func(p *guard.Pass) {
		for i, e := range p.Facts.Effects {
			if !below(e.Target, p.Roots) {
				p.Report(i, guard.VerdictDeny, "outside", "")
			}
		}
	}})
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !stop.Load() {
			_ = place.Exchange(unix.AT_FDCWD, b.root+"/d", b.root+"/evil")
		}
	}()
	defer func() { stop.Store(true); <-done }()
	ran := map[string]int{}
	for i := range 600 {
		for tool, args := range map[string]map[string]any{
			Read:  {"path": "d/f"},
			Write: {"path": "d/f", "content": fmt.Sprintf("inside %d\n", i)},
			Edit:  {"path": "d/f", "old_string": "inside", "new_string": "inside"[:6] + "!"},
			Bash:  {"command": "cat f", "cwd": "d"},
		} {
			if tool == Bash && i%5 != 0 {
				continue
			}
			res := b.call(t, tool, args, nil)
			if strings.Contains(res.Text, "forbidden\n") || strings.Contains(res.Stdout, "forbidden") {
				t.Fatalf("%s: read outside: %+v", tool, res)
			}
			if !res.IsError {
				ran[tool]++
			}
		}
		if got, err := os.ReadFile(secret); err != nil || !bytes.Equal(got, []byte("forbidden\n")) {
			t.Fatalf("the outside file is %q, %v", got, err)
		}
	}
	if entries, _ := os.ReadDir(outside); len(entries) != 1 {
		t.Errorf("%d files outside", len(entries))
	}
	t.Logf("of 600 calls each ran: %v", ran)
	for _, tool := range []string{Read, Write} {
		if ran[tool] == 0 {
			t.Errorf("%s never succeeded: the test shows nothing", tool)
		}
	}
}
