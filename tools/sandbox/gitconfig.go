package sandbox

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// setting is one line of a git configuration: the key in lower case, as
// section.name or section.subsection.name with the case of the subsection kept.
type setting struct {
	section, sub, name, value string
}

// parseGitConfig reads a git configuration (git-config(1), "Syntax") strictly:
// what it does not read in full is an error.
func parseGitConfig(text string) ([]setting, error) {
	var all []setting
	var at setting
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(strings.TrimSuffix(line, "\r"))
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if line[0] == '[' {
			head, closed := strings.CutSuffix(line[1:], "]")
			section, sub, quoted := strings.Cut(head, " ")
			sub, ended := strings.CutSuffix(strings.TrimPrefix(sub, `"`), `"`)
			if !closed || quoted != ended || strings.ContainsAny(sub, "\\\"]") || !plainName(section) {
				return nil, fmt.Errorf("line %d: not a section that is read here", n+1)
			}
			at = setting{section: strings.ToLower(section), sub: sub}
			continue
		}
		name, value, _ := strings.Cut(line, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if at.section == "" || !plainName(name) || strings.ContainsAny(value, "\\\"") {
			return nil, fmt.Errorf("line %d: not a setting that is read here", n+1)
		}
		all = append(all, setting{at.section, at.sub, strings.ToLower(name), value})
	}
	return all, nil
}

func plainName(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") == ""
}

// harmlessSettings make git run nothing, by section.
var harmlessSettings = map[string][]string{
	"branch":     {"remote", "merge", "rebase", "pushremote", "description", "vscode-merge-base"},
	"remote":     {"url", "pushurl", "fetch", "push", "tagopt", "prune", "mirror", "promisor", "partialclonefilter", "gh-resolved"},
	"submodule":  {"url", "active", "branch"},
	"core":       {"repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode", "symlinks", "autocrlf", "eol", "worktree"},
	"extensions": {"objectformat", "refstorage", "partialclone", "worktreeconfig"},
	"user":       {"name", "email"},
	"init":       {"defaultbranch"},
	"pull":       {"rebase", "ff"},
	"lfs":        {"repositoryformatversion"},
	"gc":         {"auto"},
}

// harmless reports whether git runs nothing because of s, in the git directory
// git of a workspace.
func (s setting) harmless(git string, roots []string) bool {
	if !slices.Contains(harmlessSettings[s.section], s.name) {
		return false
	}
	switch s.name {
	case "url", "pushurl": // TRANSPORT::ADDRESS runs git-remote-TRANSPORT
		return !strings.Contains(s.value, "::") && !strings.HasPrefix(s.value, "-")
	case "worktree":
		tree := s.value
		if !filepath.IsAbs(tree) {
			tree = filepath.Join(git, tree)
		}
		return below(roots, filepath.Clean(tree))
	}
	return true
}

// harmlessConfig reports whether the configuration of a git directory that a
// command made sets nothing that makes git run a program.
func harmlessConfig(text, git string, roots []string) bool {
	all, err := parseGitConfig(text)
	return err == nil && !slices.ContainsFunc(all, func(s setting) bool { return !s.harmless(git, roots) })
}

// harmlessChange reports whether a configuration differs from what it was in
// remotes, submodules and the remotes of branches alone: what git's own commands
// (checkout --track, remote add, branch -u, submodule init) write.
func harmlessChange(before, after, git string, roots []string) bool {
	old, err := parseGitConfig(before)
	if err != nil {
		return false
	}
	now, err := parseGitConfig(after)
	if err != nil {
		return false
	}
	changed := func(from, to []setting) bool { // something of from is not in to, and is more than that
		return slices.ContainsFunc(from, func(s setting) bool {
			own := s.section == "branch" || s.section == "remote" || s.section == "submodule"
			return !slices.Contains(to, s) && !(own && s.harmless(git, roots))
		})
	}
	return !changed(old, now) && !changed(now, old)
}

// below reports whether path is one of dirs or lies below one.
func below(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool {
		return path == d || strings.HasPrefix(path, strings.TrimSuffix(d, "/")+"/")
	})
}
