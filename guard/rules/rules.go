// Package rules is the built-in judgement, one family per file. A rule looks
// at effects, never at shell text.
package rules

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"handrail/guard"
	"handrail/guard/host"
)

// Policy is what the rules need to know about the place they judge in.
type Policy struct {
	// Home is the caller's home directory, absolute and resolved.
	Home string
	// Own are handrail's own files and directories (config, state, guards):
	// absolute; writing below them is denied, reading of secrets too.
	Own []string
	// Hosts may be read from without a question, besides loopback: registries
	// and forges. KnownHosts is a usual list.
	Hosts host.List
	// Root says that commands run as root.
	Root bool
	// Tenant is the principal of a server that serves several; nil: there is none.
	Tenant *Tenant
}

// Standard returns the rules of the standard profile and those of the default
// policy.
func Standard(p Policy) (rules, defaults []guard.Rule) {
	rules = slices.Concat(danger(p), self(), asks(), network(p), workdir(p), sensitive(p), branches(), superuser(p), tenants(p))
	return rules, defaultRules(p)
}

// actor names what does effect i: the program, or the tool where there is none.
func actor(p *guard.Pass, i int) string {
	if c := p.CommandOf(i); c != nil && c.Name != "" {
		return c.Name
	}
	if p.ToolName != "" {
		return p.ToolName
	}
	return "this call"
}

// place names the target of an effect for people.
func place(e guard.Effect) string {
	switch {
	case !e.Exact && e.Target == "/":
		if e.Written != "" {
			return fmt.Sprintf("a path that cannot be told before it runs (%s)", e.Written)
		}
		return "a path that cannot be told before it runs"
	case !e.Exact:
		return "something below " + e.Target
	case e.Deep:
		return e.Target + " and everything below it"
	}
	return e.Target
}

// verb says what an effect on a path does.
func verb(e guard.Effect) string {
	switch {
	case e.Kind == guard.Read && e.Action == "list":
		return "list"
	case e.Kind == guard.Read:
		return "read"
	case e.Kind == guard.Delete && e.Action == "discard":
		return "discard the changes in"
	case e.Kind == guard.Delete && e.Action == "shred":
		return "destroy"
	case e.Kind == guard.Delete:
		return "delete"
	case e.Action == "append":
		return "append to"
	case e.Action == "create":
		return "create"
	case e.Action == "metadata":
		return "change the mode, owner or times of"
	case e.Action == "format":
		return "format"
	}
	return "write"
}

// would says an effect on a path in a clause: "rm would delete /etc and
// everything below it".
func would(p *guard.Pass, i int) string {
	e := p.Facts.Effects[i]
	return actor(p, i) + " would " + verb(e) + " " + place(e)
}

// within reports whether the path is dir or below it.
func within(dir, file string) bool {
	if dir == "/" {
		return true
	}
	return dir != "" && strings.HasPrefix(file, dir) && (len(file) == len(dir) || file[len(dir)] == '/')
}

// inside reports whether the path is one of dirs or below one.
func inside(dirs []string, file string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool { return within(d, file) })
}

// changes reports whether e creates, changes or removes something at a path.
func changes(e guard.Effect) bool { return e.Kind == guard.Write || e.Kind == guard.Delete }

// isPath reports whether a target is an absolute path. What is none where a
// path is due was not resolved, and no rule about paths may let it pass.
func isPath(target string) bool { return path.IsAbs(target) && !strings.ContainsRune(target, 0) }

// each makes a rule that looks at every effect for which is holds.
func each(id, doc string, is func(guard.Effect) bool, judge func(p *guard.Pass, i int, e guard.Effect)) guard.Rule {
	return guard.Rule{ID: id, Doc: doc, Evaluate: func(p *guard.Pass) {
		for i, e := range p.Facts.Effects {
			if is(e) {
				judge(p, i, e)
			}
		}
	}}
}

// fixed marks a rule that no configuration may lower.
func fixed(r guard.Rule) guard.Rule {
	r.Fixed = true
	return r
}

// only returns a condition: one kind, and one of the actions where any are
// given.
func only(k guard.Kind, actions ...string) func(guard.Effect) bool {
	return func(e guard.Effect) bool {
		return e.Kind == k && (len(actions) == 0 || slices.Contains(actions, e.Action))
	}
}
