package audit

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"handrail/guard"
)

// TestMain lets the test binary be a second writer: with AUDIT_WRITER set it
// appends records to that log and says the number of each once it is durable.
func TestMain(m *testing.M) {
	path := os.Getenv("AUDIT_WRITER")
	if path == "" {
		os.Exit(m.Run())
	}
	var n int
	fmt.Sscan(os.Getenv("AUDIT_RECORDS"), &n)
	log, err := Open(path)
	if err == nil {
		fmt.Sscan(os.Getenv("AUDIT_ROTATE"), &log.Rotate.Size)
	}
	for i := 0; err == nil && i < n; i++ {
		r := record(fmt.Sprintf("echo %d %d", os.Getpid(), i))
		if err = log.Append(r); err == nil {
			fmt.Println(r.Seq)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func writer(t testing.TB, path string, records int) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "AUDIT_WRITER="+path, fmt.Sprint("AUDIT_RECORDS=", records))
	cmd.Stderr = os.Stderr
	return cmd
}

func record(command string) *Record {
	input, _ := json.Marshal(map[string]string{"command": command})
	return &Record{Event: Decision, Tool: "safe_bash", Input: input, Verdict: "allow", Reason: "it is harmless",
		Effects: []guard.Effect{{Kind: guard.Exec, Target: "echo", From: -1, Exact: true}}}
}

func logOf(t testing.TB, records int) (string, *Log) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state", "audit.jsonl")
	log, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	for i := range records {
		if err := log.Append(record(fmt.Sprint("echo <&> ", i))); err != nil {
			t.Fatal(err)
		}
	}
	return path, log
}

func mustVerify(t *testing.T, path string, records uint64) Report {
	t.Helper()
	report, err := Verify(path, "")
	if err != nil || report.Records != records {
		t.Fatalf("Verify = %+v, %v; want %d sound records", report, err, records)
	}
	return report
}

func TestModesAndChain(t *testing.T) {
	path, _ := logOf(t, 3)
	mustVerify(t, path, 3)
	for p, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		info, err := os.Stat(p)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("mode of %s is %v (%v), want %o", p, info.Mode().Perm(), err, want)
		}
	}
	data, _ := os.ReadFile(path)
	if !bytes.Contains(data, []byte("echo <&> 1")) {
		t.Error("the command is not readable in the log")
	}
}

func TestEightProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	const writers, each = 8, 200
	var all sync.WaitGroup
	for range writers {
		cmd := writer(t, path, each)
		all.Go(func() {
			if err := cmd.Run(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	mustVerify(t, path, writers*each)
}

func TestConcurrentCalls(t *testing.T) {
	path, log := logOf(t, 0)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			for range 10 {
				if err := log.Append(record("true")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	mustVerify(t, path, 200)
}

// Every way of changing the file is found, with the line.
func TestTampering(t *testing.T) {
	type lines = [][]byte
	for _, c := range []struct {
		name   string
		change func(lines) lines
		line   int
	}{
		{"altered", func(l lines) lines { l[3] = bytes.Replace(l[3], []byte("echo"), []byte("eXho"), 1); return l }, 4},
		{"altered verdict of the last", func(l lines) lines {
			l[9] = bytes.Replace(l[9], []byte(`"allow"`), []byte(`"deny"`), 1)
			return l
		}, 10},
		{"blank added", func(l lines) lines { l[3] = append(l[3], ' '); return l }, 4},
		{"removed", func(l lines) lines { return append(l[:4], l[5:]...) }, 5},
		{"first removed", func(l lines) lines { return l[1:] }, 1},
		{"reordered", func(l lines) lines { l[5], l[6] = l[6], l[5]; return l }, 6},
		{"repeated", func(l lines) lines { return append(l[:6:6], l[5:]...) }, 7},
		{"truncated", func(l lines) lines { l[7] = l[7][:40]; return l }, 8},
		{"emptied", func(l lines) lines { l[2] = nil; return l }, 3},
		{"garbage added at the end", func(l lines) lines { return append(l, []byte("{}")) }, 11},
		{"resealed", func(l lines) lines { // with its own hash made right again
			var r Record
			json.Unmarshal(l[3], &r)
			r.Verdict = "deny"
			line, _ := seal(&r)
			l[3] = bytes.TrimSpace(line)
			return l
		}, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			path, _ := logOf(t, 10)
			data, _ := os.ReadFile(path)
			l := c.change(bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n")))
			if err := os.WriteFile(path, append(bytes.Join(l, []byte("\n")), '\n'), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Verify(path, "")
			var fault Fault
			if !errors.As(err, &fault) || fault.Line != c.line {
				t.Errorf("Verify: %v; want a fault in line %d", err, c.line)
			}
		})
	}
}

// No bit of the log can change unnoticed.
func TestEveryBit(t *testing.T) {
	path, _ := logOf(t, 3)
	data, _ := os.ReadFile(path)
	for i := range data {
		for bit := range 8 {
			changed := bytes.Clone(data)
			changed[i] ^= 1 << bit
			if report, err := verify(bytes.NewReader(changed), ""); err == nil && len(report.Torn) == 0 {
				t.Fatalf("bit %d of byte %d (%q) changed unnoticed", bit, i, data[i])
			}
		}
	}
}

// A torn end is told, and the chain goes on after it, whatever was torn.
func TestTornEnd(t *testing.T) {
	path, log := logOf(t, 5)
	log.Close()
	whole, _ := os.ReadFile(path)
	last := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	for _, c := range []struct {
		name    string
		content []byte
		records uint64 // before and including the two that are appended
		torn    int
	}{
		{"half a line", whole[:last+30], 6, 1},
		{"only the newline missing", whole[:len(whole)-1], 7, 0},
		{"zeros", append(whole[:len(whole):len(whole)], make([]byte, 700)...), 7, 1},
		{"half a line and its newline", append(whole[:last+30:last+30], '\n'), 6, 1},
		{"half a line twice", append(append(whole[:last+30:last+30], '\n'), whole[last:last+50]...), 6, 1},
		{"a long half", append(whole[:last+30:last+30], bytes.Repeat([]byte("x"), 300<<10)...), 6, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.jsonl")
			if err := os.WriteFile(path, c.content, 0o600); err != nil {
				t.Fatal(err)
			}
			log, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer log.Close()
			for range 2 {
				if err := log.Append(record("true")); err != nil {
					t.Fatal(err)
				}
			}
			report := mustVerify(t, path, c.records)
			if len(report.Torn) != c.torn {
				t.Errorf("torn lines %v, want %d", report.Torn, c.torn)
			}
			// What the record vouches for cannot be changed later.
			data, _ := os.ReadFile(path)
			if c.torn == 1 {
				data[last+3] ^= 1
				os.WriteFile(path, data, 0o600)
				if _, err := Verify(path, ""); err == nil {
					t.Error("a change of the torn line was not found")
				}
			}
		})
	}
}

func TestHead(t *testing.T) {
	path, _ := logOf(t, 5)
	head := mustVerify(t, path, 5).Head
	if _, err := Verify(path, head); err != nil {
		t.Fatal(err)
	}
	data, _ := os.ReadFile(path)
	cut := bytes.LastIndexByte(data[:len(data)-1], '\n') + 1
	os.WriteFile(path, data[:cut], 0o600)
	mustVerify(t, path, 4) // by itself a shorter log is sound
	if _, err := Verify(path, head); err == nil {
		t.Error("a record taken from the end was not missed")
	}
}

func TestVerifyTellsTornEnd(t *testing.T) {
	path, log := logOf(t, 3)
	log.Close()
	data, _ := os.ReadFile(path)
	os.WriteFile(path, data[:len(data)-9], 0o600)
	if report := mustVerify(t, path, 2); len(report.Torn) != 1 || report.Torn[0] != 3 {
		t.Errorf("torn lines %v, want [3]", report.Torn)
	}
}

// Killed writers leave a chain that verifies, with everything that they were
// told is durable.
func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	for range 5 {
		cmd := writer(t, path, 1<<20)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var told uint64
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			fmt.Sscan(lines.Text(), &told)
			if n == 20 {
				cmd.Process.Kill()
			}
		}
		cmd.Wait()
		report, err := Verify(path, "")
		if err != nil || report.Records < told {
			t.Fatalf("after kill: %+v, %v; record %d was durable", report, err, told)
		}
	}
}

func TestRefused(t *testing.T) {
	refuse := func(name string, prepare func(path string)) {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state", "audit.jsonl")
			os.Mkdir(filepath.Dir(path), 0o700)
			prepare(path)
			if log, err := Open(path); err == nil {
				log.Close()
				t.Error("opened")
			}
		})
	}
	refuse("symbolic link", func(path string) {
		os.WriteFile(path+".real", nil, 0o600)
		os.Symlink(path+".real", path)
	})
	refuse("hard link", func(path string) {
		os.WriteFile(path+".real", nil, 0o600)
		os.Link(path+".real", path)
	})
	refuse("directory", func(path string) { os.Mkdir(path, 0o700) })
	refuse("writable by others", func(path string) {
		os.WriteFile(path, nil, 0o600)
		os.Chmod(path, 0o666)
	})
	refuse("no directory", func(path string) {
		os.Remove(filepath.Dir(path))
		os.WriteFile(filepath.Dir(path), nil, 0o600)
	})
	if os.Getuid() == 0 {
		refuse("foreign file", func(path string) {
			os.WriteFile(path, nil, 0o600)
			os.Chown(path, 65534, 65534)
		})
		refuse("foreign directory", func(path string) { os.Chown(filepath.Dir(path), 65534, 65534) })
	} else {
		refuse("unwritable directory", func(path string) { os.Chmod(filepath.Dir(path), 0o500) })
	}
}

// A log that is replaced, removed or cut under an open server records nothing.
func TestReplaced(t *testing.T) {
	for name, change := range map[string]func(string) error{
		"removed": os.Remove,
		"moved":   func(p string) error { return os.Rename(p, p+".old") },
		"replaced": func(p string) error {
			os.Rename(p, p+".old")
			return os.WriteFile(p, nil, 0o600)
		},
		"cut": func(p string) error { return os.Truncate(p, 10) },
	} {
		path, log := logOf(t, 2)
		if err := change(path); err != nil {
			t.Fatal(err)
		}
		if err := log.Append(record("true")); err == nil {
			t.Errorf("%s: appended", name)
		}
	}
}

func TestZeroAndClosed(t *testing.T) {
	if err := new(Log).Append(record("true")); err == nil {
		t.Error("the zero log appended")
	}
	_, log := logOf(t, 1)
	log.Close()
	if err := log.Append(record("true")); err == nil {
		t.Error("a closed log appended")
	}
}

func TestShortened(t *testing.T) {
	path, log := logOf(t, 0)
	r := record(strings.Repeat("x", 1<<20))
	r.Effects = make([]guard.Effect, 10_000)
	if err := log.Append(r); err != nil {
		t.Fatal(err)
	}
	if err := log.Append(&Record{Event: Decision, Input: json.RawMessage(`{"command": broken`)}); err != nil {
		t.Fatal(err)
	}
	mustVerify(t, path, 2)
	if info, _ := os.Stat(path); info.Size() > 64<<10 {
		t.Errorf("the log has %d bytes", info.Size())
	}
}

func TestRedacted(t *testing.T) {
	path, log := logOf(t, 0)
	const token = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	r := record("curl -H 'Authorization: Bearer " + token + "' example.org")
	r.Reason = "sends " + token
	r.Effects[0].Written, r.Findings = token, []guard.Finding{{Reason: token, Instead: token}}
	if err := log.Append(r); err != nil {
		t.Fatal(err)
	}
	data, _ := os.ReadFile(path)
	if bytes.Contains(data, []byte(token)) {
		t.Errorf("the token is in the log: %s", data)
	}
}

// A secret that the cut of a long text goes through is out as a whole.
func TestRedactedWhereItIsCut(t *testing.T) {
	path, log := logOf(t, 0)
	secret := "ghp_" + strings.Repeat("aB3x", 9)
	if err := log.Append(record(strings.Repeat("x", 235) + " " + secret + " " + strings.Repeat("y", 8<<10))); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(b), "ghp_aB3x") || !strings.Contains(string(b), "sha256") {
		t.Errorf("%s", b)
	}
}

