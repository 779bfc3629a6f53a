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
// what it does not read in full is an error. Values stay as they are written.
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
		if at.section == "" || !plainName(name) || strings.HasSuffix(value, "\\") {
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
	"branch":     {"remote", "merge", "rebase", "pushremote", "description", "vscode-merge-base", "autosetuprebase", "autosetupmerge", "sort"},
	"remote":     {"url", "pushurl", "fetch", "push", "tagopt", "prune", "mirror", "promisor", "partialclonefilter", "gh-resolved", "pushdefault"},
	"submodule":  {"url", "active", "branch", "recurse"},
	"core":       {"repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode", "symlinks", "autocrlf", "eol", "safecrlf", "worktree", "sparsecheckout", "sparsecheckoutcone", "quotepath", "longpaths", "abbrev"},
	"extensions": {"objectformat", "refstorage", "partialclone", "worktreeconfig"},
	"user":       {"name", "email"},
	"init":       {"defaultbranch"},
	"pull":       {"rebase", "ff"},
	"push":       {"default", "autosetupremote", "followtags"},
	"fetch":      {"prune", "prunetags"},
	"rebase":     {"autosquash", "autostash", "updaterefs"},
	"merge":      {"ff", "conflictstyle"},
	"rerere":     {"enabled", "autoupdate"},
	"diff":       {"algorithm", "renames", "colormoved"},
	"index":      {"sparse"},
	"lfs":        {"repositoryformatversion"},
	"gc":         {"auto"},
	"receive":    {"denycurrentbranch"},
}

// harmless reports whether git runs nothing because of s, in the git directory
// git of a workspace.
func (s setting) harmless(git string, roots []string) bool {
	if !slices.Contains(harmlessSettings[s.section], s.name) || strings.ContainsAny(s.value, "\\\"") {
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

// harmlessChange reports whether a configuration differs from what it was only in
// what makes git run nothing: what git's own commands (checkout --track, remote
// add, branch -u, submodule init, config user.name) write.
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
		return slices.ContainsFunc(from, func(s setting) bool { return !slices.Contains(to, s) && !s.harmless(git, roots) })
	}
	return !changed(old, now) && !changed(now, old)
}

// harmlessModules reports whether a file .gitmodules makes git run nothing. What
// it says of updates by a command git does not take from there.
func harmlessModules(text string) bool {
	all, err := parseGitConfig(text)
	return err == nil && !slices.ContainsFunc(all, func(s setting) bool {
		switch {
		case s.section != "submodule", strings.ContainsAny(s.value, "\\\""), strings.HasPrefix(s.value, "-"), strings.HasPrefix(s.value, "!"):
			return true
		case s.name == "url":
			return strings.Contains(s.value, "::")
		case s.name == "path":
			return !filepath.IsLocal(s.value)
		}
		return !slices.Contains([]string{"branch", "ignore", "shallow", "update", "fetchrecursesubmodules"}, s.name)
	})
}

// builtinAttributes are what git itself does by a file .gitattributes, and what
// other programs only read; all others name programs of a configuration.
var builtinAttributes = []string{"text", "eol", "crlf", "binary", "ident", "whitespace", "delta", "encoding", "working-tree-encoding", "export-ignore", "export-subst",
	"conflict-marker-size", "linguist-generated", "linguist-vendored", "linguist-language", "linguist-detectable", "linguist-documentation", "merge=union", "merge=binary", "merge=text"}

// harmlessAttributes reports whether a file .gitattributes (gitattributes(5))
// names no program of a configuration but Git LFS.
func harmlessAttributes(text string) bool {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		if words[0][0] == '"' || strings.HasPrefix(words[0], "[attr]") {
			return false
		}
		for _, w := range words[1:] {
			name, _, _ := strings.Cut(w, "=")
			unset := strings.HasPrefix(w, "-") || strings.HasPrefix(w, "!")
			if !unset && !slices.Contains(builtinAttributes, w) && !slices.Contains(builtinAttributes, name) && w != "diff" && w != "filter=lfs" && w != "diff=lfs" && w != "merge=lfs" {
				return false
			}
		}
	}
	return true
}

// below reports whether path is one of dirs or lies below one.
func below(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool {
		return path == d || strings.HasPrefix(path, strings.TrimSuffix(d, "/")+"/")
	})
}
