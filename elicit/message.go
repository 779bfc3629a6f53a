package elicit

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What a message shows at most. What does not fit is counted, never dropped
// silently.
const (
	maxShown      = 4 << 10 // bytes of the command
	maxLines      = 40      // lines of the command
	maxItems      = 12      // effects, and reasons
	maxItem       = 300     // characters of one effect or reason
	maxAgent      = 200     // characters of the agent's description
	maxAlways     = 700     // characters of what always would cover
	maxBlanks     = 8       // blanks in a row
	maxLine       = 1000    // characters of one line of the command
	tailOfTheRest = 4       // one part in so many is kept for the end of a long command
)

// Choices are what a person can pick, the safest first.
func (q Question) Choices() []Choice {
	switch {
	case q.Once:
		return []Choice{Deny, AllowOnce}
	case q.Always == "":
		return []Choice{Deny, AllowOnce, AllowSession}
	}
	return []Choice{Deny, AllowOnce, AllowSession, AllowAlways}
}

// Allows reports whether c is one of the question's choices, and one that lets
// the call run.
func (q Question) Allows(c Choice) bool { return c != Deny && slices.Contains(q.Choices(), c) }

// Means says in one clause what picking c does.
func (c Choice) Means() string {
	switch c {
	case AllowOnce:
		return "runs exactly this, one time"
	case AllowSession:
		return "runs exactly this, and again whenever exactly this is called until the session ends"
	case AllowAlways:
		return "runs exactly this, and from now on without a question what is said under \"Always would mean\""
	}
	return "runs nothing"
}

// Message is the question in plain words: tool and directory, the effects, the
// reasons, then the exact command in numbered lines, and last what the agent
// says of it. visible makes control, bidirectional and invisible characters
// visible; what it leaves is escaped here, and nil escapes everything that is
// not printable. Nothing of the call can start a line of its own.
func (q Question) Message(visible func(string) string) string {
	show := func(s string) string { return printable(s, visible) }
	var b strings.Builder
	if q.Dir != "" {
		fmt.Fprintf(&b, "%s wants to run in %s\n", show(q.Tool), show(q.Dir))
	} else {
		fmt.Fprintf(&b, "%s wants to run\n", show(q.Tool))
	}
	shown, cut := lines(q.Command, show)
	if cut != "" {
		fmt.Fprintf(&b, "\nCAUTION: this is too long to show in full: %s. Deny it unless you know what the rest is.\n", cut)
	}
	list(&b, "What it would do", q.Effects, show)
	list(&b, "Why you are asked", q.Reasons, show)
	if shown != "" {
		fmt.Fprintf(&b, "\nExactly this:\n%s", shown)
	}
	if q.Always != "" {
		fmt.Fprintf(&b, "\nAlways would mean:\n- %s\n", clip(show(q.Always), maxAlways))
	}
	if q.AgentSays != "" {
		fmt.Fprintf(&b, "\nThe agent says (not verified): \"%s\"\n", clip(show(q.AgentSays), maxAgent))
	}
	return b.String()
}

// list writes items under a heading, and how many did not fit.
func list(b *strings.Builder, heading string, items []string, show func(string) string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n", heading)
	for i, item := range items {
		if i == maxItems {
			fmt.Fprintf(b, "- and %d more\n", len(items)-i)
			return
		}
		fmt.Fprintf(b, "- %s\n", clip(show(item), maxItem))
	}
}

// lines writes the command as numbered lines, the head and the tail of it where
// it is too long. cut says what is not shown; empty means that all of it is.
func lines(command string, show func(string) string) (text, cut string) {
	if command == "" {
		return "", ""
	}
	all := strings.Split(strings.TrimSuffix(command, "\n"), "\n")
	head, tail, bytes := window(all)
	var b strings.Builder
	clipped := 0
	one := func(i int) {
		s := show(all[i])
		if short := clip(s, maxLine); short != s {
			s = short
			clipped++
		}
		fmt.Fprintf(&b, "%4d | %s\n", i+1, s)
	}
	for i := range head {
		one(i)
	}
	if tail > head {
		fmt.Fprintf(&b, "     [%d lines with %d bytes are not shown]\n", tail-head, bytes)
	}
	for i := tail; i < len(all); i++ {
		one(i)
	}
	var parts []string
	if tail > head {
		parts = append(parts, fmt.Sprintf("%d of its %d lines are left out", tail-head, len(all)))
	}
	if clipped == 1 {
		parts = append(parts, "1 line is cut short")
	} else if clipped > 0 {
		parts = append(parts, fmt.Sprintf("%d lines are cut short", clipped))
	}
	return b.String(), strings.Join(parts, ", ")
}

// window picks which lines are shown: the first head ones and those from tail
// on. bytes is the size of what lies between.
func window(all []string) (head, tail, bytes int) {
	cost := func(i int) int { return min(len(all[i]), maxLine) + 1 }
	total := 0
	for i := range all {
		total += cost(i)
	}
	if len(all) <= maxLines && total <= maxShown {
		return len(all), len(all), 0
	}
	tail = len(all)
	for room := maxShown / tailOfTheRest; tail > 0 && len(all)-tail < maxLines/tailOfTheRest; tail-- {
		if room -= cost(tail - 1); room < 0 {
			break
		}
	}
	for room := maxShown - maxShown/tailOfTheRest; head < tail && head < maxLines-maxLines/tailOfTheRest; head++ {
		if room -= cost(head); room < 0 {
			break
		}
	}
	for i := head; i < tail; i++ {
		bytes += len(all[i]) + 1
	}
	return head, tail, bytes
}

// printable makes s safe to show on one line: visible first, then every
// character that could move, hide or reorder others as \u{..}, and long runs of
// blanks as their number.
func printable(s string, visible func(string) string) string {
	if visible != nil { // line by line: what shows several may number them
		parts := strings.Split(s, "\n")
		for i, part := range parts {
			parts[i] = visible(part)
		}
		s = strings.Join(parts, "\n")
	}
	var b strings.Builder
	blanks := 0
	flush := func() {
		if blanks > maxBlanks {
			fmt.Fprintf(&b, " [%d blanks] ", blanks)
		} else {
			b.WriteString(strings.Repeat(" ", blanks))
		}
		blanks = 0
	}
	for i, r := range s {
		if r == ' ' {
			blanks++
			continue
		}
		flush()
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case harmless(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
	}
	flush()
	return b.String()
}

// harmless reports whether r takes its own place on the line and nothing else:
// no control or format character, no separator but the blank, no variation
// selector, no filler that shows as nothing.
func harmless(r rune) bool {
	switch {
	case !unicode.IsGraphic(r), unicode.Is(unicode.Zs, r), unicode.Is(unicode.Variation_Selector, r):
		return false
	case r == '\u115F', r == '\u1160', r == '\u3164', r == '\uFFA0', r == '\u2800', r == '\u034F': // blank letters
		return false
	}
	return true
}

// clip cuts s after n characters and says how many are gone.
func clip(s string, n int) string {
	count := utf8.RuneCountInString(s)
	if count <= n {
		return s
	}
	runes := []rune(s)
	return fmt.Sprintf("%s [%d more characters]", string(runes[:n]), count-n)
}
