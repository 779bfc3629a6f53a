package examples

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"handrail/internal/config"
	"handrail/tools"
)

// guardSchema is the published schema of guards.
func guardSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	data, err := os.ReadFile("schema/guard.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("guard.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("guard.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Every guard loads with its examples, and what is wanted of it comes true.
func TestGuards(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "handrail")
	if out, err := exec.Command("go", "build", "-o", binary, "handrail").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	cmd := exec.Command(binary, "test", "guards")
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("all is as wanted")) {
		t.Errorf("%v\n%s", err, out)
	}
	s := guardSchema(t)
	files, err := filepath.Glob("guards/*.*")
	if err != nil || len(files) < 5 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if rest, ok := bytes.CutPrefix(data, []byte("---\n")); ok {
			data, _, _ = bytes.Cut(rest, []byte("\n---"))
		}
		var v any
		if err := yaml.Unmarshal(data, &v); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if err := s.Validate(v); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// The schema and the reader take the same files.
func TestGuardSchema(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	c, err := config.Default()
	if err != nil {
		t.Fatal(err)
	}
	j, err := c.Judge(tools.Environment([]string{t.TempDir()}, ""))
	if err != nil {
		t.Fatal(err)
	}
	loader, s := c.Loader(j), guardSchema(t)
	const p = "patterns: [{match: x, verdict: ask}]"
	for content, want := range map[string]bool{
		p:                                        true,
		"id: a/b\n" + p:                          true,
		"id: a b\n" + p:                          false,
		"id: 5\n" + p:                            false,
		"idd: a\n" + p:                           false,
		"tool: Bash\n" + p:                       true,
		"tool: 'Write, edit'\n" + p:              true,
		"tool: [Bash, safe_read]\n" + p:          true,
		"tool: ''\n" + p:                         true,
		"tool: Bsh\n" + p:                        false,
		"tool: 'Bash,'\n" + p:                    false,
		"enabled: false\n" + p:                   true,
		"enabled: 'no'\n" + p:                    false,
		"patterns: []":                           false,
		"patterns: [{match: x}]":                 false,
		"patterns: [{match: x, verdict: maybe}]": false,
		"patterns: [{match: x, verdict: llm, reason: r, instead: i}]":                   true,
		"patterns: [{match: x, file_match: '*.go', verdict: deny}]":                     true,
		"patterns: [{file_match: 'a/b', verdict: deny}]":                                false,
		"patterns: [{verdict: deny}]":                                                   false,
		"patterns: [{when: {effect: write}, verdict: deny, match: [touch x]}]":          true,
		"patterns: [{when: {effect: write}, verdict: deny, match: touch}]":              false,
		"patterns: [{when: {}, verdict: deny}]":                                         false,
		"patterns: [{when: {efect: write}, verdict: deny}]":                             false,
		"patterns: [{when: {path: [a, '!b']}, verdict: allow, instead_of: fs/outside}]": true,
		"patterns: [{match: x, verdict: allow, instead_of: fs/outside}]":                false,
		"match: x\nverdict: ask":                                                        true,
		"match: x":                                                                      false,
		"verdict: ask":                                                                  false,
		"when: {language: rust}\nverdict: ask":                                          false,
		"when: {language: [go, js]}\nverdict: ask":                                      true,
		"when: {command: rm}\nverdict: ask\nno_match: [ls, {tool: Write, path: x}]":     true,
		"when: {command: rm}\nverdict: ask\n" + p:                                       false,
		"no_match: [ls]\n" + p:                                                          true,
		"no_match: [{tol: Bash}]\n" + p:                                                 false,
	} {
		_, err := loader.Parse(context.Background(), "guard.yaml", []byte(content))
		if (err == nil) != want {
			t.Errorf("the reader takes %q: %v, want %v: %v", content, err == nil, want, err)
		}
		var v any
		if err := yaml.NewDecoder(strings.NewReader(content)).Decode(&v); err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(v); (err == nil) != want {
			t.Errorf("the schema takes %q: %v, want %v: %v", content, err == nil, want, err)
		}
	}
}
