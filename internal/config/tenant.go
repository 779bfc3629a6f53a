package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"handrail/guard/rules"
	"handrail/guard/text"
)

// ownWords are what is said of a principal beside them.
var ownWords = []string{"workspace", "home", "subjects", "certificates", "user", "disk"}

// foreign says what is wrong with a setting that no principal has.
func foreign(key string) error {
	all := slices.Sorted(slices.Values(slices.Concat(ownWords, ownSettings)))
	switch near := text.Nearest(key, all); {
	case slices.ContainsFunc(settings(), func(f field) bool { return f.key == key }):
		return fmt.Errorf("unknown setting %q of a principal: it is set for the whole server", key)
	case near != "":
		return fmt.Errorf("unknown setting %q of a principal; did you mean %q?", key, near)
	}
	return fmt.Errorf("unknown setting %q of a principal; there are %s", key, strings.Join(all, ", "))
}

// laterThan names what differs between the principals in force and those of a
// changed file and counts only when the server starts: who is new, and how each is
// known and where it is. Their other settings count at once, and who is gone.
func (p Principals) laterThan(now Principals) (paths []string) {
	for _, name := range slices.Sorted(maps.Keys(p)) {
		was, is := p[name], now[name]
		if is == nil { // not served any more, as Served says
			continue
		}
		for word, differs := range map[string]bool{"workspace": was.Workspace != is.Workspace, "home": was.Home != is.Home, "user": was.User != is.User, "disk": was.Disk != is.Disk,
			"subjects": !slices.Equal(was.Subjects, is.Subjects), "certificates": !slices.Equal(was.Certificates, is.Certificates)} {
			if differs {
				paths = append(paths, "principals."+name+"."+word)
			}
		}
	}
	for name := range now {
		if p[name] == nil {
			paths = append(paths, "principals."+name+" (new)")
		}
	}
	slices.Sort(paths)
	return paths
}

// emptied are the directories in which other principals have theirs: of those a
// command sees its own only, not the names of the others. Where programs lie below,
// as search finds them, they stay.
func (c *Config) emptied(search string) (list []string) {
	t := c.tenant()
	if t == nil {
		return nil
	}
	for _, dir := range t.Others {
		dir = filepath.Dir(dir)
		if dir == "/" || rules.IsSystem(dir) || slices.Contains(list, dir) || slices.ContainsFunc(filepath.SplitList(search), func(p string) bool { return within(resolved(p), dir) || within(p, dir) }) {
			continue
		}
		list = append(list, dir)
	}
	return list
}
