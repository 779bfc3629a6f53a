package disk

import (
	"path"
	"strings"
)

// productDirs are names of directories that builds, package managers and tests
// fill, and fill again. In lower case.
var productDirs = map[string]bool{
	"dist": true, "build": true, "out": true, "target": true, "bin": true, "obj": true, "tmp": true, "temp": true, "node_modules": true, "bower_components": true,
	".next": true, ".nuxt": true, ".output": true, ".svelte-kit": true, ".astro": true, ".angular": true, ".vite": true, ".turbo": true, ".cache": true, ".parcel-cache": true,
	".sass-cache": true, ".nyc_output": true, "coverage": true, "htmlcov": true, "__pycache__": true, ".pytest_cache": true, ".mypy_cache": true, ".ruff_cache": true,
	".pytype": true, ".tox": true, ".nox": true, ".eggs": true, "venv": true, ".venv": true, ".gradle": true, ".dart_tool": true, ".stack-work": true, "dist-newstyle": true,
	"elm-stuff": true, "_build": true, ".build": true, "deriveddata": true, ".zig-cache": true, "zig-cache": true, "zig-out": true, "cmakefiles": true, "test-results": true,
	"playwright-report": true, "storybook-static": true, "release": true, "debug": true,
}

// productNames are patterns of files and directories of the same kind.
var productNames = []string{
	"*.pyc", "*.pyo", "*.o", "*.a", "*.so", "*.dylib", "*.lo", "*.la", "*.obj", "*.class", "*.rlib", "*.log", "*.egg-info", "*.tsbuildinfo", "*.gcda", "*.gcno", "*.tmp",
	"cmake-build-*", "bazel-*", ".coverage", ".coverage.*", "coverage.out", "coverage.xml", "lcov.info", ".eslintcache", ".stylelintcache", ".ds_store", "thumbs.db",
}

// product reports whether a path in a work tree is named like what a build makes
// again: itself, or a directory that it lies in.
func product(rel string) bool {
	for name := range strings.SplitSeq(rel, "/") {
		if productNamed(name) {
			return true
		}
	}
	return false
}

// productNamed is product for one name.
func productNamed(name string) bool {
	name = strings.ToLower(name)
	if productDirs[name] {
		return true
	}
	for _, p := range productNames {
		if ok, err := path.Match(p, name); ok && err == nil {
			return true
		}
	}
	return false
}
