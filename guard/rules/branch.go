package rules

import (
	"slices"
	"strings"

	"handrail/guard"
)

// protectedBranches are the branches that others build on, in lower case.
var protectedBranches = []string{"main", "master", "trunk", "production", "prod", "release", "stable"}

// protectedBranch reports whether a branch is one of those, or one of release/.
func protectedBranch(name string) bool {
	name = strings.ToLower(name)
	return slices.Contains(protectedBranches, name) || strings.HasPrefix(name, "release/")
}

// branches is the family of what is pushed where.
func branches() []guard.Rule {
	return []guard.Rule{each("vcs/protected-branch",
		"Asks before commits are pushed to a branch that others build on: main, master, trunk, production, prod, stable, release/*. "+
			"Where the command names none, it is the branch that is checked out. Committing to one is free: that stays here.",
		only(guard.Remote, "push"),
		func(p *guard.Pass, i int, e guard.Effect) {
			name, ok := strings.CutPrefix(e.Target, "refs/heads/")
			instead := "push a branch of its own for review: `git switch -c fix`, then a plain push"
			switch {
			case !ok:
			case !e.Exact:
				p.Report(i, guard.VerdictAsk, actor(p, i)+" pushes every branch, protected ones too", instead)
			case protectedBranch(name):
				p.Report(i, guard.VerdictAsk, actor(p, i)+" pushes to the protected branch "+name, instead)
			}
		})}
}
