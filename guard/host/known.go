package host

import (
	"maps"
	"slices"
)

// builtin are the lists that have a name.
var builtin = map[string][]pattern{
	// Registries: where package managers read packages, and the tools themselves.
	"registries": {
		all("npmjs.org"), all("yarnpkg.com"), one("jsr.io"), one("npm.jsr.io"), one("deno.land"), one("nodejs.org"),
		one("pypi.org"), one("files.pythonhosted.org"),
		one("golang.org"), all("golang.org"), one("go.dev"), one("pkg.go.dev"),
		one("crates.io"), all("crates.io"), one("docs.rs"), one("static.rust-lang.org"),
		one("rubygems.org"), all("rubygems.org"),
		all("maven.apache.org"), all("maven.org"), one("plugins.gradle.org"), one("services.gradle.org"),
		one("packagist.org"), all("packagist.org"), one("api.nuget.org"), one("hex.pm"), all("hex.pm"), one("pub.dev"),
	},
	// Forges: where git reads repositories.
	"forges": {
		one("github.com"), all("github.com"), all("githubusercontent.com"),
		one("gitlab.com"), all("gitlab.com"), one("bitbucket.org"), one("codeberg.org"), one("git.sr.ht"),
	},
}

func one(name string) pattern { return pattern{name: name} }
func all(name string) pattern { return pattern{name: name, wild: true} }

// Lists are the names of the built-in lists, sorted.
func Lists() []string { return slices.Sorted(maps.Keys(builtin)) }

// Known is what the built-in lists hold together.
func Known() List {
	var l List
	for _, name := range Lists() {
		l.allow = append(l.allow, builtin[name]...)
	}
	return l
}

// Entries are the entries of a built-in list as Parse reads them, sorted; nil
// where there is no such list.
func Entries(list string) []string {
	var words []string
	for _, p := range builtin[list] {
		if p.wild {
			words = append(words, "*."+p.name)
		} else {
			words = append(words, p.name)
		}
	}
	slices.Sort(words)
	return words
}
