package tools

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Bounds of the search for files of secrets in a workspace.
const (
	guardedDeep = 3    // directories below a root
	guardedMost = 5000 // entries
)

// crowded are directories that hold what others made.
var crowded = []string{".git", "node_modules", "vendor", "target", "dist", "build", "__pycache__", "site-packages"}

// guarded lists the files of the workspace that hold secrets, by their names: a
// contained command reads them and cannot change them.
func guarded(roots []string) []string {
	var found []string
	for _, root := range roots {
		seen := 0
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			if seen++; seen > guardedMost {
				return fs.SkipAll
			}
			name := strings.ToLower(d.Name())
			if d.IsDir() {
				deep := strings.Count(strings.TrimPrefix(path, root), string(os.PathSeparator))
				if path != root && (deep > guardedDeep || slices.Contains(crowded, name)) {
					return fs.SkipDir
				}
				return nil
			}
			if d.Type().IsRegular() && secretName(name) {
				found = append(found, path)
			}
			return nil
		})
	}
	return found
}

// secretName reports whether a file (lower case) is there to hold secrets. The
// guard's own tables are wider: it only asks about writing, while this would
// keep git from checking out a source file that is named like one.
func secretName(name string) bool {
	if rest, ok := strings.CutPrefix(name, ".env"); ok {
		example := slices.ContainsFunc([]string{"example", "sample", "template", "dist", "defaults", "schema"}, func(w string) bool { return strings.HasSuffix(rest, w) })
		return (rest == "" || rest[0] == '.') && !example
	}
	return slices.Contains([]string{".netrc", "_netrc", ".git-credentials", ".pgpass", ".my.cnf", ".pypirc", ".vault-token", ".htpasswd", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"}, name)
}
