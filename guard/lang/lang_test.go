package lang

import (
	"slices"
	"strings"
	"testing"
)

func TestDetect(t *testing.T) {
	for _, c := range []struct {
		commands, files string // separated by ";"
		shell           bool
		want            string
	}{
		{"ls -l", "", true, "bash"},
		{"python3 -c x", "", true, "bash python"},
		{"/usr/bin/python3.12 x", "", true, "bash python"},
		{"python.exe x", "", true, "bash python"},
		{"uv run x", "", true, "bash python"},
		{"uv --version", "", true, "bash"},
		{"go test ./...", "", true, "bash go"},
		{"go run main.go", "", true, "bash go"},
		{"npx tsc;deno run x.ts", "", true, "bash js"},
		{"node a.js;python b.py;go vet", "", true, "bash python go js"},
		{"cat a.py", "", true, "bash"}, // it is read, not run
		{"bun gen.py", "", true, "bash python js"},
		{"goat x;nodemon x", "", true, "bash"},
		{"", "/w/a.PY", false, "python"},
		{"", "/w/a.tsx", false, "js"},
		{"", "/w/x.go", false, "go"},
		{"", "/w/x.sh", false, "bash"},
		{"", "/w/README.md", false, ""},
		{"", "", false, ""},
	} {
		var argv [][]string
		for _, s := range strings.Split(c.commands, ";") {
			argv = append(argv, strings.Fields(s))
		}
		if got := Detect(c.shell, argv, strings.Split(c.files, ";")); !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("%q %q: %v, want %s", c.commands, c.files, got, c.want)
		}
	}
}
