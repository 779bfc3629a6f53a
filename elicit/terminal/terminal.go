// Package terminal asks a person at the terminal that the program runs in.
package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"handrail/elicit"
)

// Channel asks on Out and reads one line from In. Questions are asked one after
// the other. It is safe for concurrent use; the zero value reaches nobody.
type Channel struct {
	In  io.Reader
	Out io.Writer
	// Interactive reports whether a person sits at In and Out. Nil means that
	// nobody does.
	Interactive func() bool
	// Visible makes hidden characters of a call visible; see Question.Message.
	Visible func(string) string

	mu    sync.Mutex
	lines chan string // from the one goroutine that reads In
	late  bool        // a question ended while its answer could still come
}

// prompt is the line under a question. What lasts is typed out in full.
func prompt(q elicit.Question) string {
	if !q.Allows(elicit.AllowSession) {
		return "\n[y] once  [n] deny: "
	}
	if q.Allows(elicit.AllowAlways) {
		return "\n[y] once  [a] session  [always] always  [n] deny: "
	}
	return "\n[y] once  [a] session  [n] deny: "
}

// Ask shows q and waits for a line: y allows once, a for this session, always
// for always where these are choices, anything else denies. An answer counts for
// the question it was typed under: once a question went without one, whatever is
// typed later could be meant for it, and nobody is asked here any more.
func (c *Channel) Ask(ctx context.Context, q elicit.Question) (elicit.Answer, error) {
	answer := elicit.Answer{Outcome: elicit.Unsupported, Choice: elicit.Deny, Channel: "terminal"}
	if c.In == nil || c.Out == nil || c.Interactive == nil || !c.Interactive() {
		return answer, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.late {
		return answer, errors.New("an earlier question at this terminal went without an answer")
	}
	if !q.Expires.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, q.Expires)
		defer cancel()
	}
	if ctx.Err() != nil { // too late to ask
		answer.Outcome = elicit.NoAnswer
		return answer, nil
	}
	if _, err := io.WriteString(c.Out, q.Message(c.Visible)+prompt(q)); err != nil {
		return answer, fmt.Errorf("asking at the terminal: %w", err)
	}
	if c.lines == nil {
		c.lines = make(chan string)
		go read(c.In, c.lines)
	}
	asked := time.Now()
	select {
	case <-ctx.Done():
		c.late = true
		fmt.Fprintln(c.Out, "\nno answer: nothing runs")
		answer.Outcome = elicit.NoAnswer
	case line, ok := <-c.lines:
		answer.Outcome, answer.Choice = meaning(q, line, ok)
		answer.Took = time.Since(asked)
	}
	return answer, nil
}

// meaning is what a line says; ok is false at the end of the input.
func meaning(q elicit.Question, line string, ok bool) (elicit.Outcome, elicit.Choice) {
	switch {
	case !ok:
		return elicit.Dismissed, elicit.Deny
	case line == "y":
		return elicit.Approved, elicit.AllowOnce
	case line == "a" && q.Allows(elicit.AllowSession):
		return elicit.Approved, elicit.AllowSession
	case line == "always" && q.Allows(elicit.AllowAlways):
		return elicit.Approved, elicit.AllowAlways
	}
	return elicit.Declined, elicit.Deny
}

// read hands out the lines of in, in lower case and without blanks around them,
// and closes lines at the end. A line that is too long is an end too, and so is
// one that no newline finished: it was not sent by a person.
func read(in io.Reader, lines chan<- string) {
	defer close(lines)
	r := bufio.NewReaderSize(in, 256)
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return
		}
		lines <- strings.ToLower(strings.TrimSpace(string(line)))
	}
}
