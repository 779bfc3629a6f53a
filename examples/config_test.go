package examples

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"handrail/internal/config"
)

// The default and the schema in the tree are those that the program writes
// (`handrail config init`, `handrail config schema`), and the schema takes what
// the program takes.
func TestConfiguration(t *testing.T) {
	text, err := os.ReadFile("config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != config.DefaultText("schema/config.schema.json") {
		t.Error("config.yaml is not what `handrail config init` writes (but for its first line): write it again")
	}
	written, err := os.ReadFile("schema/config.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(written, config.Schema()) {
		t.Error("schema/config.schema.json is not what `handrail config schema` prints")
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(written))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("config.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("config.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []string // the default with every # taken away
	for _, line := range strings.Split(string(text), "\n") {
		if rest, ok := strings.CutPrefix(line, "#"); ok && (!strings.HasPrefix(rest, " ") || strings.HasPrefix(rest, "  ")) {
			line = rest
		}
		all = append(all, line)
	}
	for file, good := range map[string]bool{
		strings.Join(all, "\n"): true, "profile: strict\n": true, "profile: wild\n": false, "nothing: 1\n": false,
		"tools: {safe_bash: {alow: [x]}}\n": false, "levels: {net/send: deny}\n": true, "levels: {net/send: no-way}\n": false,
	} {
		var v any
		if err := yaml.Unmarshal([]byte(file), &v); err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		inst, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(inst); (err == nil) != good {
			t.Errorf("%.60q: %v", file, err)
		}
	}
}
