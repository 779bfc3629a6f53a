package plugin

import (
	"path"
	"regexp"
	"slices"

	"handrail/guard"
)

// judging is one guard's look at one call. What one of its patterns has spoken
// about, its later patterns leave alone: the first that matches counts.
type judging struct {
	*view
	pass    *guard.Pass
	g       *Guard
	effects []bool // that a pattern spoke about
	allowed []bool // of these: that one allowed
	texts   []bool // of commands
	raw     bool
}

// evaluate reports what the guard says about the call.
func (g *Guard) evaluate(p *guard.Pass, v *view) {
	n := len(v.Facts.Effects)
	marks := make([]bool, 2*n+len(v.Facts.Commands))
	j := judging{view: v, pass: p, g: g, effects: marks[:n], allowed: marks[n : 2*n], texts: marks[2*n:]}
	for i := range g.patterns {
		j.pattern(&g.patterns[i])
	}
}

func (j *judging) pattern(p *pattern) {
	own := j.g.applies(j.ToolName)
	switch {
	case p.verdict == guard.VerdictAllow || len(p.insteadOf) > 0:
		if own {
			j.loosen(p)
		}
		return
	case p.match != nil && own && j.ToolName == bash:
		j.text(p)
	case p.when != nil && own:
		j.facts(p)
	}
	if p.file != nil {
		j.file(p)
	}
}

// say reports one finding of a pattern.
func (j *judging) say(p *pattern, effect int, verdict guard.Verdict, reason string) {
	f := guard.Finding{Verdict: verdict, Effect: effect, Reason: reason, Instead: p.instead,
		Source: p.source, Untrusted: j.g.Project && !j.g.Trusted}
	if len(p.insteadOf) == 0 {
		j.pass.Add(f)
	}
	for _, id := range p.insteadOf {
		f.InsteadOf = id
		j.pass.Add(f)
	}
}

// loosen speaks about the effects that the pattern covers.
func (j *judging) loosen(p *pattern) {
	byText := p.match != nil && j.ToolName == bash && j.wholly(p)
	byName := p.file != nil && j.ToolName != bash && j.named(p.file)
	if byText {
		j.raw = true
		for i := range j.texts {
			j.texts[i] = true
		}
	}
	for i := range j.Facts.Effects {
		e := &j.Facts.Effects[i]
		if j.effects[i] || !byName && p.when == nil && (!byText || e.Command < 0) || !p.covers(j.view, e) {
			continue
		}
		j.effects[i], j.allowed[i] = true, p.verdict == guard.VerdictAllow
		j.say(p, i, p.verdict, p.reason)
	}
}

// wholly reports whether the expression matches every command of the call from
// end to end, and there is none that cannot be known.
func (j *judging) wholly(p *pattern) bool {
	return len(j.view.texts) > 0 && !j.hidden && !j.raw && !slices.ContainsFunc(j.view.texts, func(w words) bool {
		return w.whole == "" || !p.match.MatchString(w.whole)
	})
}

// named reports whether the file of a file tool has such a name, as it was
// given and where it leads.
func (j *judging) named(g *glob) bool {
	e := &j.Facts.Effects[0]
	return g.covers(path.Base(e.Target)) && (e.Written == "" || g.covers(path.Base(e.Written)))
}

// text speaks about commands in which the expression is found, else about the
// command line in which it is.
func (j *judging) text(p *pattern) {
	spoke := false
	for i, w := range j.view.texts {
		if j.texts[i] || j.all(i) || !slices.ContainsFunc(w.forms, p.match.MatchString) {
			continue
		}
		j.texts[i], spoke = true, true
		j.say(p, j.first(i), p.verdict, p.reason)
	}
	if !j.raw && (len(j.allowed) == 0 || slices.Contains(j.allowed, false)) && matches(p.match, j.view.raw) {
		if j.raw = true; !spoke {
			j.say(p, -1, p.verdict, p.reason)
		}
	}
}

func matches(re *regexp.Regexp, s string) bool { return s != "" && re.MatchString(s) }

// all reports whether this guard allowed all that a command does.
func (j *judging) all(command int) bool {
	some := false
	for i := range j.Facts.Effects {
		if j.Facts.Effects[i].Command == command {
			if some = true; !j.allowed[i] {
				return false
			}
		}
	}
	return some
}

// first is the first effect of a command, or -1.
func (j *judging) first(command int) int {
	return slices.IndexFunc(j.Facts.Effects, func(e guard.Effect) bool { return e.Command == command })
}

// file speaks about files with such a name: those of the file tools, and what a
// command does to one as these tools do. `echo > x` is a write like any other.
func (j *judging) file(p *pattern) {
	for i := range j.Facts.Effects {
		e := &j.Facts.Effects[i]
		if j.effects[i] || !alike(j.g.Tools, j.ToolName, e) || !(p.file.touches(path.Base(e.Target)) || e.Written != "" && p.file.touches(path.Base(e.Written))) {
			continue
		}
		j.effects[i] = true
		j.say(p, i, p.verdict, p.reason)
	}
}

// alike reports whether e is what one of tools does to a file (none: any of
// them): an effect of that tool, or of a command.
func alike(tools []string, tool string, e *guard.Effect) bool {
	is := func(t string) bool { return len(tools) == 0 || slices.Contains(tools, t) }
	switch {
	case tool != bash:
		return is(tool) && onDisk(e.Kind)
	case e.Kind == guard.Read:
		return e.Action == "" && is(read)
	case e.Kind == guard.Write || e.Kind == guard.Delete:
		return is(write) || is(edit)
	}
	return false
}

// facts speaks about effects, or about commands where the conditions are only
// about these.
func (j *judging) facts(p *pattern) {
	if p.when.aboutCommand() && j.ToolName == bash {
		for i := range j.Facts.Commands {
			if j.texts[i] || j.all(i) || !p.when.inCall(j.view) {
				continue
			}
			if c := p.when.touchesCommand(&j.Facts.Commands[i]); c != no {
				j.texts[i] = c == sure
				j.found(p, j.first(i), c)
			}
		}
		return
	}
	for i := range j.Facts.Effects {
		if j.effects[i] {
			continue
		}
		if c := p.when.touches(j.view, &j.Facts.Effects[i]); c != no {
			j.effects[i] = c == sure
			j.found(p, i, c)
		}
	}
}

// found speaks about what is so, or may be: a person can tell which, so that a
// deny becomes a question there, and later patterns may still be sure.
func (j *judging) found(p *pattern, effect int, c chance) {
	if c == maybe && p.verdict == guard.VerdictDeny {
		j.say(p, effect, guard.VerdictAsk, p.unsure)
		return
	}
	j.say(p, effect, p.verdict, p.reason)
}
