package plugin

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"
)

// paths are patterns of paths, less those that begin with "!". A pattern is
// absolute, begins with "~/", or is relative to every workspace root; one
// without a slash is a name in any directory. "**" stands for any number of
// directories. A pattern is about what it names and all that is below; "dir/**"
// only about what is below.
type paths struct{ yes, no []*place }

// maxParts bounds the directories of a pattern: match keeps a bit for each.
const maxParts = 50

// place is one pattern of a path.
type place struct {
	parts    []*glob // nil stands for "**"
	relative bool    // to a workspace root
}

func newPaths(texts []string, home string) (*paths, error) {
	p := &paths{}
	for _, text := range texts {
		to := &p.yes
		text, not := strings.CutPrefix(text, "!")
		if not {
			to = &p.no
		}
		one, err := newPlace(text, home)
		if err != nil {
			return nil, err
		}
		*to = append(*to, one)
		if led, ok := follow(text); ok { // the same place by its other name
			if one, err := newPlace(led, home); err == nil {
				*to = append(*to, one)
			}
		}
	}
	return p, nil
}

func newPlace(text, home string) (*place, error) {
	pl := &place{}
	full := text
	if rest, ok := strings.CutPrefix(text, "~/"); ok {
		if home == "" {
			return nil, fmt.Errorf("%q: the home directory is not known", text)
		}
		full = home + "/" + rest
	}
	trimmed := strings.TrimSuffix(full, "/")
	switch {
	case trimmed == "" && full != "/", strings.HasPrefix(text, "~") && !strings.HasPrefix(text, "~/"), strings.Contains(text, "$"):
		return nil, fmt.Errorf("%q: want a path, absolute, from ~/ or relative to the workspace; variables are not read", text)
	case path.IsAbs(full):
	case strings.Contains(trimmed, "/") || trimmed == ".":
		pl.relative = true
	default:
		trimmed = "**/" + trimmed
	}
	for _, part := range strings.Split(trimmed, "/") {
		switch part {
		case "", ".":
			continue
		case "..":
			return nil, fmt.Errorf("%q: .. is not read in patterns", text)
		case "**":
			pl.parts = append(pl.parts, nil)
			continue
		}
		if strings.Contains(part, "**") {
			return nil, fmt.Errorf("%q: ** stands for whole directories, as in dir/**", text)
		}
		g, err := newGlob(part)
		if err != nil {
			return nil, err
		}
		pl.parts = append(pl.parts, g)
	}
	if len(pl.parts) > maxParts {
		return nil, fmt.Errorf("%q: more than %d directories", text, maxParts)
	}
	if n := len(pl.parts); n > 0 && pl.parts[n-1] == nil { // what is below, and not the directory
		star, err := newGlob("*")
		if err != nil {
			return nil, err
		}
		pl.parts = append(pl.parts, star)
	}
	return pl, nil
}

// follow resolves the links in the part of an absolute pattern that names
// directories plainly.
func follow(text string) (string, bool) {
	at := strings.IndexAny(text, "*?[")
	if !path.IsAbs(text) {
		return "", false
	}
	if at < 0 {
		at = len(text)
	}
	dir := strings.TrimSuffix(text[:strings.LastIndexByte(text[:at], '/')+1], "/")
	if dir == "" {
		return "", false
	}
	led, err := filepath.EvalSymlinks(dir)
	return led + text[len(dir):], err == nil && led != dir
}

// below returns the part of file below dir, without slashes at its ends.
func below(dir, file string) (rest string, ok bool) {
	if rest, ok = strings.CutPrefix(file, strings.TrimSuffix(dir, "/")); !ok || rest != "" && rest[0] != '/' {
		return "", false
	}
	return strings.Trim(rest, "/"), true
}

// covers reports whether the path itself, with all that is below it, is what
// the patterns are about.
func (p *paths) covers(roots []string, file string) bool {
	is := func(pl *place) bool { return pl.meets(roots, file, false, (*glob).covers) }
	not := func(pl *place) bool { return pl.meets(roots, file, true, (*glob).touches) }
	return (len(p.yes) == 0 || anyPlace(p.yes, is)) && !anyPlace(p.no, not)
}

// touches reports whether the path, or with open something below it, may be
// what the patterns are about, whatever the case of letters.
func (p *paths) touches(roots []string, file string, open bool) bool {
	is := func(pl *place) bool { return pl.meets(roots, file, open, (*glob).touches) }
	not := func(pl *place) bool { return pl.meets(roots, file, false, (*glob).covers) }
	return (len(p.yes) == 0 || anyPlace(p.yes, is)) && !anyPlace(p.no, not)
}

func anyPlace(list []*place, is func(*place) bool) bool {
	for _, pl := range list {
		if is(pl) {
			return true
		}
	}
	return false
}

// meets reports whether the pattern is about file, or with open perhaps about
// something below it.
func (pl *place) meets(roots []string, file string, open bool, fits func(*glob, string) bool) bool {
	if !pl.relative {
		return match(pl.parts, strings.Trim(file, "/"), open, fits)
	}
	for _, root := range roots {
		if rest, ok := below(root, file); ok {
			if match(pl.parts, rest, open, fits) {
				return true
			}
		} else if _, above := below(file, root); above && open {
			return true
		}
	}
	return false
}

// match compares a pattern with the parts of a path. What is below a match
// belongs to it. With open, a path that ends before the pattern does may go on
// to match.
func match(pattern []*glob, rest string, open bool, fits func(*glob, string) bool) bool {
	at := uint64(1) // bit k: the first k parts of the pattern may have been met
	for {
		for k, p := range pattern { // ** may stand for nothing
			if at&(1<<k) != 0 && p == nil {
				at |= 1 << (k + 1)
			}
		}
		if at&(1<<len(pattern)) != 0 {
			return true
		}
		if rest == "" {
			return open && at != 0
		}
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		next := uint64(0)
		for k, p := range pattern {
			switch {
			case at&(1<<k) == 0:
			case p == nil:
				next |= 1 << k
			case fits(p, part):
				next |= 1 << (k + 1)
			}
		}
		if at = next; at == 0 {
			return false
		}
	}
}