func TestTail(t *testing.T) {
	path, log := logOf(t, 5)
	var seen []uint64
	collect := func(line []byte) error {
		var r Record
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		seen = append(seen, r.Seq)
		return nil
	}
	if err := Tail(context.Background(), path, 2, false, collect); err != nil || fmt.Sprint(seen) != "[4 5]" {
		t.Fatalf("last two: %v, %v", seen, err)
	}
	seen = nil
	ctx, stop := context.WithCancel(context.Background())
	err := Tail(ctx, path, 1, true, func(line []byte) error {
		err := collect(line)
		switch len(seen) {
		case 1:
			return log.Append(record("true"))
		case 2:
			stop()
		}
		return err
	})
	if err != nil || fmt.Sprint(seen) != "[5 6]" {
		t.Fatalf("followed: %v, %v", seen, err)
	}
}

// Lines of hostile content stay one line and keep their hash in its place.
func FuzzLine(f *testing.F) {
	f.Add("echo hi", "why")
	f.Add("a\nb\r\u2028", `","hash":"`)
	f.Add("\xff\x00", `{"seq":1,"time":"x","prev":"","hash":"`)
	f.Fuzz(func(t *testing.T, command, reason string) {
		r := record(command)
		r.Reason, r.Seq = reason, 7
		short := new(Log).shorten(r)
		line, err := seal(&short)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.IndexByte(line, '\n') != len(line)-1 {
			t.Fatalf("not one line: %q", line)
		}
		l, err := read(line[:len(line)-1])
		if err != nil || l.seq != 7 || l.hash != short.Hash {
			t.Fatalf("read %q = %+v, %v", line, l, err)
		}
	})
}

