package shell

import (
	"slices"
	"strings"

	"handrail/guard"
)

// deleters are the functions of other languages that delete the paths they are
// given: whole trees, or single files.
var deleters = map[string]struct{ deep, single []string }{
	"python": {[]string{"rmtree", "removedirs"}, []string{"os.remove", "os.unlink", "os.rmdir"}},
	"js":     {[]string{"rmSync", "rm", "removeSync", "emptyDirSync", "rimraf", "rimrafSync", "rimraf.sync", "rmdirSync", "rmdir", "removeAll"}, []string{"unlinkSync", "unlink", "Deno.remove", "Deno.removeSync"}},
	"ruby":   {[]string{"rm_rf", "rm_r", "rmtree", "remove_dir", "remove_entry", "remove_entry_secure"}, []string{"File.delete", "File.unlink", "Dir.delete", "Dir.rmdir", "Dir.unlink", "FileUtils.rm", "FileUtils.rm_f"}},
	"perl":   {[]string{"rmtree", "remove_tree"}, []string{"unlink", "rmdir"}},
	"php":    {nil, []string{"unlink", "rmdir"}},
	"lua":    {nil, []string{"os.remove"}},
	"r":      {[]string{"unlink"}, []string{"file.remove"}},
}

// removing adds the deletions of constant paths that are plain to see in code
// of another language. What it does not find is no less code.
func (k *work) removing(lang, code string) {
	names, ok := deleters[lang]
	if !ok || len(code) > 16<<10 {
		return
	}
	for i := 0; i < len(code) && k.step(1); i++ {
		if code[i] != '(' && (code[i] != ' ' || lang != "ruby" && lang != "perl") {
			continue
		}
		deep := endsIn(code[:i], names.deep)
		if !deep && !endsIn(code[:i], names.single) {
			continue
		}
		for _, p := range constants(code[i+1:]) {
			for _, pl := range k.places(k.st, known(p), true) {
				k.touch(pl, guard.Effect{Kind: guard.Delete, Command: k.index, Written: p, Deep: deep}, known(p))
			}
		}
	}
}

// endsIn reports whether s ends in one of the names, which is no part of a
// longer one.
func endsIn(s string, names []string) bool {
	s = strings.TrimRight(s, " ")
	return slices.ContainsFunc(names, func(n string) bool {
		rest, ok := strings.CutSuffix(s, n)
		return ok && (rest == "" || !identifier(rest[len(rest)-1]))
	})
}

// constants returns the strings at the beginning of s: one, or a list.
func constants(s string) (list []string) {
	for len(list) < 16 {
		s = strings.TrimLeft(s, " \t\n([")
		one, rest, ok := quotation(s)
		if !ok || one == "" {
			return list
		}
		list = append(list, one)
		if s, ok = strings.CutPrefix(strings.TrimLeft(rest, " \t\n"), ","); !ok {
			return list
		}
	}
	return list
}

// quotation cuts the quoted string off the beginning of s.
func quotation(s string) (string, string, bool) {
	s = strings.TrimLeft(s, "bru")
	if s == "" || s[0] != '"' && s[0] != '\'' && s[0] != '`' {
		return "", s, false
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			return unescape(s[1:i]), s[i+1:], true
		}
	}
	return "", s, false
}
