package shell

import (
	"strings"

	"handrail/guard"
)

// stream is what could be told of the data that flows through a pipe, a file
// or a substitution. With class exact, s is all of it; with name and below,
// every line is a word or a path that begins with s.
type stream struct {
	text
	cmd   int    // the command that writes it, or -1
	file  string // the file that it is read from, or ""
	depth int    // conditional commands around the place that reads it
	some  bool   // something was added
}

// add appends what one more command writes. depth counts the conditional
// commands around it: what only may be written makes the whole unknown.
func (s *stream) add(o stream, depth int) {
	if o.cmd >= 0 {
		s.cmd = o.cmd
	}
	if o.class == exact && o.s == "" && len(o.from) == 0 {
		return
	}
	s.from = s.from.with(o.from)
	sure := depth <= s.depth
	switch {
	case !s.some && (sure || o.class != exact):
		s.s, s.class, s.trait, s.file = o.s, o.class, o.trait, o.file
	case s.class == exact && o.class == exact && sure && len(s.s)+len(o.s) < 1<<18:
		s.s += o.s
	default:
		s.file, s.trait = "", s.trait.both(o.trait)
		if (s.class == name || s.class == below) && s.class == o.class && s.s == o.s {
			break
		}
		s.s, s.class = "", wild
	}
	s.some = true
}

// lines returns the known lines without their ends.
func (s *stream) lines() []string {
	t := strings.TrimSuffix(s.s, "\n")
	if t == "" {
		return nil
	}
	return strings.Split(t, "\n")
}

// substituted returns the value of $(...) over the stream.
func (s *stream) substituted() text {
	t := s.text
	if t.class == exact {
		t.s = strings.TrimRight(t.s, "\n")
	}
	return t
}

// flow says that an effect takes the data of others.
func (w *reading) flow(i int, from taint) {
	e := &w.facts.Effects[i]
	best := -1
	for _, f := range from {
		if f == i || f >= len(w.facts.Effects) {
			continue
		}
		k := w.facts.Effects[f].Kind
		want := guard.Network
		if e.Kind == guard.Network {
			want = guard.Read
		}
		if best < 0 || k == want && w.facts.Effects[best].Kind != want {
			best = f
		}
	}
	if e.From < 0 {
		e.From = best
	}
	if e.Kind != guard.Network || e.Action != "send" && e.Action != "shell" {
		return
	}
	// Every file that goes to a host is an effect of its own.
	base := *e
	for _, f := range from {
		if f == base.From || f == i || f >= len(w.facts.Effects) || w.facts.Effects[f].Kind != guard.Read {
			continue
		}
		j := w.emit(base)
		w.facts.Effects[j].From = f
	}
}
