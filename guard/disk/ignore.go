package disk

import (
	"path"
	"strings"
)

// ignoreRule is one line of a gitignore file (gitignore(5)).
type ignoreRule struct {
	segments []string // of the pattern, split at "/"; "**" spans any number
	negate   bool     // "!": taken out again
	dirOnly  bool     // trailing "/"
	anywhere bool     // no "/" inside: matches the base name at any depth
}

// parseIgnore reads the rules of one gitignore file. Lines that are no valid
// pattern match nothing.
func parseIgnore(text string) []ignoreRule {
	var rules []ignoreRule
	for line := range strings.Lines(text) {
		line = trimIgnoreLine(line)
		if line == "" || line[0] == '#' {
			continue
		}
		var r ignoreRule
		if line[0] == '!' {
			r.negate, line = true, line[1:]
		}
		line = strings.ReplaceAll(line, "[!", "[^")
		if rest, ok := strings.CutSuffix(line, "/"); ok {
			r.dirOnly, line = true, rest
		}
		r.anywhere = !strings.Contains(line, "/")
		r.segments = strings.Split(strings.TrimPrefix(line, "/"), "/")
		rules = append(rules, r)
	}
	return rules
}

// trimIgnoreLine takes off the line end and trailing spaces that are not escaped.
func trimIgnoreLine(line string) string {
	line = strings.TrimRight(line, "\r\n")
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, "\\ ") {
		line = line[:len(line)-1]
	}
	return line
}

// match reports whether the rule speaks about rel, a path relative to the
// directory of the gitignore file.
func (r ignoreRule) match(rel string, dir bool) bool {
	if r.dirOnly && !dir {
		return false
	}
	if r.anywhere {
		ok, err := path.Match(r.segments[0], path.Base(rel))
		return ok && err == nil
	}
	return matchSegments(r.segments, strings.Split(rel, "/"))
}

func matchSegments(pattern, name []string) bool {
	for i, p := range pattern {
		if p == "**" {
			if i == len(pattern)-1 {
				return len(name) > 0
			}
			for j := range len(name) + 1 {
				if matchSegments(pattern[i+1:], name[j:]) {
					return true
				}
			}
			return false
		}
		if len(name) == 0 {
			return false
		}
		if ok, err := path.Match(p, name[0]); !ok || err != nil {
			return false
		}
		name = name[1:]
	}
	return len(name) == 0
}

// ignored says what the rules of one file say of rel: 1 ignored, -1 taken out
// again, 0 nothing. The last rule that matches counts.
func ignored(rules []ignoreRule, rel string, dir bool) int {
	for i := len(rules) - 1; i >= 0; i-- {
		if rules[i].match(rel, dir) {
			if rules[i].negate {
				return -1
			}
			return 1
		}
	}
	return 0
}
