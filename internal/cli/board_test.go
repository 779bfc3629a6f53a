package cli

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"handrail/elicit"
	"handrail/internal/store"
)

func record(id, command, always string) store.Waiting {
	return store.Waiting{ID: id, Client: "Claude\x1b[31m", Asked: time.Now(), Expires: time.Now().Add(time.Hour), State: store.Unanswered,
		Question: elicit.Question{Tool: "safe_bash", Dir: "/w", Command: command, Always: always, Effects: []string{"pushes to main"}}}
}

// given is what a board answered.
type given struct {
	id     string
	choice elicit.Choice
}

func newBoard(list ...store.Waiting) (*board, *[]given) {
	var all []given
	b := &board{width: 80, height: 24, answer: func(id string, c elicit.Choice) (string, error) {
		all = append(all, given{id, c})
		return "done", nil
	}}
	b.update(list)
	b.view()
	return b, &all
}

// typed presses keys as live does.
func (b *board) typed(list ...string) (quit bool) {
	for _, k := range list {
		quit = b.press(k)
		b.view()
	}
	return quit
}

func TestBoardAnswers(t *testing.T) {
	for name, tt := range map[string]struct {
		keys []string
		want []given
	}{
		"once":                   {[]string{keyEnter, "o"}, []given{{"a", elicit.AllowOnce}}},
		"session":                {[]string{keyDown, keyEnter, "s"}, []given{{"b", elicit.AllowSession}}},
		"always":                 {[]string{keyEnter, "a", "y"}, []given{{"a", elicit.AllowAlways}}},
		"always, second thought": {[]string{keyEnter, "a", "n", "o"}, []given{{"a", elicit.AllowOnce}}},
		"always is no choice":    {[]string{keyDown, keyEnter, "a", "y"}, nil},
		"deny in the list":       {[]string{"d"}, []given{{"a", elicit.Deny}}},
		"deny in full":           {[]string{keyEnter, "d"}, []given{{"a", elicit.Deny}}},
		"not seen":               {[]string{"o", "s", "a", "y"}, nil},
		"left again":             {[]string{keyEnter, keyBack, "o"}, nil},
		"enter twice":            {[]string{keyEnter, keyEnter, keyEnter}, nil},
		"any other key":          {[]string{keyEnter, "x", "1", "O", "A", "Y"}, nil},
	} {
		b, all := newBoard(record("a", "git push", "`git push` in /w"), record("b", "rm x", ""))
		if b.typed(tt.keys...); !slices.Equal(*all, tt.want) {
			t.Errorf("%s: %v, want %v", name, *all, tt.want)
		}
	}
	power := record("a", "make", "`make` in /w")
	power.Question.Once = true
	b, all := newBoard(power)
	if b.typed(keyEnter, "s", "a", "y"); len(*all) > 0 || strings.Contains(strings.Join(b.view(), "\n"), "session") && !strings.Contains(b.said, "once") {
		t.Errorf("more than once for more power: %v, %q", *all, b.said)
	}
	if b.typed("o"); !slices.Equal(*all, []given{{"a", elicit.AllowOnce}}) {
		t.Errorf("%v", *all)
	}
	b, _ = newBoard(record("a", "git push", ""))
	if !b.typed("q") || b.typed(keyEnter, "q") {
		t.Error("q ends the list, and in a call it leads back to it")
	}
	b.answer = func(string, elicit.Choice) (string, error) { return "", errors.New("it was answered") }
	if b.typed("d"); !strings.Contains(strings.Join(b.view(), "\n"), "NOT DONE: it was answered") {
		t.Errorf("a failure is not shown: %q", b.view())
	}
}

// A long call must be seen to its end before it can be approved.
func TestBoardShowsAllFirst(t *testing.T) {
	b, all := newBoard(record("a", strings.Repeat("echo x\n", 30)+"rm -rf precious", ""))
	b.typed(keyEnter, "o")
	if len(*all) > 0 || !strings.Contains(b.said, "all of it") {
		t.Fatalf("approved unseen: %v, %q", *all, b.said)
	}
	if text := strings.Join(b.view(), "\n"); strings.Contains(text, "precious") || !strings.Contains(text, "more lines below") {
		t.Errorf("shown is\n%s", text)
	}
	b.typed(keyPageDown, keyPageDown, keyPageDown)
	if text := strings.Join(b.view(), "\n"); !strings.Contains(text, "precious") {
		t.Errorf("the end is not shown:\n%s", text)
	}
	if b.typed("o"); len(*all) != 1 {
		t.Error("not approved although all was shown")
	}
}

// The choice stays on its call when others come and go: a key never answers a
// call that took the place of another.
func TestBoardKeepsItsCall(t *testing.T) {
	a, x, y := record("a", "git push", ""), record("x", "rm x", ""), record("y", "rm y", "")
	b, all := newBoard(a, x)
	b.typed(keyDown, keyEnter)
	b.update([]store.Waiting{y, a, x})
	b.view()
	if b.typed("o"); !slices.Equal(*all, []given{{"x", elicit.AllowOnce}}) {
		t.Errorf("%v", *all)
	}
	b, all = newBoard(a, x)
	b.typed(keyDown, keyEnter)
	b.update([]store.Waiting{a}) // x was answered elsewhere
	b.view()
	if b.typed("o"); len(*all) > 0 {
		t.Errorf("another call was approved: %v", *all)
	}
}

func TestBoardIsSafeToShow(t *testing.T) {
	b, _ := newBoard(record("a", "echo \x1b[2J\u202e\r\nsecond", "`x\x1b[0m`"))
	for _, keys := range [][]string{nil, {keyEnter}} {
		b.typed(keys...)
		for _, size := range [][2]int{{80, 24}, {20, 6}, {200, 60}} {
			b.width, b.height = size[0], size[1]
			lines := b.view()
			if len(lines) > b.height {
				t.Errorf("%d lines on %d", len(lines), b.height)
			}
			for _, line := range lines {
				if strings.ContainsAny(line, "\x1b\r\n\u202e") || len([]rune(line)) > b.width {
					t.Errorf("a line of %d: %q", size[0], line)
				}
			}
		}
	}
	if b, _ = newBoard(); b.typed(keyEnter, "o", "d", keyDown, keyUp) || !strings.Contains(strings.Join(b.view(), "\n"), "Nothing waits") {
		t.Error("an empty list")
	}
}

func TestKeys(t *testing.T) {
	for typed, want := range map[string][]string{
		"\x1b[A\x1b[B": {keyUp, keyDown}, "\x1b": {keyBack}, "\r": {keyEnter}, "o": {"o"}, "\x03": {"q"}, "\x1b[1;5C": nil, "j\x1b[6~": {keyDown, keyPageDown},
	} {
		if got := keys([]byte(typed)); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
	}
}
