package plugin

import (
	"fmt"
	"slices"
	"strings"

	"handrail/guard"
)

// Loosened says what trust in a project's guard changes, as lines of a diff
// against the state without it: what it allows or stands in for and what it tells
// the Guard Agent (+), and which guards of the same ID it replaces (-). None: it
// only tightens. data is its file, earlier are the guards before it.
func (g *Guard) Loosened(data []byte, earlier []*Guard) (lines []string) {
	for _, old := range earlier {
		if old.ID == g.ID {
			lines = append(lines, "-the guard "+old.ID+" of "+old.File+": "+old.says())
		}
	}
	if g.Off {
		if len(lines) > 0 {
			lines = append(lines, "+nothing: it is switched off")
		}
		return lines
	}
	if len(lines) > 0 {
		lines = append(lines, "+the guard "+g.ID+" of "+g.File+": "+g.says())
	}
	source := strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")
	for i, p := range g.patterns {
		if p.verdict != guard.VerdictAllow && len(p.insteadOf) == 0 {
			continue
		}
		end := len(source)
		if i+1 < len(g.patterns) {
			end = g.patterns[i+1].line - 1
		}
		for n, line := range source[min(p.line-1, len(source)):min(end, len(source))] {
			if n > 0 && line == "---" || strings.TrimSpace(line) == "" {
				break
			}
			lines = append(lines, "+"+line)
		}
	}
	if g.Prose != "" {
		lines = append(lines, "+the Guard Agent is told:")
		for _, line := range strings.Split(g.Prose, "\n") {
			lines = append(lines, "+    "+line)
		}
	}
	return lines
}

// says is what the patterns of a guard say, each once.
func (g *Guard) says() string {
	var all []string
	for _, p := range g.patterns {
		word := p.verdict.String()
		if len(p.insteadOf) > 0 {
			word += " instead of " + strings.Join(p.insteadOf, ", ")
		}
		if s := fmt.Sprintf("%s: %s", word, p.reason); !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	if g.Off {
		return "switched off"
	}
	return strings.Join(all, "; ")
}
