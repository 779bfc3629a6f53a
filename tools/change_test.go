package tools

import (
	"bytes"
	"strings"
	"testing"
)

func TestChange(t *testing.T) {
	for _, c := range []struct {
		name, content, old, new string
		all                     bool
		want, err               string
	}{
		{name: "plain", content: "a\nb\nc\n", old: "b", new: "B", want: "a\nB\nc\n"},
		{name: "to nothing", content: "a\nb\nc\n", old: "b\n", new: "", want: "a\nc\n"},
		{name: "no final newline", content: "a\nb", old: "b", new: "B", want: "a\nB"},
		{name: "final newline kept", content: "a\nb\n", old: "b", new: "c\nd", want: "a\nc\nd\n"},
		{name: "crlf matched by lf", content: "a\r\nb\r\nc\r\n", old: "a\nb\n", new: "x\ny\nz\n", want: "x\r\ny\r\nz\r\nc\r\n"},
		{name: "lf matched by crlf", content: "a\nb\n", old: "a\r\nb", new: "x\r\ny", want: "x\ny\n"},
		{name: "crlf given and kept", content: "a\r\nb\r\n", old: "a\r\n", new: "x\r\n", want: "x\r\nb\r\n"},
		{name: "mixed: ends of what is replaced", content: "a\r\nb\nc\n", old: "a\nb", new: "x\ny", want: "x\r\ny\nc\n"},
		{name: "mixed: ends of the line", content: "a\nb\r\nc\n", old: "b", new: "x\ny", want: "a\nx\r\ny\r\nc\n"},
		{name: "mixed: ends before", content: "a\r\nb\nc", old: "c", new: "x\ny", want: "a\r\nb\nx\ny"},
		{name: "mixed elsewhere untouched", content: "a\r\nb\nc\n", old: "c", new: "C", want: "a\r\nb\nC\n"},
		{name: "one line keeps what is given", content: "abc", old: "b", new: "x\r\ny", want: "ax\r\nyc"},
		{name: "BOM kept", content: "\ufeffa\n", old: "a", new: "b", want: "\ufeffb\n"},
		{name: "other encodings kept", content: "caf\xe9 a\n", old: "a\n", new: "b\n", want: "caf\xe9 b\n"},
		{name: "lone CR is a character", content: "a\rb\n", old: "a\rb", new: "c", want: "c\n"},
		{name: "all", content: "x x x", old: "x", new: "yx", all: true, want: "yx yx yx"},
		{name: "all in crlf", content: "x\r\nx\r\n", old: "x\n", new: "y\n", all: true, want: "y\r\ny\r\n"},
		{name: "absent", content: "a", old: "b", err: "0 times"},
		{name: "absent, all", content: "a", old: "b", all: true, err: "0 times"},
		{name: "twice", content: "a\nb\na\n", old: "a", new: "c", err: "2 times in the file (lines 1, 3)"},
		{name: "overlapping is twice", content: "aaa", old: "aa", new: "b", err: "2 times"},
		{name: "no-op", content: "a\n", old: "a", new: "a", err: "nothing would change"},
		{name: "no-op by line ends", content: "a\r\nb\r\n", old: "a\nb", new: "a\r\nb", err: "nothing would change"},
		{name: "with a line number", content: "a\n", old: "     1\ta", new: "b", err: "line number"},
		{name: "half a CRLF", content: "a\r\nb", old: "a\r", new: "b", err: "0 times"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := change([]byte(c.content), c.old, c.new, c.all)
			switch {
			case c.err != "":
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v lacks %q", err, c.err)
				}
			case err != nil:
				t.Error(err)
			case string(got.content) != c.want:
				t.Errorf("got %q, want %q", got.content, c.want)
			}
		})
	}
}

func TestChangeIsLinear(t *testing.T) {
	line := bytes.Repeat([]byte("a"), 5<<20)
	if _, err := change(line, string(line[:1<<20]), "b", false); err == nil || !strings.Contains(err.Error(), "100 or more times") {
		t.Errorf("error %v", err)
	}
	mixed := append([]byte("x\r\ny\n"), line...)
	if c, err := change(mixed, "a", "b", true); err != nil || c.count != len(line) {
		t.Errorf("error %v", err)
	}
}

func TestDiff(t *testing.T) {
	before := []byte("1\n2\n3\n4\n5\n6\n7\n")
	c, err := change(before, "4", "four\n4b", false)
	if err != nil {
		t.Fatal(err)
	}
	want := "@@ line 4 @@\n 2\n 3\n-4\n+four\n+4b\n 5\n 6\n"
	if got := c.diff(before); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// FuzzEdit: what is not replaced stays byte for byte, what is put in is there,
// uniform line ends stay uniform, and an edit of one place fails exactly when
// the text does not occur once.
func FuzzEdit(f *testing.F) {
	f.Add([]byte("a\nb\nc\n"), "b", "x\ny", false)
	f.Add([]byte("a\r\nb\r\n"), "a\nb", "c\n", false)
	f.Add([]byte("a\r\nb\na"), "a", "\r\n", true)
	f.Add([]byte("\xef\xbb\xbfaa\xff"), "a", "", true)
	f.Fuzz(func(t *testing.T, content []byte, old, new string, all bool) {
		lf := func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
		text := lf(string(content))
		find, times := lf(old), 0
		for i := 0; find != "" && times < 2 && i+len(find) <= len(text); i++ {
			if strings.HasPrefix(text[i:], find) {
				times++
			}
		}
		c, err := change(content, old, new, all)
		if err != nil {
			noop := strings.Contains(err.Error(), "nothing would change")
			if !noop && (times == 1 || all && times > 0) {
				t.Fatalf("%d times, but: %v", times, err)
			}
			return
		}
		if times == 0 || !all && times != 1 {
			t.Fatalf("%d times, but no error", times)
		}
		_ = c.diff(content)
		if strings.Contains(lf(string(content))+lf(old)+lf(new), "\r") {
			return // lone CRs may meet an LF
		}
		got := string(c.content)
		want := strings.Replace(text, find, lf(new), 1)
		if all {
			want = strings.ReplaceAll(text, find, lf(new))
		}
		if lf(got) != lf(want) {
			t.Fatalf("got %q, want %q up to line ends", got, want)
		}
		if !bytes.HasPrefix(c.content, content[:c.start]) || lf(got[c.start:c.newEnd]) != lf(new) {
			t.Fatalf("the replacement is not where it is said to be")
		}
		lines, crlf := strings.Count(string(content), "\n"), strings.Count(string(content), "\r\n")
		if l, cr := strings.Count(got, "\n"), strings.Count(got, "\r\n"); lines > 0 && (crlf == 0 && cr != 0 || crlf == lines && cr != l) {
			t.Fatalf("line ends were uniform in %q and are not in %q", content, got)
		}
	})
}
