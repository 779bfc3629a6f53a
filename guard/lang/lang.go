// Package lang tells the languages in which a call gives code to run.
package lang

import (
	"path/filepath"
	"slices"
	"strings"
)

// The languages that are told apart.
const (
	Bash   = "bash"
	Python = "python"
	Go     = "go"
	JS     = "js" // JavaScript and TypeScript
)

// runners are programs that run one language, by name without version.
var runners = map[string]string{
	"bash": Bash, "sh": Bash, "dash": Bash, "zsh": Bash, "ksh": Bash,
	"python": Python, "pypy": Python, "ipython": Python, "pip": Python, "pipx": Python, "uvx": Python,
	"pytest": Python, "tox": Python, "nox": Python, "poetry": Python, "pdm": Python, "hatch": Python, "conda": Python, "django-admin": Python,
	"go": Go, "gofmt": Go, "gotestsum": Go, "dlv": Go,
	"node": JS, "nodejs": JS, "deno": JS, "bun": JS, "bunx": JS, "npx": JS, "npm": JS, "pnpm": JS, "yarn": JS, "tsx": JS, "ts-node": JS, "tsc": JS, "jest": JS, "vitest": JS,
}

// extensions are the endings of file names, in lower case.
var extensions = map[string]string{
	".sh": Bash, ".bash": Bash, ".zsh": Bash, ".bats": Bash,
	".py": Python, ".pyw": Python, ".pyi": Python, ".ipynb": Python,
	".go": Go,
	".js": JS, ".mjs": JS, ".cjs": JS, ".jsx": JS, ".ts": JS, ".mts": JS, ".cts": JS, ".tsx": JS,
}

// OfFile returns the language of a file by its name, or "".
func OfFile(path string) string { return extensions[strings.ToLower(filepath.Ext(path))] }

// OfCommand returns the language that a command runs, or "": by its program
// (python3.12 is python), or by the program that uv runs.
func OfCommand(argv []string) string {
	if len(argv) == 0 {
		return ""
	}
	name := strings.ToLower(filepath.Base(argv[0]))
	name = strings.TrimSuffix(name, ".exe")
	if name == "uv" {
		if len(argv) > 1 && (argv[1] == "run" || argv[1] == "pip" || argv[1] == "tool") {
			return Python
		}
		return ""
	}
	if l, ok := runners[name]; ok {
		return l
	}
	return runners[strings.TrimRight(name, "0123456789.-")]
}

// Detect returns the languages of a call, each once, in a fixed order: bash for
// every shell call, then those of its commands (program and arguments) and of
// the files that it names.
func Detect(shell bool, commands [][]string, files []string) []string {
	found := map[string]bool{Bash: shell}
	for _, argv := range commands {
		found[OfCommand(argv)] = true
		for _, arg := range argv[min(1, len(argv)):] {
			if l := OfFile(arg); l != "" && OfCommand(argv) != "" {
				found[l] = true
			}
		}
	}
	for _, f := range files {
		found[OfFile(f)] = true
	}
	var list []string
	for _, l := range []string{Bash, Python, Go, JS} {
		if found[l] && !slices.Contains(list, l) {
			list = append(list, l)
		}
	}
	return list
}
