package host

import (
	"fmt"
	"slices"
	"strings"
)

// List says which hosts may be reached. The zero value is none.
type List struct{ allow, deny []pattern }

// pattern is one entry: the name, or what ends in "."+name where wild is set,
// on port, or where that is 0 on the ports of HTTP and HTTPS.
type pattern struct {
	name string
	wild bool
	port uint16
}

// Parse reads a list. An entry is a host ("example.org"), all hosts below one
// ("*.example.org", without example.org itself), either on one port
// ("example.org:8443"), the name of a built-in list ("registries", "forges"),
// or one of these after "!", which takes it out again, wherever it stands.
func Parse(entries ...string) (List, error) {
	var l List
	for _, e := range entries {
		to := &l.allow
		text, taken := strings.CutPrefix(e, "!")
		if taken {
			to = &l.deny
		}
		if hosts, ok := builtin[text]; ok {
			*to = append(*to, hosts...)
			continue
		}
		p, err := parse(text)
		if err != nil {
			return List{}, fmt.Errorf("%q: want example.org, *.example.org, example.org:8443, or one of %s: %w", e, strings.Join(Lists(), ", "), err)
		}
		*to = append(*to, p)
	}
	return l, nil
}

func parse(text string) (pattern, error) {
	var p pattern
	var err error
	text, p.wild = strings.CutPrefix(text, "*.")
	if strings.Contains(text, ":") {
		p.name, p.port, err = Target(text, 0)
	} else {
		p.name, err = Name(text)
	}
	return p, err
}

// Allows reports whether name, in the spelling of Name, may be reached on port:
// 80 and 443, or the one that the list names.
func (l List) Allows(name string, port uint16) bool {
	match := func(p pattern) bool {
		return p.covers(name) && (p.port == port || p.port == 0 && (port == 80 || port == 443))
	}
	return slices.ContainsFunc(l.allow, match) && !l.denies(name, port)
}

// Knows reports whether name, in the spelling of Name, is on the list with
// whatever port.
func (l List) Knows(name string) bool {
	return slices.ContainsFunc(l.allow, func(p pattern) bool { return p.covers(name) }) && !l.denies(name, 0)
}

// denies reports whether name was taken out, on every port or on this one.
func (l List) denies(name string, port uint16) bool {
	return slices.ContainsFunc(l.deny, func(p pattern) bool { return p.covers(name) && (p.port == 0 || p.port == port) })
}

func (p pattern) covers(name string) bool {
	if p.wild {
		rest, ok := strings.CutSuffix(name, "."+p.name)
		return ok && rest != ""
	}
	return name == p.name && name != ""
}
