package shell

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"handrail/guard"
	"handrail/guard/command"
)

// notation renders facts in the golden files' form, one fact a line.
func notation(f *guard.Facts, root string) string {
	var b strings.Builder
	at := func(s string) string {
		s = strings.ReplaceAll(s, root+"/", "@/")
		if s == root {
			return "@"
		}
		return strings.ReplaceAll(s, root, "@")
	}
	for i, c := range f.Commands {
		fmt.Fprintf(&b, "  %d: %s", i, strings.TrimSpace(strings.Join(append(append([]string{}, c.Via...), c.Name), " ")))
		for _, w := range c.Args {
			mark := ""
			if !w.Exact {
				mark = "…"
			}
			fmt.Fprintf(&b, " %q%s", at(w.Text), mark)
		}
		if c.From >= 0 {
			fmt.Fprintf(&b, " <%d", c.From)
		}
		b.WriteByte('\n')
		effects(&b, f, i, at)
	}
	effects(&b, f, -1, at)
	for _, s := range f.Sources {
		fmt.Fprintf(&b, "  source %s\n", at(s.Path))
	}
	return b.String()
}

func effects(b *strings.Builder, f *guard.Facts, cmd int, at func(string) string) {
	for i, e := range f.Effects {
		if e.Command != cmd || e.Kind == guard.Exec && e.Action == "" && cmd >= 0 && e.Target == f.Commands[cmd].Name {
			continue
		}
		kind := e.Kind.String()
		if e.Action != "" {
			kind += "/" + e.Action
		}
		fmt.Fprintf(b, "    #%d %s %s", i, kind, at(e.Target))
		if !e.Exact && e.Kind != guard.Unknown {
			b.WriteString(" …")
		}
		if e.Deep {
			b.WriteString(" deep")
		}
		if e.From >= 0 {
			fmt.Fprintf(b, " <#%d", e.From)
		}
		b.WriteByte('\n')
	}
}

func TestTry(t *testing.T) {
	file := os.Getenv("TRY")
	if file == "" {
		t.Skip()
	}
	tab, err := command.Builtin()
	if dir := os.Getenv("SPECS"); dir != "" {
		tab, err = command.Load(os.DirFS(dir), "*.yaml")
	}
	if err != nil {
		t.Fatal(err)
	}
	b, _ := os.ReadFile(file)
	root := t.TempDir()
	os.WriteFile(filepath.Join(root, "x.sh"), []byte("#!/bin/sh\nrm -rf \"$1\"\n"), 0o755)
	r := &Reader{Table: tab, Home: "/home/u", Roots: []string{root}, Env: map[string]string{"PATH": "/usr/bin:/bin"}}
	for _, row := range strings.Split(string(b), "\n%%\n") {
		fmt.Printf("$ %s\n%s", row, notation(r.Read(row, root), root))
	}
}
