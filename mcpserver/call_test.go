package mcpserver

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestToolsListGolden(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		p := serve(t, place(t), nil).hello(modern, nil)
		m := p.request("tools/list", nil)
		var list struct {
			Tools []json.RawMessage `json:"tools"`
		}
		if err := json.Unmarshal(m.Result, &list); err != nil || len(list.Tools) != 4 {
			t.Fatalf("%v: %s", err, m.Result)
		}
		var got bytes.Buffer
		for _, tool := range list.Tools {
			var d struct{ Description string }
			if err := json.Unmarshal(tool, &d); err != nil || len(d.Description) == 0 || len(d.Description) > 2000 {
				t.Errorf("a description of %d bytes, %v", len(d.Description), err)
			}
			if err := json.Indent(&got, tool, "", "  "); err != nil {
				t.Fatal(err)
			}
			got.WriteByte('\n')
		}
		golden := filepath.Join("testdata", "tools_list.json")
		if *update {
			if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("tools/list is not what %s says (run with -update and look at the difference):\n%s", golden, got.Bytes())
		}
	})
}

func TestInstructions(t *testing.T) {
	for _, roots := range [][]string{nil, {"/srv/app"}, {"/" + strings.Repeat("long/", 300), "/b"}, {"/a", "/" + strings.Repeat("long/", 300)}} {
		got := instructions(roots)
		if len(got) > 2000 {
			t.Errorf("%d bytes for %d roots; clients cut at 2 KB", len(got), len(roots))
		}
		for _, part := range []string{"Do not retry a blocked call", "safe_bash", "safe_read", "safe_write", "safe_edit", "propose another way"} {
			if !strings.Contains(got, part) {
				t.Errorf("%q is missing", part)
			}
		}
	}
	if !strings.Contains(instructions([]string{"/srv/app"}), "/srv/app") {
		t.Error("the root is not named")
	}
}

func TestEveryResultFieldIsDescribed(t *testing.T) {
	var schema struct {
		Properties map[string]struct{ Type, Description string }
		Required   []string
	}
	if err := json.Unmarshal(outputSchema(), &schema); err != nil {
		t.Fatal(err)
	}
	for name, p := range schema.Properties {
		if p.Description == "" || p.Type == "" {
			t.Errorf("%s: type %q, description %q", name, p.Type, p.Description)
		}
	}
	for name := range fieldDocs {
		if _, ok := schema.Properties[name]; !ok {
			t.Errorf("%s is described but is no field of a result", name)
		}
	}
}

// conforms checks a result of tools/call: text for the model, and structured
// content that fits the published schema, in refusals too.
func conforms(t testing.TB, result json.RawMessage) {
	t.Helper()
	var r struct {
		Content           []struct{ Type, Text string }
		StructuredContent json.RawMessage
	}
	if err := json.Unmarshal(result, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Content) != 1 || r.Content[0].Type != "text" || r.Content[0].Text == "" {
		t.Errorf("no text for the model in %s", result)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(outputSchema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("result.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("result.json")
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(r.StructuredContent))
	if err != nil {
		t.Fatalf("%v in %s", err, result)
	}
	if err := schema.Validate(value); err != nil {
		t.Errorf("%s does not fit the output schema: %v", r.StructuredContent, err)
	}
}

func TestVerdicts(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		root := place(t)
		p := serve(t, root, nil).hello(modern, nil)

		if a := p.call("safe_write", write("plain.txt"), nil); a.IsError || a.Structured.Verdict != "allow" || a.Structured.Approval != "" || !exists(root, "plain.txt") {
			t.Errorf("allow: %+v", a)
		}
		a := p.call("safe_write", write("deny-it.txt"), nil)
		if !a.IsError || a.Structured.Verdict != "deny" || a.Structured.Rule != "test/named" || a.Structured.Instead == "" || exists(root, "deny-it.txt") {
			t.Errorf("deny: %+v", a)
		}
		if !strings.HasPrefix(a.text(), "blocked by safety guard: ") {
			t.Errorf("deny reads %q", a.text())
		}
		// Nobody can be asked: this client declared no elicitation.
		a = p.call("safe_write", write("ask-it.txt"), nil)
		if !a.IsError || a.Structured.Verdict != "ask" || a.Structured.Approval != "unsupported" || exists(root, "ask-it.txt") {
			t.Errorf("ask: %+v", a)
		}
		if a := p.call("safe_read", map[string]any{"path": "plain.txt"}, nil); a.IsError || !strings.Contains(a.text(), "hello") {
			t.Errorf("read: %+v", a)
		}
		if a := p.call("safe_edit", map[string]any{"path": "plain.txt", "old_string": "hello", "new_string": "bye"}, nil); a.IsError {
			t.Errorf("edit: %+v", a)
		}
		if b, _ := os.ReadFile(filepath.Join(root, "plain.txt")); string(b) != "bye\n" {
			t.Errorf("after the edit the file holds %q", b)
		}
		if m := p.request("tools/call", params("unsafe_bash", map[string]any{}, nil)); m.Error == nil {
			t.Errorf("an unknown tool was answered with %s", m.Result)
		}
	})
}

func TestBash(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		p := serve(t, place(t), nil).hello(modern, nil)
		a := p.call("safe_bash", map[string]any{"command": "echo out; ls /does-not-exist; exit 3"}, nil)
		if a.Structured.Verdict != "allow" || a.Structured.ExitCode == nil || *a.Structured.ExitCode != 3 || a.Structured.Stdout != "out\n" {
			t.Errorf("%+v", a)
		}
		if text := a.text(); !strings.Contains(text, "out") || !strings.Contains(text, "does-not-exist") || !strings.Contains(text, "3") {
			t.Errorf("the model reads %q", text)
		}
	})
}

func TestArgumentsAreStrict(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		root := place(t)
		p := serve(t, root, nil).hello(modern, nil)
		for _, tt := range []struct{ args, says string }{
			{`{"path":"x","content":"a","bogus":1}`, "bogus"},
			{`{"path":"x","path":"y","content":"a"}`, "path"},
			{`{"path":"x","Path":"y","content":"a"}`, "Path"},
			{`{"path":"x","content":7}`, "content"},
			{`{"path":"x"}`, "content"},
			{`[]`, "object"},
			{`"x"`, "object"},
			{`null`, "path"},
		} {
			a := p.call("safe_write", json.RawMessage(tt.args), nil)
			if !a.IsError || !strings.Contains(a.text(), tt.says) || strings.Contains(a.text(), "&{") {
				t.Errorf("%s: %+v, want an error that says %q", tt.args, a, tt.says)
			}
		}
		if exists(root, "x") || exists(root, "y") {
			t.Error("something was written")
		}
	})
}

// What is executed is what was named: a second field that differs in case only
// must not slip past the guard.
func TestFieldsOfTheCallItself(t *testing.T) {
	root := place(t)
	p := serve(t, root, nil).hello(false, nil)
	_, ch := p.start("tools/list", nil)
	p.await("tools/list", ch)
	p.mu.Lock()
	got := make(chan wireMessage, 1)
	p.answer["900"] = got
	p.mu.Unlock()
	p.send(`{"jsonrpc":"2.0","id":900,"method":"tools/call","params":{"name":"safe_read","arguments":{"path":"x"},"Name":"safe_write","Arguments":{"path":"deny-x","content":"a"}}}`)
	p.await("call", got)
	if exists(root, "deny-x") {
		t.Error("arguments that were not judged were executed")
	}
}
