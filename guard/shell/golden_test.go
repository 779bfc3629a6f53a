package shell

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"handrail/guard"
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

// TestGolden reads the commands of testdata/*.txt and compares commands and
// effects with what stands below each. HANDRAIL_UPDATE=1 writes them anew.
//
//	$ cd /usr && rm -rf x
//	  0: cd "/usr"
//	  1: rm "-rf" "x"
//	    #2 delete /usr/x deep
//
// "> " continues a command. "@" is the workspace, "…" says that only the
// beginning is known, "<0" names the command or "<#1" the effect that gives the
// data. Exec effects are shown where they are not plain.
func TestGolden(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the paths are those of Linux")
	}
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files", err)
	}
	root := t.TempDir()
	for name, content := range map[string]string{
		"x.sh": "#!/bin/sh\nrm -rf \"$1\"\n", "env.sh": "X=/etc/hosts\n", "s.sh": "cd sub && rm -rf x\n", "a b.sh": "ls\n",
		"loop.sh": "./loop.sh & ./loop.sh\n", "tool.py": "print(1)\n",
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	r := reader(t, root)
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		for _, block := range strings.Split(strings.TrimSpace(string(b)), "\n\n") {
			var source, want []string
			for line := range strings.SplitSeq(block, "\n") {
				if s, ok := strings.CutPrefix(line, "$ "); ok {
					source = append(source, s)
				} else if s, ok := strings.CutPrefix(line, "> "); ok {
					source = append(source, s)
				} else {
					want = append(want, line)
				}
			}
			text := strings.Join(source, "\n")
			facts := r.Read(text, root)
			sound(t, text, facts)
			got := strings.TrimRight(notation(facts, root), "\n")
			if got != strings.Join(want, "\n") && os.Getenv("HANDRAIL_UPDATE") == "" {
				t.Errorf("%s: %s\n got\n%s\nwant\n%s", file, text, got, strings.Join(want, "\n"))
			}
			fmt.Fprintf(&out, "$ %s\n%s\n\n", strings.Join(source, "\n> "), got)
		}
		if os.Getenv("HANDRAIL_UPDATE") != "" {
			if err := os.WriteFile(file, []byte(strings.TrimSpace(out.String())+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
