package store

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"handrail/elicit"
	"handrail/guard"
)

// child is what a process of the tests does with the store at STORE_TEST_PLACE.
func child(role string) int {
	if err := work(role); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func work(role string) error {
	ctx := context.Background()
	s, err := Open(ctx, Options{Place: os.Getenv("STORE_TEST_PLACE"), Redact: redact})
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	name := os.Getenv("STORE_TEST_NAME")
	switch role {
	case "write": // a bit of everything
		for i := range 25 {
			c, d := call(fmt.Sprintf("tool%s x%d", name, i))
			w, err := s.Leave(ctx, Waiting{Question: elicit.Question{Digest: d.Digest, Tool: c.ToolName, Command: "x"}})
			if err != nil {
				return err
			}
			if _, err := s.Answer(ctx, w.ID, elicit.AllowOnce, name, time.Time{}); err != nil {
				return err
			}
			s.Note(Note{At: time.Now(), CallID: name, Call: c, Decision: d})
		}
	case "spend": // take what the others leave
		l, won := NewLedger(s, believed), 0
		for i := range 60 {
			c, d := call("mytool x" + strconv.Itoa(i))
			_, ok, err := l.Cover(ctx, c, d)
			if err != nil {
				return err
			}
			if ok {
				won++
			}
		}
		fmt.Println("won", won)
	case "leave": // the same calls as all others
		for i := range 40 {
			c, d := call("mytool x" + strconv.Itoa(i))
			w, err := s.Leave(ctx, Waiting{Question: elicit.Question{Digest: d.Digest, Tool: c.ToolName}})
			if err != nil {
				return err
			}
			fmt.Println(i, w.ID)
		}
	case "forever": // name every grant that is kept
		for {
			k, err := s.Keep(ctx, Kept{Scope: guard.Session, Digest: "d", Session: "s"})
			if err != nil {
				return err
			}
			fmt.Println(k.ID)
		}
	}
	return nil
}

// process starts this test program in a role, and waits until it has opened the
// store.
func process(t *testing.T, role, place, name string) (cmd *exec.Cmd, in io.WriteCloser, out *bufio.Reader) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "STORE_TEST_CHILD="+role, "STORE_TEST_PLACE="+place, "STORE_TEST_NAME="+name)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, in, bufio.NewReader(pipe)
}

// together runs eight processes in a role, all at once from the opening on, and
// returns what they said.
func together(t *testing.T, role, place string) (said []string) {
	t.Helper()
	type running struct {
		*exec.Cmd
		in  io.WriteCloser
		out *bufio.Reader
	}
	var all []running
	for i := range 8 {
		cmd, in, out := process(t, role, place, string(rune('a'+i)))
		all = append(all, running{cmd, in, out})
	}
	for _, p := range all {
		if line, err := p.out.ReadString('\n'); err != nil || line != "ready\n" {
			t.Errorf("a process did not open the store: %q, %v", line, err)
		}
	}
	for _, p := range all {
		io.WriteString(p.in, "go\n")
	}
	for _, p := range all {
		b, _ := io.ReadAll(p.out)
		said = append(said, string(b))
		if err := p.Wait(); err != nil {
			t.Errorf("a process failed: %v", err)
		}
	}
	return said
}

// Eight processes make the tables at the same time and then write.
func TestEightProcesses(t *testing.T) {
	everywhere(t, func(t *testing.T, place string) {
		together(t, "write", place)
		s := open(t, place)
		grants, err := s.Grants(t.Context(), true)
		if err != nil || len(grants) != 8*25 {
			t.Errorf("%d grants, %v", len(grants), err)
		}
		if all, err := s.WaitingCalls(t.Context(), true); err != nil || len(all) != 8*25 {
			t.Errorf("%d records, %v", len(all), err)
		}
		if list, err := s.History(t.Context(), time.Time{}, -1); err != nil || len(list) != 8*25 {
			t.Errorf("%d decisions, %v", len(list), err)
		}
	})
}

// Of eight processes that call what was approved once, one may.
func TestOnceIsSpentOnceByAllProcesses(t *testing.T) {
	everywhere(t, func(t *testing.T, place string) {
		s := open(t, place)
		for i := range 60 {
			w, _, _ := leave(t, s, "mytool x"+strconv.Itoa(i))
			if _, err := s.Answer(t.Context(), w.ID, elicit.AllowOnce, "ann", time.Time{}); err != nil {
				t.Fatal(err)
			}
		}
		won := 0
		for _, said := range together(t, "spend", place) {
			n, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(said, "won ")))
			if err != nil {
				t.Fatalf("%q", said)
			}
			won += n
		}
		if won != 60 {
			t.Errorf("60 once grants were spent %d times", won)
		}
	})
}

// The same call has one record, also where eight processes leave it at once: all
// are told the same ID.
func TestOneRecordForAllProcesses(t *testing.T) {
	everywhere(t, func(t *testing.T, place string) {
		all := together(t, "leave", place)
		for _, said := range all {
			if said != all[0] || strings.Count(said, "\n") != 40 {
				t.Fatalf("processes were told different records:\n%s\n%s", said, all[0])
			}
		}
		list, err := open(t, place).WaitingCalls(t.Context(), false)
		if err != nil || len(list) != 40 {
			t.Fatalf("%d records, %v", len(list), err)
		}
		for _, w := range list {
			if w.Times > 8 {
				t.Errorf("%d calls are counted", w.Times)
			}
		}
	})
}

// What a process was told is kept is there after it was killed, and nothing else
// is broken.
func TestKill(t *testing.T) {
	everywhere(t, func(t *testing.T, place string) {
		var told []string
		for range 3 {
			cmd, in, out := process(t, "forever", place, "")
			if line, err := out.ReadString('\n'); err != nil || line != "ready\n" {
				t.Fatalf("%q, %v", line, err)
			}
			io.WriteString(in, "go\n")
			for range 15 {
				id, err := out.ReadString('\n')
				if err != nil {
					t.Fatal(err)
				}
				told = append(told, strings.TrimSpace(id))
			}
			cmd.Process.Kill()
			cmd.Wait()
		}
		s := open(t, place)
		grants, err := s.Grants(t.Context(), true)
		if err != nil {
			t.Fatal(err)
		}
		have := map[string]bool{}
		for _, g := range grants {
			have[g.ID] = true
		}
		for _, id := range told {
			if !have[id] {
				t.Errorf("grant %s is lost", id)
			}
		}
		if s.pg {
			return
		}
		var sound string
		if err := s.db.QueryRow("PRAGMA integrity_check").Scan(&sound); err != nil || sound != "ok" {
			t.Errorf("the file is %q, %v", sound, err)
		}
	})
}
