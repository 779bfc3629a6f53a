//go:build linux || darwin

package history

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"handrail/guard"
	"handrail/guard/disk"
)

// plan says what a call could destroy.
type plan struct {
	whole bool // anything in the workspace
	spots []Spot
}

// plans reports what is to be kept before a call. It is empty for a call that
// only reads.
func plans(roots []string, facts *guard.Facts) (p plan) {
	for i := range facts.Effects {
		e := &facts.Effects[i]
		switch {
		case wide(e):
			p.whole = true
			if e.Kind == guard.Delete && filepath.IsAbs(e.Target) {
				if tree := disk.FindWorkTree(e.Target); tree != nil {
					p.spots = append(p.spots, workspace([]string{tree.Root})...)
				}
			}
		case (e.Kind == guard.Write || e.Kind == guard.Delete) && filepath.IsAbs(e.Target) && !within(e.Target, "/dev") && !within(e.Target, "/proc"):
			p.spots = append(p.spots, spot(e))
		}
	}
	if p.whole {
		p.spots = append(p.spots, workspace(roots)...)
	}
	p.spots = outermost(p.spots)
	return p
}

// wide reports whether an effect could be anywhere in the workspace.
func wide(e *guard.Effect) bool {
	switch e.Kind {
	case guard.Unknown, guard.Code, guard.Install:
		return true
	case guard.Exec:
		return e.Action != ""
	case guard.Delete: // work in version control: also what its commands keep beside the files
		return e.Action == "discard"
	}
	return false
}

// spot is the place that an effect names. What is not there is kept as that,
// at the topmost name that the call would make.
func spot(e *guard.Effect) Spot {
	fi, err := os.Lstat(e.Target)
	if err == nil {
		shallow := fi.IsDir() && !e.Deep && e.Exact && (e.Action == "metadata" || e.Action == "create")
		return Spot{Path: Name(e.Target), Shallow: shallow}
	}
	top := e.Target
	for up := filepath.Dir(top); up != "/"; up = filepath.Dir(up) {
		if _, err := os.Lstat(up); err == nil {
			break
		}
		top = up
	}
	return Spot{Path: Name(top)}
}

// workspace are the roots, with the git directories that lie outside them.
func workspace(roots []string) (spots []Spot) {
	for _, root := range roots {
		spots = append(spots, Spot{Path: Name(root)})
		tree := disk.FindWorkTree(root)
		if tree == nil {
			continue
		}
		own, common := tree.Git()
		for _, git := range []string{own, common} {
			if git != "" && inGit(git) && !within(git, root) {
				spots = append(spots, Spot{Path: Name(git)})
			}
		}
	}
	return spots
}

// outermost leaves out what lies below another place, or is named twice.
func outermost(spots []Spot) []Spot {
	slices.SortStableFunc(spots, func(a, b Spot) int {
		if a.Path == b.Path && a.Shallow != b.Shallow { // the deep one first
			if a.Shallow {
				return 1
			}
			return -1
		}
		// "/" sorts before every other character of a name
		return strings.Compare(strings.ReplaceAll(string(a.Path), "/", "\x00"), strings.ReplaceAll(string(b.Path), "/", "\x00"))
	})
	var kept []Spot
	for _, s := range spots {
		if n := len(kept); n > 0 {
			last := kept[n-1]
			if s.Path == last.Path || !last.Shallow && within(string(s.Path), string(last.Path)) {
				continue
			}
		}
		kept = append(kept, s)
	}
	return kept
}
