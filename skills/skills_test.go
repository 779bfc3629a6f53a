package skills

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"handrail/guard/owner"
)

func TestBuiltin(t *testing.T) {
	all, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"bash": "bash", "python": "python", "go": "go", "js": "js", "simulate": ""}
	for _, s := range all {
		language, ok := want[s.Name]
		if !ok || s.Language != language || s.Auto != (language != "") {
			t.Errorf("%+v", s)
		}
		delete(want, s.Name)
		if n := strings.Count(s.Body, "\n"); n < 25 || n > 80 {
			t.Errorf("%s has %d lines", s.Name, n)
		}
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}

func put(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Later directories replace earlier ones, and the built-in ones, by file name;
// a broken file is left out and told.
func TestLoad(t *testing.T) {
	home := t.TempDir()
	dirs := Dirs(home)
	text := func(d string) string { return "---\nname: Mine\ndescription: " + d + "\n---\nLook well.\n" }
	put(t, dirs[0], "bash.md", text("agents"))
	put(t, dirs[1], "bash.md", text("claude"))
	put(t, dirs[2], "bash.md", text("handrail"))
	put(t, dirs[0], "rust.md", "---\r\ndescription: Rust\r\nlanguage: rust\r\nauto_invoke: true\r\n---\r\nunsafe\r\n")
	put(t, dirs[2], "broken.md", "no front matter")
	put(t, dirs[2], "notes.txt", "no skill")
	all, err := Load(owner.Check, dirs...)
	if err == nil || !strings.Contains(err.Error(), "broken.md: want front matter") {
		t.Errorf("the broken file is not told: %v", err)
	}
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
		switch s.Name {
		case "bash":
			if s.Description != "handrail" || s.Auto || s.File != filepath.Join(dirs[2], "bash.md") {
				t.Errorf("%+v", s)
			}
		case "rust":
			if !s.Auto || s.Body != "unsafe" || s.Title != "rust" {
				t.Errorf("%+v", s)
			}
		}
	}
	if !slices.Equal(names, []string{"bash", "go", "js", "python", "rust", "simulate"}) {
		t.Errorf("%v", names)
	}
	os.Chmod(filepath.Join(dirs[0], "rust.md"), 0o664)
	os.Chmod(dirs[1], 0o777)
	all, err = Load(owner.Check, dirs...)
	if err == nil || strings.Count(err.Error(), "chmod go-w") != 2 || slices.ContainsFunc(all, func(s Skill) bool { return s.Name == "rust" }) {
		t.Errorf("what others can write is read: %v", err)
	}
	if all, err := Load(owner.Check, filepath.Join(home, "none")); err != nil || len(all) != 5 {
		t.Errorf("a missing directory: %d, %v", len(all), err)
	}
}

func TestParseFaults(t *testing.T) {
	good := "---\ndescription: d\n---\nx\n"
	for name, c := range map[string][2]string{
		"too long":      {"a.md", good + strings.Repeat("x", maxSkill)},
		"name":          {"a b.md", good},
		"hidden name":   {"..md", good},
		"no end":        {"a.md", "---\ndescription: d\nx\n"},
		"unknown key":   {"a.md", "---\ndescription: d\nauto: true\n---\nx\n"},
		"twice":         {"a.md", "---\ndescription: d\ndescription: e\n---\nx\n"},
		"no YAML":       {"a.md", "---\n[\n---\nx\n"},
		"no text":       {"a.md", "---\ndescription: d\n---\n\n"},
		"undescribed":   {"a.md", "---\nname: a\n---\nx\n"},
		"auto for none": {"a.md", "---\ndescription: d\nauto_invoke: true\n---\nx\n"},
	} {
		if s, err := Parse(c[0], []byte(c[1])); err == nil || !strings.HasPrefix(err.Error(), c[0]+": ") {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	if _, err := Parse("a.md", []byte(good)); err != nil {
		t.Error(err)
	}
}
