package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"handrail/elicit"
	"handrail/internal/store"
)

// board is the live list of waiting calls: what is shown, and what keys do. It
// knows no terminal, so that it can be read and tested as it is.
type board struct {
	list   []store.Waiting
	chosen string // ID; empty where there is none
	open   bool   // the chosen call is shown in full
	from   int    // the first line shown of it
	seen   bool   // its last line was shown
	asks   elicit.Choice
	said   string // what became of the last key
	width  int
	height int
	answer func(id string, choice elicit.Choice) (string, error)
}

// Keys that are no character.
const (
	keyUp, keyDown, keyEnter, keyBack = "up", "down", "enter", "back"
	keyPageUp, keyPageDown            = "page up", "page down"
)

// keys reads what was typed: characters, and the sequences of the arrow keys.
func keys(b []byte) (list []string) {
	named := []struct{ sequence, key string }{{"\x1b[A", keyUp}, {"\x1bOA", keyUp}, {"\x1b[B", keyDown}, {"\x1bOB", keyDown}, {"\x1b[C", keyEnter}, {"\x1b[D", keyBack},
		{"\x1b[5~", keyPageUp}, {"\x1b[6~", keyPageDown}, {"\r", keyEnter}, {"\n", keyEnter}, {"\x7f", keyBack}, {"k", keyUp}, {"j", keyDown}, {" ", keyPageDown}, {"\x03", "q"}, {"\x04", "q"}}
next:
	for s := string(b); s != ""; {
		for _, n := range named {
			if rest, ok := strings.CutPrefix(s, n.sequence); ok {
				list, s = append(list, n.key), rest
				continue next
			}
		}
		if s[0] == 0x1b { // Escape alone, or a sequence that means nothing here
			if len(s) == 1 {
				list = append(list, keyBack)
			}
			return list
		}
		list, s = append(list, s[:1]), s[1:]
	}
	return list
}

// update takes the calls that wait now. A call that went is left; the choice
// stays on its call, wherever that moves.
func (b *board) update(list []store.Waiting) {
	b.list = list
	if b.at() < 0 {
		b.open, b.seen, b.from, b.chosen, b.asks = false, false, 0, "", ""
		if len(list) > 0 {
			b.chosen = list[0].ID
		}
	}
}

// at is the index of the chosen call, or -1.
func (b *board) at() int {
	for i, w := range b.list {
		if w.ID == b.chosen {
			return i
		}
	}
	return -1
}

// press does what a key means. It reports whether the list is to end. A call can
// be approved only where it is shown in full and its end was shown.
func (b *board) press(key string) (quit bool) {
	at := b.at()
	b.said = ""
	switch {
	case b.asks != "":
		if key == "y" {
			b.give(b.asks)
		}
		b.asks = ""
	case key == "q" && !b.open:
		return true
	case key == "q" || key == keyBack:
		b.open, b.seen, b.from = false, false, 0
	case at < 0:
	case key == "d":
		b.give(elicit.Deny)
	case !b.open && key == keyUp:
		b.chosen = b.list[max(0, at-1)].ID
	case !b.open && key == keyDown:
		b.chosen = b.list[min(len(b.list)-1, at+1)].ID
	case !b.open && key == keyEnter:
		b.open = true
	case !b.open:
		b.said = "Enter shows the call; it can be approved there"
	case key == keyUp:
		b.from--
	case key == keyDown:
		b.from++
	case key == keyPageUp:
		b.from -= b.room()
	case key == keyPageDown:
		b.from += b.room()
	default:
		b.approve(key, b.list[at])
	}
	return false
}

// approve is what the keys o, s and a mean for the call that is open.
func (b *board) approve(key string, w store.Waiting) {
	choice := map[string]elicit.Choice{"o": elicit.AllowOnce, "s": elicit.AllowSession, "a": elicit.AllowAlways}[key]
	switch {
	case choice == "":
	case !b.seen:
		b.said = "see all of it first: the down arrow and the space bar go on"
	case !w.Question.Allows(choice) && w.Question.Once:
		b.said = "this call has more power than its sandbox gives: allow it once or not at all"
	case !w.Question.Allows(choice):
		b.said = "no narrow rule can be made of this call: allow it once or for the session"
	case choice == elicit.AllowAlways:
		b.asks = choice
	default:
		b.give(choice)
	}
}

// keysOf are the keys that approve q.
func keysOf(q elicit.Question) string {
	keys := "o once"
	if q.Allows(elicit.AllowSession) {
		keys += "   s for this session"
	}
	if q.Allows(elicit.AllowAlways) {
		keys += "   a always"
	}
	return keys
}

