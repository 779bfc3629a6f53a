package plugin

import (
	"path"
	"slices"
	"strings"

	"handrail/guard"
)

// chance says whether something is what a pattern is about.
type chance uint8

const (
	no    chance = iota
	maybe        // that depends on what is not known yet
	sure
)

// touches says whether e may be what the conditions are about: some of what it
// may be lies within them.
func (w *when) touches(v *view, e *guard.Effect) chance {
	if !w.hasKind(e) || !w.inCall(v) {
		return no
	}
	return min(w.touchesCommand(v.command(e)), w.touchesPath(v, e), w.touchesHost(e))
}

func (w *when) touchesPath(v *view, e *guard.Effect) chance {
	switch {
	case w.path == nil:
		return sure
	case !path.IsAbs(e.Target):
		if onDisk(e.Kind) {
			return maybe // it was not resolved
		}
		return no
	}
	typed := v.writtenOnce(e)
	all := e.Exact && takesAll(e)
	if w.path.touches(v.Roots, e.Target, all) || typed != "" && w.path.touches(v.Roots, typed, all) {
		return sure
	}
	if !e.Exact && w.path.touches(v.Roots, e.Target, true) {
		return maybe
	}
	return no
}

// takesAll reports whether e is about everything below its target: so is also
// what removes or moves a directory by its name.
func takesAll(e *guard.Effect) bool { return e.Deep || e.Kind == guard.Delete }

func (w *when) touchesHost(e *guard.Effect) chance {
	switch {
	case w.host == nil:
		return sure
	case e.Kind != guard.Network && e.Kind != guard.Remote:
		return no
	case slices.ContainsFunc(hosts(e.Target), w.host.touches):
		return sure
	case !e.Exact:
		return maybe
	}
	return no
}

// touchesCommand says whether c has the name, a wrapper of these, and all of
// the words in this order, whatever stands between them.
func (w *when) touchesCommand(c *guard.Command) chance {
	if w.command == nil && !w.hasArgs && w.via == nil {
		return sure
	}
	if c == nil || w.command != nil && !w.command.touches(c.Name) || w.via != nil && !slices.ContainsFunc(c.Via, w.via.touches) {
		return no
	}
	switch {
	case w.inOrder(c.Args, false):
		return sure
	case w.inOrder(c.Args, true):
		return maybe
	}
	return no
}

// inOrder reports whether the patterns of args are met one after the other.
// With unknown, a word that is not known may be any of those it can be.
func (w *when) inOrder(args []guard.Word, unknown bool) bool {
	k := 0
	skip := func() {
		for k < len(w.args) && w.anyArgs[k] {
			k++
		}
	}
	skip()
	for i := range args {
		a := &args[i]
		for k < len(w.args) && (a.Exact && w.args[k].touches(a.Text) || unknown && mayBe(a, w.args[k])) {
			k++
			skip()
			if a.Exact {
				break
			}
		}
	}
	return k == len(w.args)
}

// mayBe reports whether a word of which only the beginning is known may turn
// out to meet a pattern.
func mayBe(w *guard.Word, g *glob) bool {
	if w.Exact || w.Plain && strings.HasPrefix(g.text, "-") {
		return false
	}
	known := fold(w.Text)
	return strings.HasPrefix(g.head, known) || strings.HasPrefix(known, g.head) && len(g.head) < len(g.text)
}