// TestLost: after the disk has failed once nothing is appended: it tells that to
// one who waits, and what others wrote may be lost with it.
func TestLost(t *testing.T) {
	_, log := logOf(t, 1)
	_, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if log.sync(w) == nil {
		t.Fatal("a pipe is on the disk")
	}
	if err := log.Append(record("true")); err == nil || !strings.Contains(err.Error(), "restart the server") {
		t.Errorf("%v", err)
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, event := range []Event{Decision, Outcome} {
		b.Run(string(event), func(b *testing.B) {
			_, log := logOf(b, 0)
			for b.Loop() {
				r := record("go test ./...")
				r.Event = event
				if err := log.Append(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestChangesNothing: only what cannot end the machine goes on before its record
// is on the disk.
func TestChangesNothing(t *testing.T) {
	effect := func(kinds ...guard.Kind) (all []guard.Effect) {
		for _, k := range kinds {
			all = append(all, guard.Effect{Kind: k})
		}
		return all
	}
	unlisted := []guard.Effect{{Kind: guard.Read}, {Kind: guard.Exec, Action: "unlisted"}}
	for name, c := range map[string]struct {
		verdict guard.Verdict
		effects []guard.Effect
		want    bool
	}{
		"refused":                  {guard.VerdictDeny, effect(guard.Exec, guard.Delete), true},
		"refused before its facts": {guard.VerdictDeny, nil, true},
		"reads":                    {guard.VerdictAllow, effect(guard.Exec, guard.Read, guard.Read), true},
		"writes":                   {guard.VerdictAllow, effect(guard.Exec, guard.Read, guard.Write), false},
		"code":                     {guard.VerdictAllow, effect(guard.Exec, guard.Code), false},
		"unlisted":                 {guard.VerdictAllow, unlisted, false},
		"unknown":                  {guard.VerdictAllow, effect(guard.Unknown), false},
		"reaches out":              {guard.VerdictAllow, effect(guard.Exec, guard.Network), false},
		"no facts":                 {guard.VerdictAllow, nil, false},
	} {
		r := &Record{Event: Decision, Verdict: c.verdict.String(), Effects: c.effects}
		if got := r.changesNothing(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// seal returns the line of r, newline included, and sets r.Hash.
func seal(r *Record) ([]byte, error) {
	rest, err := content(r)
	if err != nil {
		return nil, err
	}
	return chain(r, rest), nil
}
