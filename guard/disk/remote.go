package disk

import (
	"path/filepath"
	"strings"
)

// Remote is a remote of a repository that is a directory of this machine. Dir is
// absolute and cleaned; links in it are not followed.
type Remote struct{ Name, Dir string }

// Remotes returns those of the work tree of dir (absolute, resolved) that its
// configuration names, in its order. What that includes is not read.
func (v *View) Remotes(dir string) (all []Remote) {
	w := v.work(dir)
	if w == nil || w.common == "" {
		return nil
	}
	name := ""
	for line := range strings.Lines(string(readBounded(filepath.Join(w.common, "config"), 1<<20))) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section, rest, _ := strings.Cut(strings.Trim(line, "[]"), `"`)
			if name = ""; strings.EqualFold(strings.TrimSpace(section), "remote") {
				name = strings.TrimSuffix(rest, `"`)
			}
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if key = strings.ToLower(strings.TrimSpace(key)); !ok || name == "" || key != "url" && key != "pushurl" {
			continue
		}
		if at := local(strings.Trim(strings.TrimSpace(value), `"`)); at != "" {
			all = append(all, Remote{name, absolute(w.root, at)})
		}
	}
	return all
}

// local is the path in an address of git, or is empty: a path has no colon
// before its first slash (git-fetch(1), "GIT URLS").
func local(url string) string {
	if rest, ok := strings.CutPrefix(url, "file://"); ok {
		return rest
	}
	if before, _, _ := strings.Cut(url, "/"); strings.Contains(before, ":") {
		return ""
	}
	return url
}
