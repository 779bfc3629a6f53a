package terminal

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"handrail/elicit"
)

var question = elicit.Question{Tool: "safe_bash", Dir: "/srv/app", Command: "git push --force", Digest: "d"}

func yes() bool { return true }

func TestAnswers(t *testing.T) {
	tests := []struct {
		typed   string
		outcome elicit.Outcome
		choice  elicit.Choice
	}{
		{"y\n", elicit.Approved, elicit.AllowOnce},
		{" Y \r\n", elicit.Approved, elicit.AllowOnce},
		{"a\n", elicit.Approved, elicit.AllowSession},
		{"n\n", elicit.Declined, elicit.Deny},
		{"\n", elicit.Declined, elicit.Deny},
		{"yes\n", elicit.Declined, elicit.Deny},
		{"ya\n", elicit.Declined, elicit.Deny},
		{"always\n", elicit.Declined, elicit.Deny}, // it was no choice
		{"\x1b[A y\n", elicit.Declined, elicit.Deny},
		{"", elicit.Dismissed, elicit.Deny},
		{"y", elicit.Dismissed, elicit.Deny}, // the input ended before Enter
		{strings.Repeat(" ", 1000) + "y\n", elicit.Dismissed, elicit.Deny},
	}
	for _, tt := range tests {
		var out strings.Builder
		c := &Channel{In: strings.NewReader(tt.typed), Out: &out, Interactive: yes}
		a, err := c.Ask(context.Background(), question)
		if err != nil || a.Outcome != tt.outcome || a.Choice != tt.choice || a.Channel != "terminal" {
			t.Errorf("%q: got %+v, %v; want %s, %s", tt.typed, a, err, tt.outcome, tt.choice)
		}
		if s := out.String(); !strings.Contains(s, "git push --force") || !strings.HasSuffix(s, "[y] once  [a] session  [n] deny: ") {
			t.Errorf("%q: shown was\n%s", tt.typed, s)
		}
	}
}

// What lasts is a choice only where the question says what it would be, and it is
// typed out.
func TestAlways(t *testing.T) {
	q := question
	q.Always = "`git push` in /srv/app"
	for typed, want := range map[string]elicit.Choice{"always\n": elicit.AllowAlways, "al\n": elicit.Deny, "a\n": elicit.AllowSession, "\n": elicit.Deny} {
		var out strings.Builder
		c := &Channel{In: strings.NewReader(typed), Out: &out, Interactive: yes}
		if a, err := c.Ask(context.Background(), q); err != nil || a.Choice != want {
			t.Errorf("%q: %+v, %v", typed, a, err)
		}
		if s := out.String(); !strings.Contains(s, "Always would mean:\n- `git push` in /srv/app\n") || !strings.HasSuffix(s, "[always] always  [n] deny: ") {
			t.Errorf("shown was\n%s", s)
		}
	}
}

func TestEachQuestionItsOwnLine(t *testing.T) {
	in, typed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	c := &Channel{In: in, Out: io.Discard, Interactive: yes}
	for _, tt := range []struct {
		line string
		want elicit.Outcome
	}{{"y", elicit.Approved}, {"n", elicit.Declined}, {"a", elicit.Approved}} {
		io.WriteString(typed, tt.line+"\n")
		if a, err := c.Ask(context.Background(), question); err != nil || a.Outcome != tt.want {
			t.Errorf("%s: %+v, %v", tt.line, a, err)
		}
	}
	typed.Close()
	if a, _ := c.Ask(context.Background(), question); a.Outcome != elicit.Dismissed {
		t.Errorf("at the end: %+v", a)
	}
}

func TestNobodyThere(t *testing.T) {
	for name, c := range map[string]*Channel{
		"zero":        {},
		"no check":    {In: strings.NewReader("y\n"), Out: io.Discard},
		"no terminal": {In: strings.NewReader("y\n"), Out: io.Discard, Interactive: func() bool { return false }},
	} {
		if a, err := c.Ask(context.Background(), question); err != nil || a.Outcome != elicit.Unsupported {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
	closed, w, _ := os.Pipe()
	closed.Close()
	defer w.Close()
	c := &Channel{In: strings.NewReader("y\n"), Out: w, Interactive: yes}
	if a, err := c.Ask(context.Background(), question); err == nil || a.Outcome != elicit.Unsupported {
		t.Errorf("where the question cannot be shown: %+v, %v", a, err)
	}
}

// A yes typed after its question had expired must not answer the next one.
func TestLateAnswerCountsForNothing(t *testing.T) {
	in, typed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer typed.Close()
	c := &Channel{In: in, Out: io.Discard, Interactive: yes}
	q := question
	q.Expires = time.Now().Add(20 * time.Millisecond)
	if a, err := c.Ask(context.Background(), q); err != nil || a.Outcome != elicit.NoAnswer {
		t.Fatalf("an unanswered question: %+v, %v", a, err)
	}
	io.WriteString(typed, "y\n")
	if a, _ := c.Ask(context.Background(), question); a.Outcome == elicit.Approved {
		t.Error("a late yes approved another question")
	}
}

func TestExpiredIsNotAsked(t *testing.T) {
	var out strings.Builder
	c := &Channel{In: strings.NewReader("y\n"), Out: &out, Interactive: yes}
	q := question
	q.Expires = time.Now().Add(-time.Second)
	if a, err := c.Ask(context.Background(), q); err != nil || a.Outcome != elicit.NoAnswer || out.Len() > 0 {
		t.Errorf("%+v, %v, shown %q", a, err, out.String())
	}
}
