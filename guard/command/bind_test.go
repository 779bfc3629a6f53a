package command

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"handrail/guard"
)

// fields parts a golden command into words: quotes as in a shell, and a word
// with "$" or "*" outside of single quotes is known up to there only.
func fields(line string) (words []guard.Word) {
	for line = strings.TrimLeft(line, " "); line != ""; line = strings.TrimLeft(line, " ") {
		var b strings.Builder
		exact, quote, i := true, byte(0), 0
	word:
		for ; i < len(line); i++ {
			switch c := line[i]; {
			case quote == 0 && (c == '\'' || c == '"'):
				quote = c
			case quote != 0 && c == quote:
				quote = 0
			case quote == 0 && c == ' ':
				break word
			case quote != '\'' && (c == '$' || c == '*' && quote == 0):
				exact = false
				fallthrough
			default:
				if exact {
					b.WriteByte(c)
				}
			}
		}
		words = append(words, guard.Word{Text: b.String(), Exact: exact})
		line = line[i:]
	}
	return words
}

// show prints a binding on one line: role:word, "~" for inexact words, "+" for
// deep parts, {…} for the rest.
func show(b *Binding) string {
	if b.Spec == nil {
		return "unlisted"
	}
	var out []string
	for _, p := range b.Parts {
		s := string(p.Role) + ":" + p.Word.Text
		if p.Role == Text && p.Index >= 0 {
			continue
		}
		if p.Index < 0 {
			s = "=" + s
		}
		if !p.Word.Exact {
			s += "~"
		}
		if kind, _, ok := p.Role.Kind(); p.Deep && (p.Role == Move || p.Role == Into || ok && kind >= guard.Read && kind <= guard.Delete) {
			s += "+"
		}
		if len(p.Rest) > 0 {
			var rest []string
			for _, w := range p.Rest {
				rest = append(rest, w.Text)
			}
			s += "{" + strings.Join(rest, " ") + "}"
		}
		out = append(out, s)
	}
	if b.Harmless {
		out = append(out, "harmless")
	}
	if len(b.Unread) > 0 {
		out = append(out, fmt.Sprintf("unread%q", b.Unread))
	}
	if len(out) == 0 {
		return "nothing"
	}
	return strings.Join(out, " ")
}

// TestGolden binds the commands of testdata/*.txt, each "command  -> binding".
func TestGolden(t *testing.T) {
	builtin, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, builtin, "testdata/bind.txt")
}

func TestFormat(t *testing.T) {
	table, err := Load(os.DirFS("testdata"), "format.yaml")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, table, "testdata/format.txt")
}

// golden compares; with HANDRAIL_UPDATE=1 it writes what it found.
func golden(t *testing.T, table *Table, file string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	lines := bufio.NewScanner(bytes.NewReader(b))
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		command, want, _ := strings.Cut(line, " -> ")
		words := fields(command)
		if len(words) == 0 || strings.HasPrefix(command, "#") {
			fmt.Fprintln(&out, line)
			continue
		}
		got := show(table.Bind(words[0].Text, words[1:]))
		if got != want {
			t.Errorf("%s:%d: %s\n got %s\nwant %s", file, n, command, got, want)
		}
		fmt.Fprintf(&out, "%s -> %s\n", strings.TrimRight(command, " "), got)
	}
	if os.Getenv("HANDRAIL_UPDATE") != "" {
		if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func BenchmarkBind(b *testing.B) {
	table, err := Builtin()
	if err != nil {
		b.Fatal(err)
	}
	for _, line := range []string{"git commit -m x", "rm -rf a b c", "find . -name '*.go' -exec grep -n foo {} +", "cat a"} {
		words := fields(line)
		b.Run(line, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if table.Bind(words[0].Text, words[1:]).Spec == nil {
					b.Skip("not listed")
				}
			}
		})
	}
}
