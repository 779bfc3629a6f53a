package sandbox

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"handrail/guard"
)

// gitParts are the files and directories of a git directory that make git run
// programs or lead it to another repository. Source: gitrepository-layout(5).
var gitParts = []string{"hooks", "config", "config.worktree", "info/attributes", "info/exclude", "info/grafts", "commondir", "gitdir", "objects/info/alternates"}

// mountParts are those of gitParts that can be made unwritable in one piece
// while git works.
var mountParts = []string{"hooks", "config", "config.worktree", "info/attributes", "info/exclude", "info/grafts"}

// wholeTrees are directories that are protected as one where they do not exist
// yet: of them clients obey only some parts.
var wholeTrees = []string{".vscode"}

// Protected lists the paths directly in roots, in their git directories and in
// those of their submodules and work trees, that no command may write, existing
// or not yet, sorted, absolute. An existing path stands as it is spelled on the
// disk, so .Claude is listed beside .claude. What lies deeper is not listed: a
// comparison before and after each run holds it.
func Protected(roots []string) []string { return once.protected(roots) }

func (s *sight) protected(roots []string) []string {
	var all []string
	for _, root := range roots {
		at := strings.TrimSuffix(root, "/") + "/"
		for _, table := range [][]string{guard.ClientNames, guard.ClientTrees, wholeTrees} {
			for _, name := range table {
				all = append(all, at+name)
			}
		}
		names, _ := s.names(root, func(e fs.DirEntry) bool { return obeyed(nil, fold(e.Name())) })
		for _, name := range names {
			all = append(all, at+name)
		}
		for _, git := range s.gitDirs(root) {
			for _, part := range mountParts {
				all = append(all, git+"/"+part)
			}
		}
		if git := s.look(at+".git", false); git.there() && git.kind != fs.ModeDir {
			all = append(all, at+".git")
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// gitDirs returns the git directories of the work tree root: its own, the
// common one of a linked work tree, those of its submodules and work trees.
func (s *sight) gitDirs(root string) []string {
	if s == nil {
		return s.findGitDirs(root)
	}
	all, found := s.gits[root]
	if !found {
		if s.gits == nil {
			s.gits = map[string][]string{}
		}
		all = s.findGitDirs(root)
		s.gits[root] = all
	}
	return all
}

func (s *sight) findGitDirs(root string) []string {
	all := s.gitDirsAt(filepath.Join(root, ".git"))
	if len(all) == 0 {
		return nil
	}
	git := all[len(all)-1]
	for _, sub := range []string{"modules", "worktrees"} {
		if dir := git + "/" + sub; s.look(dir, false).kind == fs.ModeDir {
			all = s.repositories(dir, all)
		}
	}
	return all
}

// repositories adds those git directories to all that are the directory dir or
// lie below it.
func (s *sight) repositories(dir string, all []string) []string {
	if s.look(dir+"/HEAD", false).there() {
		all = append(all, dir)
	}
	names, _ := s.names(dir, func(e fs.DirEntry) bool {
		return e.IsDir() && !slices.Contains([]string{"objects", "refs", "logs", "hooks", "info"}, e.Name())
	})
	for _, name := range names {
		all = s.repositories(dir+"/"+name, all)
	}
	return all
}

// GitDirs returns the git directory that stands at git, or that the file there
// leads to, and the common one of a linked work tree: none where that file leads
// nowhere. What does not exist is taken for a git directory to be.
func GitDirs(git string) []string { return once.gitDirsAt(git) }

func (s *sight) gitDirsAt(git string) []string {
	if at := s.look(git, false); at.there() && at.kind != fs.ModeDir {
		if git = s.leadsTo(git, "gitdir: "); git == "" {
			return nil
		}
	}
	all := []string{git}
	if common := s.leadsTo(filepath.Join(git, "commondir"), ""); common != "" {
		all = append(all, common)
	}
	return all
}

// leadsTo returns the directory that the file of git names after prefix, or "".
func (s *sight) leadsTo(file, prefix string) string {
	target, ok := strings.CutPrefix(s.line(file), prefix)
	if !ok || target == "" {
		return ""
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(file), target)
	}
	return filepath.Clean(s.resolved(target))
}

// fold returns name as a file system that ignores case compares it; characters
// that HFS+ ignores are left out (the rule of git's core.protectHFS).
func fold(name string) string {
	plain := true
	for i := 0; i < len(name); i++ {
		plain = plain && name[i] < 0x80 && (name[i] < 'A' || name[i] > 'Z')
	}
	if plain {
		return name
	}
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
			return -1
		}
		return r
	}, name)
	return strings.ToLower(strings.ToUpper(name))
}

// obeyedLast holds, by its last part, what stands before it in each entry of the
// tables of guard: nothing, or the parts above.
var obeyedLast = func() map[string][][]string {
	last := map[string][][]string{}
	for _, table := range [][]string{guard.ClientNames, guard.ClientTrees} {
		for _, t := range table {
			parts := strings.Split(t, "/")
			n := len(parts) - 1
			last[parts[n]] = append(last[parts[n]], parts[:n])
		}
	}
	return last
}()

// obeyed reports whether other programs obey the entry name (folded) of a
// directory, whose path is above (folded parts, outermost first).
func obeyed(above []string, name string) bool {
	for _, before := range obeyedLast[name] {
		if n := len(above) - len(before); n >= 0 && slices.Equal(above[n:], before) {
			return true
		}
	}
	return false
}

// unwritable lists the paths that are mounted read-only for a command of p where
// they exist, sorted.
func (s *sight) unwritable(p *Policy) []string {
	paths := slices.Concat(s.protected(p.Roots), p.Protected, p.Secrets)
	var configs []string // what git's own commands may write, as far as the comparison takes it
	for _, root := range p.Roots {
		configs = append(configs, filepath.Join(root, ".gitmodules"), filepath.Join(root, ".gitattributes"))
		for _, git := range s.gitDirs(root) {
			configs = append(configs, filepath.Join(git, "config"), filepath.Join(git, "config.worktree"))
			if !below(p.Roots, git) { // which the comparison after the run does not reach
				paths = append(paths, filepath.Join(git, "commondir"), filepath.Join(git, "gitdir"))
			}
		}
	}
	slices.Sort(paths)
	return slices.DeleteFunc(slices.Compact(paths), func(path string) bool {
		return p.may(path) || p.GitConfig && slices.Contains(configs, path)
	})
}

// may reports whether p allows to write the protected path.
func (p *Policy) may(path string) bool { return below(p.Allowed, path) }
