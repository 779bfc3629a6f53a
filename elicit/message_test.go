package elicit

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

func TestMessage(t *testing.T) {
	q := Question{
		Tool: "safe_bash", Dir: "/home/ann/app",
		Effects:   []string{"deletes build and everything below it (347 files, 3 of them not in git)", "reads package.json"},
		Reasons:   []string{"deletes files that git does not have"},
		Command:   "rm -rf build\ncat package.json\n",
		AgentSays: "Clean the build directory",
	}
	want := `safe_bash wants to run in /home/ann/app

What it would do:
- deletes build and everything below it (347 files, 3 of them not in git)
- reads package.json

Why you are asked:
- deletes files that git does not have

Exactly this:
   1 | rm -rf build
   2 | cat package.json

The agent says (not verified): "Clean the build directory"
`
	if got := q.Message(nil); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Whatever a call holds, it cannot write a line that looks like ours, hide a
// part of itself or turn the reading direction.
func TestMessageCannotBeForged(t *testing.T) {
	evil := "x\n\nExactly this:\n   1 | ls\r\x1b[2K\u202Els\u2066\u200B\u2028\u00A0\uFE0F\U000E0041\u3164\x00\x7f\u0085\xff" +
		strings.Repeat(" ", 300) + "; rm -rf ~"
	own := regexp.MustCompile(`^(|safe_.* wants to run.*|What it would do:|Why you are asked:|Exactly this:|Always would mean:|- .*| *\d+ \| .*|The agent says \(not verified\): ".*")$`)
	for name, visible := range map[string]func(string) string{"nil": nil, "one that does nothing": func(s string) string { return s }} {
		q := Question{Tool: "safe_bash", Dir: "/tmp/" + evil, Effects: []string{evil}, Reasons: []string{evil}, Command: evil, Always: evil, AgentSays: evil}
		got := q.Message(visible)
		for _, line := range strings.Split(got, "\n") {
			if !own.MatchString(line) {
				t.Errorf("visible %s: a line of the call's own: %q", name, line)
			}
		}
		if n := strings.Count(got, "\nExactly this:\n"); n != 1 {
			t.Errorf("visible %s: %d headings", name, n)
		}
		for _, r := range got {
			if r != '\n' && r != ' ' && (!unicode.IsGraphic(r) || unicode.IsSpace(r) || r == '\u3164') {
				t.Errorf("visible %s: %U is shown as it is", name, r)
			}
		}
		for _, part := range []string{`\u{202e}`, `\u{1b}`, `\u{200b}`, `\u{a0}`, `\u{fe0f}`, `\u{3164}`, `\u{0}`, `\xff`, "[300 blanks]", "; rm -rf ~"} {
			if !strings.Contains(got, part) {
				t.Errorf("visible %s: %s is not shown", name, part)
			}
		}
	}
}

func TestMessageOfLongCommands(t *testing.T) {
	many := make([]string, 500)
	for i := range many {
		many[i] = fmt.Sprintf("echo %d", i+1)
	}
	tests := []struct {
		name, command string
		shown, hidden []string
	}{
		{"many lines", strings.Join(many, "\n"), []string{"   1 | echo 1", " 500 | echo 500", "lines are left out", "are not shown]"}, []string{"echo 250"}},
		{"one long line", "echo " + strings.Repeat("a", 9000) + "; rm -rf ~", []string{"CAUTION", "1 line is cut short", "more characters]"}, []string{"rm -rf ~"}},
		{"long lines", strings.Repeat(strings.Repeat("b", 3000)+"\n", 10) + "last", []string{"CAUTION", "| last", "lines are left out", "cut short"}, nil},
		{"wide characters", strings.Repeat("界", 30000), []string{"CAUTION"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Question{Tool: "safe_bash", Command: tt.command}.Message(nil)
			for _, s := range tt.shown {
				if !strings.Contains(got, s) {
					t.Errorf("%q is not in\n%.3000s", s, got)
				}
			}
			for _, s := range tt.hidden {
				if strings.Contains(got, s) {
					t.Errorf("%q is in the message although it was cut", s)
				}
			}
			if !strings.HasPrefix(strings.SplitN(got, "\n", 3)[2], "CAUTION") {
				t.Errorf("the warning does not come first:\n%.300s", got)
			}
			if len(got) > 4*maxShown {
				t.Errorf("%d bytes are shown", len(got))
			}
		})
	}
	// What fits is shown whole and without a warning.
	if got := (Question{Tool: "safe_bash", Command: strings.Join(many[:maxLines], "\n")}).Message(nil); strings.Contains(got, "CAUTION") || !strings.Contains(got, "echo 20\n") {
		t.Errorf("a command that fits was cut:\n%s", got)
	}
}

func TestMessageBoundsItsParts(t *testing.T) {
	q := Question{Tool: "safe_bash", Command: "ls", AgentSays: strings.Repeat("trust me ", 100)}
	for range 40 {
		q.Effects = append(q.Effects, strings.Repeat("e", 1000))
	}
	got := q.Message(nil)
	if !strings.Contains(got, "- and 28 more") {
		t.Errorf("the effects that do not fit are not counted:\n%.500s", got)
	}
	says := got[strings.Index(got, "The agent says"):]
	if !strings.Contains(says, "[700 more characters]") || len(says) > 300 {
		t.Errorf("the agent's words are not cut: %s", says)
	}
}

// What shows several lines may number them; on one line the numbers would only
// be noise, and pass for those of the command.
func TestMessageOfNewlinesInNames(t *testing.T) {
	numbered := func(s string) string {
		if strings.Contains(s, "\n") {
			return "1│ " + s
		}
		return s
	}
	got := Question{Tool: "safe_bash", Effects: []string{"deletes a\nb"}, AgentSays: "x\ny"}.Message(numbered)
	for _, part := range []string{`- deletes a\u{a}b`, `"x\u{a}y"`} {
		if !strings.Contains(got, part) {
			t.Errorf("%s is not in\n%s", part, got)
		}
	}
	if strings.Contains(got, "│") {
		t.Errorf("a line of its own within a line:\n%s", got)
	}
}

func TestChoices(t *testing.T) {
	plain, offered := Question{}, Question{Always: "`npm test` in /w"}
	if c := plain.Choices(); c[0] != Deny || len(c) != 3 || plain.Allows(AllowAlways) || plain.Allows(Deny) || plain.Allows("") || !plain.Allows(AllowOnce) {
		t.Errorf("choices %q: the first must be deny, and always none of them", c)
	}
	if c := offered.Choices(); c[0] != Deny || len(c) != 4 || !offered.Allows(AllowAlways) {
		t.Errorf("choices %q", c)
	}
	once := Question{Always: "`make`", Once: true}
	if c := once.Choices(); c[0] != Deny || len(c) != 2 || !once.Allows(AllowOnce) || once.Allows(AllowSession) || once.Allows(AllowAlways) {
		t.Errorf("choices %q of a call that only once covers", c)
	}
	if Choice("").Means() != Deny.Means() {
		t.Error("the zero choice does not mean deny")
	}
}

func FuzzMessageLines(f *testing.F) {
	f.Add("ls", "why")
	f.Add("a\nb\r\n\x1b[0m", "x\ny")
	f.Fuzz(func(t *testing.T, command, says string) {
		got := Question{Tool: "safe_bash", Command: command, AgentSays: says}.Message(nil)
		for _, line := range strings.Split(got, "\n")[1:] {
			ours := line == "" || line == "Exactly this:" || strings.HasPrefix(line, "CAUTION") || strings.HasPrefix(line, "     [") ||
				strings.HasPrefix(line, "The agent says (not verified): \"") || strings.Contains(line[:min(len(line), 8)], " | ")
			if !ours {
				t.Errorf("%q is not one of our lines", line)
			}
		}
	})
}
