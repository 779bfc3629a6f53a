package rules

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// pattern is a compiled pattern of paths. A pattern without a slash is a name,
// wherever it lies; one with a slash stands below each root, or is absolute.
// "*" and "?" stay within a name, "**" crosses directories. What lies below a
// match belongs to it in lists of what is refused.
type pattern struct {
	text  string
	name  bool
	match *regexp.Regexp // of the name, or of the path from where the pattern stands
	fold  *regexp.Regexp // the same in any case of letters
}

// CheckPath says what is wrong with a pattern of paths.
func CheckPath(p string) error {
	switch {
	case strings.ContainsAny(p, "[]{}\\\x00"):
		return fmt.Errorf("%q: only *, ** and ? stand for other characters", p)
	case p == "" || slices.Contains(strings.Split(p, "/"), ".."):
		return fmt.Errorf("%q: want a path below a root, an absolute one, or a name", p)
	}
	return nil
}

// CheckDir says what is wrong with a directory: a pattern without wildcards.
func CheckDir(p string) error {
	if strings.ContainsAny(p, "*?") {
		return fmt.Errorf("%q: want a directory, without * and ?", p)
	}
	return CheckPath(p)
}

// CoversPath reports whether the pattern wide surely has all paths of narrow.
func CoversPath(wide, narrow string) bool {
	if anything(wide) {
		return true
	}
	if dir, ok := strings.CutSuffix(wide, "/**"); ok && !strings.ContainsAny(dir, "*?") {
		return strings.HasPrefix(narrow, dir+"/")
	}
	base := path.Base(narrow)
	return !strings.Contains(wide, "/") && !strings.ContainsAny(base, "*?") && glob(wide).MatchString(base)
}

// CoversDir reports whether the directory wide holds narrow.
func CoversDir(wide, narrow string) bool {
	wide, narrow = path.Clean(wide), path.Clean(narrow)
	return wide == narrow || strings.HasPrefix(narrow, wide+"/") || wide == "." && !path.IsAbs(narrow)
}

// glob makes a regular expression of a pattern.
func glob(p string) *regexp.Regexp {
	if strings.HasSuffix(p, "/") {
		p += "**"
	}
	var b strings.Builder
	b.WriteString("^")
	for rest := p; rest != ""; {
		switch {
		case rest == "/**":
			b.WriteString("(?:/.*)?")
			rest = ""
		case strings.HasPrefix(rest, "**/"):
			b.WriteString("(?:.*/)?")
			rest = rest[3:]
		case strings.HasPrefix(rest, "**"):
			b.WriteString(".*")
			rest = rest[2:]
		case rest[0] == '*':
			b.WriteString("[^/]*")
			rest = rest[1:]
		case rest[0] == '?':
			b.WriteString("[^/]")
			rest = rest[1:]
		default:
			end := strings.IndexAny(rest[1:], "*?/") + 1
			if end <= 0 {
				end = len(rest)
			}
			b.WriteString(regexp.QuoteMeta(rest[:end]))
			rest = rest[end:]
		}
	}
	b.WriteString("$")
	return regexp.MustCompile("(?s)" + b.String()) // every part is quoted or fixed
}

func compile(patterns []string) []pattern {
	var all []pattern
	for _, p := range patterns {
		re := glob(strings.TrimPrefix(p, "./"))
		all = append(all, pattern{text: p, name: !strings.Contains(p, "/"), match: re, fold: regexp.MustCompile("(?i)" + re.String())})
	}
	return all
}

// rest is file as seen from where the pattern stands: once for each root that
// holds it.
func (p *pattern) rest(roots []string, file string) (rests []string) {
	if strings.HasPrefix(p.text, "/") {
		return []string{file}
	}
	for _, r := range roots {
		if rel, ok := strings.CutPrefix(file, strings.TrimSuffix(r, "/")+"/"); ok {
			rests = append(rests, rel)
		} else if file == r && strings.HasSuffix(p.text, "**") { // "./**" is the root with all below
			rests = append(rests, "")
		}
	}
	return rests
}

// has reports whether the pattern names exactly this file.
func (p *pattern) has(roots []string, file string) bool { return p.names(p.match, roots, file) }

func (p *pattern) names(re *regexp.Regexp, roots []string, file string) bool {
	if p.name {
		return re.MatchString(path.Base(file))
	}
	return slices.ContainsFunc(p.rest(roots, file), re.MatchString)
}

// holds reports whether the pattern names the file or a directory above it, in
// any case of letters: file systems of macOS fold it.
func (p *pattern) holds(roots []string, file string) bool {
	for dir := file; dir != "/" && dir != "."; dir = path.Dir(dir) {
		if p.names(p.fold, roots, dir) {
			return true
		}
	}
	return false
}

// mayLieBelow reports whether something below dir may match.
func (p *pattern) mayLieBelow(roots []string, dir string) bool {
	if p.name {
		return true
	}
	literal := p.text
	if i := strings.IndexAny(literal, "*?"); i >= 0 {
		literal = literal[:i]
	}
	literal = strings.TrimSuffix(literal, "/")
	if strings.HasPrefix(p.text, "/") {
		return within(strings.ToLower(dir), strings.ToLower(literal)) || within(strings.ToLower(literal), strings.ToLower(dir)) || literal == ""
	}
	return slices.ContainsFunc(roots, func(r string) bool {
		l := strings.ToLower(path.Join(r, literal))
		return within(strings.ToLower(dir), l) || within(l, strings.ToLower(dir))
	})
}

// spans reports whether the pattern has everything at and below dir. A name does
// where any name fits it: "**".
func (p *pattern) spans(roots []string, dir string) bool {
	if p.name {
		return anything(p.text)
	}
	return strings.HasSuffix(p.text, "**") && p.has(roots, dir+"/\x00/\x00") && p.has(roots, dir)
}

// anything reports whether a pattern is stars alone: the name of any file.
func anything(p string) bool { return p != "" && strings.Trim(p, "*") == "" }