func (b *board) give(choice elicit.Choice) {
	said, err := b.answer(b.chosen, choice)
	b.said = said
	if err != nil {
		b.said = "NOT DONE: " + oneLine(err.Error())
	}
	b.open, b.seen, b.from = false, false, 0
}

// room is the number of lines between head and foot.
func (b *board) room() int { return max(1, b.height-4) }

// view is the screen, line by line.
func (b *board) view() []string {
	head := fmt.Sprintf("handrail approvals: %d waiting", len(b.list))
	var body []string
	foot := "↑↓ choose   Enter show   d deny   q quit"
	if at := b.at(); b.open && at >= 0 {
		head = "handrail approvals: call " + b.chosen
		body = b.fold(strings.Split(strings.TrimRight(described(b.list[at]), "\n"), "\n"))
		b.from = max(0, min(b.from, len(body)-b.room()))
		end := min(len(body), b.from+b.room())
		b.seen = b.seen || end == len(body)
		if end < len(body) {
			head += fmt.Sprintf("   (%d more lines below)", len(body)-end)
		}
		body = body[b.from:end]
		foot = keysOf(b.list[at].Question) + "   d deny   ← back"
	} else {
		body = b.rows()
	}
	if b.asks != "" {
		foot = "Always allow what stands under \"Always would mean\"?   y yes   any other key no"
	}
	lines := append([]string{head, ""}, body...)
	for len(lines) < b.height-2 {
		lines = append(lines, "")
	}
	lines = append(lines, b.said, foot)
	for i := range lines {
		lines[i] = fit(lines[i], b.width)
	}
	return lines
}

// rows is the list, as much of it as there is room for around the chosen call.
func (b *board) rows() []string {
	if len(b.list) == 0 {
		return []string{"Nothing waits for you. Calls appear here as they come."}
	}
	start := max(0, b.at()-b.room()+1)
	var rows []string
	for _, w := range b.list[start:min(len(b.list), start+b.room())] {
		mark := "  "
		if w.ID == b.chosen {
			mark = "> "
		}
		rows = append(rows, fmt.Sprintf("%s%s  %-10s %-8s %s", mark, w.ID, standingOf(w), ago(w.Asked), headline(w)))
	}
	return rows
}

// fold breaks lines that are too long: nothing of a call is left out.
func (b *board) fold(lines []string) (folded []string) {
	width := max(20, b.width)
	for _, line := range lines {
		r := []rune(line)
		for len(r) > width {
			folded, r = append(folded, string(r[:width])), append([]rune("  "), r[width:]...)
		}
		folded = append(folded, string(r))
	}
	return folded
}

func fit(line string, width int) string {
	if r := []rune(line); len(r) > width {
		return string(r[:max(0, width-1)]) + "…"
	}
	return line
}

// live shows the board in a terminal until the person ends it.
func live(d *desk, in, out *os.File) error {
	state, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return fmt.Errorf("the terminal cannot be used: %w; try `handrail approvals list`", err)
	}
	// The other screen, no cursor, no wrapping; all of it back at the end.
	fmt.Fprint(out, "\x1b[?1049h\x1b[?25l\x1b[?7l")
	defer func() {
		fmt.Fprint(out, "\x1b[?7h\x1b[?25h\x1b[?1049l")
		term.Restore(int(in.Fd()), state)
	}()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	typed := make(chan []byte)
	go func() {
		defer close(typed)
		for {
			buf := make([]byte, 64)
			n, err := in.Read(buf)
			if err != nil {
				return
			}
			typed <- buf[:n]
		}
	}()
	b := &board{answer: func(id string, choice elicit.Choice) (string, error) {
		w, err := d.answer(id, choice, time.Time{})
		return id + " " + became(w, choice), err
	}}
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		list, err := d.store.WaitingCalls(ctx, false)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		b.update(list)
		b.draw(out)
		select {
		case <-ctx.Done():
			return nil
		case <-resized:
		case <-tick.C:
		case buf, ok := <-typed:
			if !ok {
				return nil
			}
			for _, key := range keys(buf) {
				if b.press(key) {
					return nil
				}
				b.view() // what the next key is about must have been laid out
			}
		}
	}
}

// draw writes the screen from its first line on.
func (b *board) draw(out *os.File) {
	var err error
	if b.width, b.height, err = term.GetSize(int(out.Fd())); err != nil || b.width < 20 || b.height < 6 {
		b.width, b.height = 80, 24
	}
	io.WriteString(out, "\x1b[H"+strings.Join(b.view(), "\x1b[K\r\n")+"\x1b[K\x1b[J")
}
