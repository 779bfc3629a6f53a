package shell

import (
	"slices"
	"strings"
)

// git's commands that print hashes, or the names of local branches, with the
// options that keep it so. Tags and remote branches may have any name: whoever
// made the repository chose it.
var hashOptions = map[string][]string{
	"rev-parse":  {"--short", "--short=", "--verify", "-q", "--quiet"},
	"merge-base": {"--all", "-a", "--octopus", "--fork-point", "--independent"},
	"rev-list": {"--max-count=", "-n", "-1", "--count", "--all", "--since=", "--until=", "--after=", "--before=", "--no-merges", "--merges", "--reverse",
		"--max-parents=", "--first-parent", "--author=", "--skip=", "--"},
	"log": {"--format=%H", "--format=%h", "--pretty=format:%H", "--pretty=format:%h", "--pretty=%H", "--pretty=%h", "-n", "-1", "--max-count=", "--all", "--since=", "--until=",
		"--after=", "--before=", "--no-merges", "--merges", "--reverse", "--first-parent", "--author=", "--grep=", "--diff-filter=", "--follow", "--skip=", "--"},
	"branch": {"--show-current", "--format=%(refname:short)", "--merged", "--no-merged", "--sort="},
}

// hashes reports whether a call of git prints nothing that begins with a dash.
func hashes(sub string, words []field) bool {
	opts, ok := hashOptions[sub]
	format := sub != "log" && sub != "branch"
	for i, f := range words {
		switch {
		case f.class != exact:
			return false
		case !strings.HasPrefix(f.s, "-"):
			ok = ok && (i > 0 || f.s == sub)
		case sub == "rev-parse" && f.s == "--abbrev-ref":
			ok = ok && words[len(words)-1].s == "HEAD"
		default:
			ok = ok && slices.ContainsFunc(opts, func(o string) bool {
				return f.s == o || strings.HasSuffix(o, "=") && strings.HasPrefix(f.s, o)
			})
			format = format || f.s == "--show-current" || strings.Contains(f.s, "%")
		}
	}
	return ok && format
}

// packages is what go prints: go list prints import paths, which cannot begin
// with a dash (golang.org/x/mod/module).
func packages(c *call, t text) text {
	for i, f := range c.words {
		if f.class != exact || i == 0 && f.s != "list" || strings.HasPrefix(f.s, "-") && !strings.HasPrefix(f.s, "-tags") {
			return t
		}
	}
	if len(c.words) > 0 {
		t.trait = plain
	}
	return t
}
