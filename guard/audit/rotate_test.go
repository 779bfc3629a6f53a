package audit

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Several processes write one log that is rotated under them all the time:
// nothing is lost, the chain goes on over the files, and a change in any of them
// is found.
func TestRotation(t *testing.T) {
	path := t.TempDir() + "/log/audit.jsonl"
	var writers []*exec.Cmd
	for range 3 {
		w := writer(t, path, 60)
		w.Env = append(w.Env, "AUDIT_ROTATE=4096")
		if err := w.Start(); err != nil {
			t.Fatal(err)
		}
		writers = append(writers, w)
	}
	for _, w := range writers {
		if err := w.Wait(); err != nil {
			t.Error(err)
		}
	}
	files, err := Files(path)
	if err != nil || len(files) < 5 {
		t.Fatalf("%v, %v", files, err)
	}
	report, err := Verify(path, "")
	if err != nil || report.Records != 180 {
		t.Fatalf("%+v, %v", report, err)
	}
	first, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(first, []byte("\n"))
	for what, changed := range map[string][]byte{
		"a changed line": bytes.Replace(first, []byte("harmless"), []byte("harmful!"), 1),
		"a cut file":     bytes.Join(lines[:len(lines)-2], nil),
		"half a line":    first[:len(first)-20],
	} {
		if err := os.WriteFile(files[0], changed, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Verify(path, ""); !errors.As(err, new(Fault)) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(path, ""); err == nil || !strings.Contains(err.Error(), "removed") {
		t.Errorf("without the first file: %v", err)
	}
}

// What a crash leaves between putting the old file away and the first record of
// the new one is taken up: the chain goes on.
func TestRotationTakenUp(t *testing.T) {
	for what, begun := range map[string]string{"no new file": "-", "an empty one": "", "half a line": `{"seq":4,"ti`} {
		path, log := logOf(t, 3)
		log.Close()
		if err := os.Rename(path, rotatedName(path, 3)); err != nil {
			t.Fatal(err)
		}
		if begun != "-" {
			if err := os.WriteFile(path, []byte(begun), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		again, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		r := record("after")
		if err := again.Append(r); err != nil || r.Seq != 4 {
			t.Errorf("%s: record %d, %v", what, r.Seq, err)
		}
		if report, err := Verify(path, r.Hash); err != nil || report.Records != 4 {
			t.Errorf("%s: %+v, %v", what, report, err)
		}
	}
}

// A log goes on in a new file when its first record is old; a file that somebody
// else moved away stops it.
func TestRotationByAge(t *testing.T) {
	path, log := logOf(t, 2)
	log.Rotate.Age = time.Nanosecond
	if err := log.Append(record("next")); err != nil {
		t.Fatal(err)
	}
	if files, err := Files(path); err != nil || len(files) != 2 {
		t.Fatalf("%v, %v", files, err)
	}
	log.Rotate = Rotation{}
	if err := errors.Join(log.Writable(), os.Rename(path, path+".mine")); err != nil {
		t.Fatal(err)
	}
	if err := log.Append(record("lost")); err == nil {
		t.Error("a moved log was written on")
	}
	if log.Writable() == nil {
		t.Error("a moved log is called writable")
	}
}

// What the log is told to take out is not in it.
func TestRedactedByValue(t *testing.T) {
	path, log := logOf(t, 0)
	log.Redact = func(s string) string { return strings.ReplaceAll(s, "open sesame", "[redacted]") }
	r := record("echo open sesame")
	r.Reason, r.Effects[0].Written = "open sesame", "open sesame"
	if err := log.Append(r); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil || bytes.Contains(data, []byte("sesame")) || bytes.Count(data, []byte("[redacted]")) != 3 {
		t.Errorf("%s, %v", data, err)
	}
}
