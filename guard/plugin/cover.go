package plugin

import (
	"path"
	"slices"

	"handrail/guard"
)

// covers reports whether an allow may speak about e: all that e may be lies
// within the conditions. What stands in for a built-in rule must say which path
// or host it means; without `path`, an allow is about the workspace only.
func (p *pattern) covers(v *view, e *guard.Effect) bool {
	w := p.when
	if w == nil {
		w = &when{}
	}
	if !e.Exact || e.Kind == guard.Unknown || !w.hasKind(e) || !w.inCall(v) || !w.coversCommand(v.command(e)) {
		return false
	}
	if e.Kind == guard.Code && (e.Action == "stdin" || e.Action == "downloaded") && !w.names(e) {
		return false // no word of the call says what runs
	}
	switch isPath := path.IsAbs(e.Target); {
	case w.path != nil:
		if !isPath || !w.path.covers(v.Roots, e.Target) {
			return false
		}
	case isPath && (len(p.insteadOf) > 0 || !v.inRoots(e.Target)), onDisk(e.Kind) && !isPath:
		return false
	}
	switch {
	case w.host != nil:
		return (e.Kind == guard.Network || e.Kind == guard.Remote) && coversHost(w.host, e.Target)
	case e.Kind == guard.Network:
		return len(p.insteadOf) == 0
	}
	return true
}

func (v *view) inRoots(file string) bool {
	return slices.ContainsFunc(v.Roots, func(root string) bool {
		_, ok := below(root, file)
		return ok
	})
}

// inCall reports whether what is said about the call as a whole holds.
func (w *when) inCall(v *view) bool {
	return (len(w.tools) == 0 || slices.Contains(w.tools, v.ToolName)) &&
		(len(w.languages) == 0 || slices.ContainsFunc(w.languages, func(l string) bool { return slices.Contains(v.languages, l) }))
}

// coversCommand reports whether c is wholly what the conditions say: each of
// its words, and no wrapper that is not named.
func (w *when) coversCommand(c *guard.Command) bool {
	if w.command == nil && !w.hasArgs && w.via == nil {
		return true
	}
	if c == nil || c.Name == "" || w.command != nil && !w.command.covers(c.Name) {
		return false
	}
	if w.via == nil && len(c.Via) > 0 || w.via != nil && (len(c.Via) == 0 || !allOf(c.Via, w.via.covers)) {
		return false
	}
	return !w.hasArgs || w.coversArgs(c.Args)
}

func allOf(list []string, is func(string) bool) bool {
	return !slices.ContainsFunc(list, func(s string) bool { return !is(s) })
}

// coversArgs reports whether args are these words and no others; "**" stands
// for any number.
func (w *when) coversArgs(args []guard.Word) bool {
	if slices.ContainsFunc(args, func(a guard.Word) bool { return !a.Exact }) {
		return false
	}
	at := map[int]bool{0: true} // how many of the patterns are used up
	skip := func() {
		for k := range w.args {
			if at[k] && w.anyArgs[k] {
				at[k+1] = true
			}
		}
	}
	for _, a := range args {
		skip()
		next := map[int]bool{}
		for k := range at {
			switch {
			case k == len(w.args):
			case w.anyArgs[k]:
				next[k] = true
			case w.args[k].covers(a.Text):
				next[k+1] = true
			}
		}
		at = next
	}
	skip()
	return at[len(w.args)]
}

func coversHost(g *globs, target string) bool {
	forms := hosts(target)
	yes := len(g.yes) == 0 || slices.ContainsFunc(forms, func(f string) bool { return anyOf(g.yes, func(g *glob) bool { return g.covers(f) }) })
	return yes && !slices.ContainsFunc(forms, func(f string) bool { return anyOf(g.no, func(g *glob) bool { return g.touches(f) }) })
}
